// The steps of a layer one after the other, and the chain rule back.
#include "src/check/variant_layer.h"

#include <utility>
#include <vector>

#include "src/check/heads.h"
#include "src/check/mistake_set.h"
#include "src/check/variant.h"
#include "src/check/variant_norm.h"
#include "src/check/variant_packing.h"
#include "src/core/check_layer.h"
#include "src/core/status_macros.h"
#include "src/ops/project/project_ref.h"

namespace qkv::check {
namespace {

using enum MistakeId;

// The mistakes that are left for attention itself.
std::vector<Mistake> of_attention(std::span<const Mistake> mistakes, bool is_fused) {
  std::vector<Mistake> left;
  for (const Mistake& one : mistakes) {
    const bool is_packing = is_fused && (one.id == kPackedOrder || one.id == kKeyValueSwapped);
    if (!is_packing && is_possible(one, Operation::kAttention)) left.push_back(one);
  }
  return left;
}

View<const void> maybe_transposed(View<const void> w, std::int64_t which, const MistakeSet& mistakes) {
  const bool is_square = w.is_present() && w.shape[0] == w.shape[1];
  return is_square && mistakes.parameter(kWeightsTransposed) == which ? swap_axes(w, 0, 1) : w;
}

class LayerVariant {
 public:
  LayerVariant(const LayerGiven& given, const LayerShape& shape, std::span<const Mistake> mistakes)
      : given_(given), shape_(shape), all_(mistakes), mistakes_(mistakes), p_(given.parameters) {}

  Result<LayerOutputs> run() {
    QKV_RETURN_IF_ERROR(read_parameters());
    QKV_RETURN_IF_ERROR(normalise());
    LayerOutputs out;
    QKV_RETURN_IF_ERROR(project());
    QKV_ASSIGN_OR_RETURN(out.y, output());
    if (given_.d_y.is_present()) QKV_RETURN_IF_ERROR(backward(out));
    return out;
  }

 private:
  bool is_fused() const { return given_.parameters.wqkv.is_present(); }

  Status read_parameters() {
    if (is_fused()) {
      columns_ = packed_columns(shape_, mistakes_);
      View<const void> LayerParameters::* const weights[3] = {&LayerParameters::wq, &LayerParameters::wk,
                                                              &LayerParameters::wv};
      View<const void> LayerParameters::* const biases[3] = {&LayerParameters::bq, &LayerParameters::bk,
                                                             &LayerParameters::bv};
      for (int part = 0; part < 3; ++part) {
        QKV_ASSIGN_OR_RETURN(parts_[part], taken(given_.parameters.wqkv, columns_.of[part]));
        p_.*weights[part] = parts_[part].view();
        if (!given_.parameters.bqkv.is_present()) continue;
        QKV_ASSIGN_OR_RETURN(part_biases_[part], taken(given_.parameters.bqkv, columns_.of[part]));
        p_.*biases[part] = part_biases_[part].view();
      }
    }
    p_.wq = maybe_transposed(p_.wq, 1, mistakes_);
    p_.wk = maybe_transposed(p_.wk, 1, mistakes_);
    p_.wv = maybe_transposed(p_.wv, 1, mistakes_);
    p_.wo = maybe_transposed(p_.wo, 2, mistakes_);
    if (mistakes_.has(kBiasesIgnored)) p_.bq = p_.bk = p_.bv = {};
    if (mistakes_.has(kOutputBiasIgnored)) p_.bo = {};
    return {};
  }

  Status normalise() {
    if (given_.options.norm == Norm::kNone) {
      QKV_ASSIGN_OR_RETURN(u_, converted(given_.x, DType::kF64));
      return {};
    }
    QKV_ASSIGN_OR_RETURN(u_, norm_variant_forward(given_.x, norm_parameters(), mistakes_));
    return {};
  }

  reference::LayerNormParameters norm_parameters() const { return {p_.gamma, p_.beta, given_.options.eps}; }

  Status project() {
    QKV_ASSIGN_OR_RETURN(q_, reference::project_forward(u_.view(), p_.wq, p_.bq));
    QKV_ASSIGN_OR_RETURN(k_, reference::project_forward(u_.view(), p_.wk, p_.bk));
    QKV_ASSIGN_OR_RETURN(v_, reference::project_forward(u_.view(), p_.wv, p_.bv));
    return {};
  }

  Result<VariantResult> attend(View<const void> d_o) const {
    return compute_variant({split(q_, shape_.query_heads), split(k_, shape_.kv_heads), split(v_, shape_.kv_heads)},
                           given_.options.attention, d_o, {}, of_attention(all_, is_fused()));
  }

  bool has_output() const {
    const bool could_be_ignored = shape_.out_channels == shape_.query_heads * shape_.value_width;
    return p_.wo.is_present() && !(mistakes_.has(kOutputIgnored) && could_be_ignored);
  }

