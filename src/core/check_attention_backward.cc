// The rules of docs/semantics.md on the tensors of the gradient, and the sentence for each one that is broken.
#include "src/core/check_attention_backward.h"

#include <string>

#include "src/core/check_view.h"
#include "src/core/shape_table.h"
#include "src/core/status_macros.h"
#include "src/core/view_memory.h"

namespace qkv {
namespace {

bool is_half(DType dtype) { return dtype == DType::kBF16 || dtype == DType::kF16; }

// The type of lse, and of everything that is a sum over a head.
DType statistic_type(DType of_q) { return of_q == DType::kF64 ? DType::kF64 : DType::kF32; }

// That a view has the wanted type or, as far as `wider` says so, the other one.
Status check_type(const ShapeTable& table, const char* name, DType found, DType wanted, DType other, const char* why) {
  if (found == wanted || found == other) return {};
  std::string text =
      std::string(name) + " is " + std::string(to_string(found)) + "; expected " + std::string(to_string(wanted));
  if (other != wanted) text += " or " + std::string(to_string(other));
  return shape_mismatch(table.message(text + why));
}

Status check_read(ShapeTable& table, const AttentionBackwardInputs& inputs) {
  const DType of_q = inputs.q.dtype, of_lse = statistic_type(of_q);
  QKV_RETURN_IF_ERROR(table.match("o", {"B", "Hq", "Tq", "Dv"}, inputs.o.shape));
  QKV_RETURN_IF_ERROR(check_memory(table, "o", inputs.o));
  QKV_RETURN_IF_ERROR(
      check_type(table, "o", inputs.o.dtype, of_q, is_half(of_q) ? DType::kF32 : of_q, ", the type of q"));
  QKV_RETURN_IF_ERROR(table.match("lse", {"B", "Hq", "Tq"}, inputs.lse.shape));
  QKV_RETURN_IF_ERROR(check_memory(table, "lse", inputs.lse));
  QKV_RETURN_IF_ERROR(check_type(table, "lse", inputs.lse.dtype, of_lse, of_lse, ""));
  QKV_RETURN_IF_ERROR(table.match("d_o", {"B", "Hq", "Tq", "Dv"}, inputs.d_o.shape));
  QKV_RETURN_IF_ERROR(check_memory(table, "d_o", inputs.d_o));
  QKV_RETURN_IF_ERROR(check_type(table, "d_o", inputs.d_o.dtype, inputs.o.dtype, inputs.o.dtype, ", the type of o"));
  if (!inputs.d_lse.is_present()) return {};
  QKV_RETURN_IF_ERROR(table.match("d_lse", {"B", "Hq", "Tq"}, inputs.d_lse.shape));
  QKV_RETURN_IF_ERROR(check_memory(table, "d_lse", inputs.d_lse));
  return check_type(table, "d_lse", inputs.d_lse.dtype, of_lse, of_lse, ", the type of lse");
}

Status check_bias_gradient(const ShapeTable& table, const AttentionBackwardInputs& inputs, View<const void> dbias,
                           View<const void> bias) {
  if (!bias.is_present()) return invalid_argument(table.message("dbias is asked for but there is no bias"));
  if (dbias.shape != bias.shape)
    return shape_mismatch(
        table.message("dbias is " + to_string(dbias.shape) + "; expected bias's shape " + to_string(bias.shape)));
  QKV_RETURN_IF_ERROR(check_memory(table, "dbias", dbias));
  return check_type(table, "dbias", dbias.dtype, bias.dtype, statistic_type(inputs.q.dtype), "");
}

Status check_written(ShapeTable& table, const AttentionBackwardInputs& inputs, const AttentionBackwardOutputs& outputs,
                     const AttentionOptions& options) {
  const DType of_q = inputs.q.dtype;
  const DType wide = is_half(of_q) ? DType::kF32 : of_q;
  const auto check = [&](const char* name, ShapeTable::Letters letters, View<const void> view) -> Status {
    if (!view.is_present()) return {};
    QKV_RETURN_IF_ERROR(table.match(name, letters, view.shape));
    QKV_RETURN_IF_ERROR(check_memory(table, name, view));
    return check_type(table, name, view.dtype, of_q, wide, ", the type of q");
  };
  QKV_RETURN_IF_ERROR(check("dq", {"B", "Hq", "Tq", "D"}, outputs.dq));
  QKV_RETURN_IF_ERROR(check("dk", {"B", "Hkv", "Tk", "D"}, outputs.dk));
  QKV_RETURN_IF_ERROR(check("dv", {"B", "Hkv", "Tk", "Dv"}, outputs.dv));
  if (outputs.dbias.is_present()) QKV_RETURN_IF_ERROR(check_bias_gradient(table, inputs, outputs.dbias, options.bias));
  if (!outputs.dsinks.is_present()) return {};
  // Without heads there are no sinks to be seen, asked for or not.
  if (options.sinks.empty() && table["Hq"] > 0)
    return invalid_argument(table.message("dsinks is asked for but there are no sinks"));
  QKV_RETURN_IF_ERROR(table.match("dsinks", {"Hq"}, outputs.dsinks.shape));
  QKV_RETURN_IF_ERROR(check_memory(table, "dsinks", outputs.dsinks));
  return check_type(table, "dsinks", outputs.dsinks.dtype, statistic_type(of_q), statistic_type(of_q), "");
}

struct Named {
  const char* name;
  View<const void> view;
};

Status check_overlaps(const ShapeTable& table, const AttentionBackwardInputs& inputs,
                      const AttentionBackwardOutputs& outputs, const AttentionOptions& options) {
  const Named written[] = {
      {"dq", outputs.dq}, {"dk", outputs.dk}, {"dv", outputs.dv}, {"dbias", outputs.dbias}, {"dsinks", outputs.dsinks}};
  const Named read[] = {{"q", inputs.q},         {"k", inputs.k},
                        {"v", inputs.v},         {"o", inputs.o},
                        {"lse", inputs.lse},     {"d_o", inputs.d_o},
                        {"d_lse", inputs.d_lse}, {"keep", options.keep},
                        {"bias", options.bias},  {"key_mask", options.key_mask}};
  const auto shared = [&](const Named& one, const Named& other) {
    return shape_mismatch(
        table.message(std::string(one.name) + " overlaps the memory of " + other.name + "; give it memory of its own"));
  };
  for (const Named& one : written) {
    if (overlaps_itself(one.view))
      return shape_mismatch(table.message(std::string(one.name) + " has strides " + to_string(one.view.strides) +
                                          " that put two elements in one place"));
    for (const Named& other : read)
      if (memory_overlaps(one.view, other.view)) return shared(one, other);
    for (const Named& other : written)
      if (&other < &one && memory_overlaps(one.view, other.view)) return shared(one, other);
  }
  return {};
}

}  // namespace

Status check_attention_backward(const AttentionBackwardInputs& inputs, const AttentionBackwardOutputs& outputs,
                                const AttentionOptions& options) {
  ShapeTable table("attention");
  QKV_RETURN_IF_ERROR(table.match("q", {"B", "Hq", "Tq", "D"}, inputs.q.shape));
  QKV_RETURN_IF_ERROR(table.match("k", {"B", "Hkv", "Tk", "D"}, inputs.k.shape));
  QKV_RETURN_IF_ERROR(table.match("v", {"B", "Hkv", "Tk", "Dv"}, inputs.v.shape));
  QKV_RETURN_IF_ERROR(check_read(table, inputs));
  QKV_RETURN_IF_ERROR(check_written(table, inputs, outputs, options));
  return check_overlaps(table, inputs, outputs, options);
}

}  // namespace qkv