  Result<Tensor> output() {
    QKV_ASSIGN_OR_RETURN(const VariantResult attended, attend({}));
    QKV_ASSIGN_OR_RETURN(merged_, merge(attended.o));
    Tensor y;
    if (has_output()) {
      QKV_ASSIGN_OR_RETURN(y, reference::project_forward(merged_.view(), p_.wo, p_.bo));
    } else {
      QKV_ASSIGN_OR_RETURN(y, converted(merged_.view(), DType::kF64));
    }
    const std::int64_t width = y.shape()[2];
    if (mistakes_.has(kOutputBiasPerHead) && p_.bo.is_present() && has_output())
      for (std::int64_t at = 0; at < y.size(); ++at)
        y.data<double>()[at] +=
            static_cast<double>(shape_.query_heads - 1) * element_as_double(p_.bo, at % width * p_.bo.strides[0]);
    if (mistakes_.has(kResidualAdded) && width == shape_.channels) {
      QKV_ASSIGN_OR_RETURN(const Tensor x, converted(given_.x, DType::kF64));
      for (std::int64_t at = 0; at < y.size(); ++at) y.data<double>()[at] += x.data<double>()[at];
    }
    return y;
  }

  // Adds what one projection passes on to du.
  Status back_through(View<const void> w, View<const void> b, const Tensor& d_heads, Tensor& du, Tensor& dw,
                      Tensor& db) const {
    QKV_ASSIGN_OR_RETURN(const Tensor d_output, merge(d_heads));
    QKV_ASSIGN_OR_RETURN(reference::ProjectGradients gradients,
                         reference::project_backward(u_.view(), w, d_output.view()));
    for (std::int64_t at = 0; at < du.size(); ++at) du.data<double>()[at] += gradients.dx.data<double>()[at];
    dw = std::move(gradients.dw);
    if (b.is_present()) db = std::move(gradients.db);
    return {};
  }

  Status backward(LayerOutputs& out) {
    QKV_ASSIGN_OR_RETURN(Tensor d_merged, converted(given_.d_y, DType::kF64));
    if (has_output()) {
      QKV_ASSIGN_OR_RETURN(reference::ProjectGradients output,
                           reference::project_backward(merged_.view(), p_.wo, given_.d_y));
      out.dwo = std::move(output.dw);
      if (given_.parameters.bo.is_present()) out.dbo = std::move(output.db);
      d_merged = std::move(output.dx);
    }
    QKV_ASSIGN_OR_RETURN(const VariantResult attention, attend(split(d_merged, shape_.query_heads)));
    QKV_ASSIGN_OR_RETURN(Tensor du, Tensor::zeros(DType::kF64, given_.x.shape));
    QKV_RETURN_IF_ERROR(back_through(p_.wq, p_.bq, attention.dq, du, out.dwq, out.dbq));
    QKV_RETURN_IF_ERROR(back_through(p_.wk, p_.bk, attention.dk, du, out.dwk, out.dbk));
    QKV_RETURN_IF_ERROR(back_through(p_.wv, p_.bv, attention.dv, du, out.dwv, out.dbv));
    if (is_fused()) QKV_RETURN_IF_ERROR(fuse(out));
    if (given_.options.norm == Norm::kNone) {
      out.dx = std::move(du);
      return {};
    }
    QKV_ASSIGN_OR_RETURN(reference::LayerNormGradients norm,
                         norm_variant_backward(given_.x, du.view(), norm_parameters(), mistakes_));
    out.dx = std::move(norm.dx);
    if (p_.gamma.is_present()) out.dgamma = std::move(norm.dgamma);
    if (p_.beta.is_present()) out.dbeta = std::move(norm.dbeta);
    return {};
  }

  Status fuse(LayerOutputs& out) const {
    QKV_ASSIGN_OR_RETURN(out.dwqkv, packed(columns_, {&out.dwq, &out.dwk, &out.dwv}, given_.parameters.wqkv));
    if (given_.parameters.bqkv.is_present()) {
      QKV_ASSIGN_OR_RETURN(out.dbqkv, packed(columns_, {&out.dbq, &out.dbk, &out.dbv}, given_.parameters.bqkv));
    }
    for (Tensor* part : {&out.dwq, &out.dwk, &out.dwv, &out.dbq, &out.dbk, &out.dbv}) *part = {};
    return {};
  }

  const LayerGiven& given_;
  LayerShape shape_;
  std::span<const Mistake> all_;
  MistakeSet mistakes_;
  LayerParameters p_;  // as they are read
  PackedColumns columns_;
  Tensor parts_[3], part_biases_[3];
  Tensor u_, q_, k_, v_, merged_;
};

Result<LayerOutputs> norm_alone(const LayerGiven& given, const MistakeSet& set) {
  const reference::LayerNormParameters parameters{given.parameters.gamma, given.parameters.beta, given.options.eps};
  LayerOutputs out;
  QKV_ASSIGN_OR_RETURN(out.y, norm_variant_forward(given.x, parameters, set));
  if (!given.d_y.is_present()) return out;
  QKV_ASSIGN_OR_RETURN(reference::LayerNormGradients gradients,
                       norm_variant_backward(given.x, given.d_y, parameters, set));
  out.dx = std::move(gradients.dx);
  if (parameters.gamma.is_present()) out.dgamma = std::move(gradients.dgamma);
  if (parameters.beta.is_present()) out.dbeta = std::move(gradients.dbeta);
  return out;
}

}  // namespace

Result<LayerOutputs> compute_layer_variant(const LayerGiven& given, std::span<const Mistake> mistakes) {
  if (given.operation == Operation::kLayerNorm) return norm_alone(given, MistakeSet(mistakes));
  QKV_ASSIGN_OR_RETURN(const LayerShape shape, check_layer(given.x, given.parameters, given.options));
  if (given.d_y.is_present()) QKV_RETURN_IF_ERROR(check_layer_gradient(shape, given.d_y));
  return LayerVariant(given, shape, mistakes).run();
}

}  // namespace qkv::check
