// What qkv.wasm exports beside explain: the forward kernel on f32 tensors in the module's memory.
//
// A call is JSON, {"q": {"place": 1024, "length": 6, "shape": [3,2]}, "k": ..., "v": ..., "causal": true}, with options
// by the names of docs/explain.md. So is its answer, {"o": {"place": ..., "shape": ...}, "lse": ...}; the caller gives
// both places to qkv_free.
#include "qkv/attention.h"

#include <cstdlib>
#include <limits>
#include <memory>
#include <string>

#include "apps/wasm/module.h"
#include "qkv/problem.h"
#include "src/core/check_attention.h"
#include "src/core/four_axes.h"
#include "src/core/renamed_status.h"
#include "src/core/status_macros.h"
#include "src/explain/json_read.h"
#include "src/explain/options.h"

namespace qkv::wasm {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Free>;

// Errors: kOutOfMemory.
Result<Memory> allocated(const char* name, const Dims& shape) {
  const std::int64_t elements = element_count(shape);
  constexpr std::int64_t kMost = std::numeric_limits<std::ptrdiff_t>::max() / std::int64_t{sizeof(float)};
  if (elements >= 0 && elements <= kMost)
    if (Memory memory(std::malloc(static_cast<std::size_t>(elements) * sizeof(float) + 1)); memory != nullptr)
      return memory;
  return out_of_memory("attention: there is no memory for " + std::string(name) + " " + to_string(shape));
}

Result<Dims> read_shape(const std::string& path, const Json& given) {
  const Json named{{path, given}};  // so that messages have the path
  std::vector<std::int64_t> extents;
  QKV_RETURN_IF_ERROR(Fields(named).read(path, extents));
  if (extents.empty() || extents.size() > kMaxRank)
    return shape_mismatch("explain: " + path + " has " + std::to_string(extents.size()) + " axes; expected 1 to 4");
  Dims shape;
  for (const std::int64_t extent : extents) shape.push_back(extent);
  return shape;
}

// A tensor of the caller's, or an absent one. Constraint: there are `length` elements at `place`.
Result<View<const void>> read_tensor(const Fields& call, const std::string& name, DType dtype) {
  if (!call.has(name)) return View<const void>();
  if (!call[name].is_object()) return wrong_kind(name, call[name], "a tensor");
  const Fields tensor(call[name]);
  std::int64_t place = 0;
  std::int64_t length = 0;
  QKV_RETURN_IF_ERROR(tensor.read("place", place, 0));
  QKV_RETURN_IF_ERROR(tensor.read("length", length, 0));
  QKV_ASSIGN_OR_RETURN(const Dims shape, read_shape(name + ".shape", tensor["shape"]));
  if (element_count(shape) != length)
    return shape_mismatch("explain: " + name + ".data has " + std::to_string(length) + " numbers, but " + name +
                          ".shape is " + to_string(shape));
  return View<const void>(reinterpret_cast<const void*>(static_cast<std::uintptr_t>(place)), dtype, shape);
}

struct Call {
  AttentionInputs inputs;
  AttentionOptions options;
  OptionLists lists;
  Layout layout = Layout::kBHTD;
  int rank = 0;  // of q as it was given
};

Status read_masks(const Fields& fields, Call& out) {
  QKV_ASSIGN_OR_RETURN(out.options.keep, read_tensor(fields, "keep", DType::kU8));
  QKV_ASSIGN_OR_RETURN(out.options.bias, read_tensor(fields, "bias", DType::kF32));
  QKV_ASSIGN_OR_RETURN(out.options.key_mask, read_tensor(fields, "key_mask", DType::kU8));
  // A mask of rank 1 belongs to the one entry of a batch that has no axis.
  if (out.rank < kMaxRank && out.options.key_mask.shape.rank() == 1)
    out.options.key_mask = padded(out.options.key_mask, 2);
  return {};
}

Status read_call(const Json& json, Call& out) {
  if (!json.is_object()) return wrong_kind("the call", json, "an object with q, k and v");
  const Fields fields(json);
  std::vector<std::string> known = {"q", "k", "v", "keep", "bias", "key_mask", "layout"};
  known.insert(known.end(), option_names().begin(), option_names().end());
  QKV_RETURN_IF_ERROR(fields.check_known(known));

  std::string layout = "bhtd";
  QKV_RETURN_IF_ERROR(fields.read("layout", layout));
  if (layout != "bhtd" && layout != "bthd") return wrong_kind("layout", fields["layout"], "\"bhtd\" or \"bthd\"");
  out.layout = layout == "bthd" ? Layout::kBTHD : Layout::kBHTD;
  for (const auto& [name, view] : {std::pair("q", &out.inputs.q), {"k", &out.inputs.k}, {"v", &out.inputs.v}}) {
    QKV_ASSIGN_OR_RETURN(*view, read_tensor(fields, name, DType::kF32));
    if (view == &out.inputs.q) out.rank = view->shape.rank();
    *view = with_four_axes(*view, out.layout);
  }

  QKV_RETURN_IF_ERROR(read_masks(fields, out));
  QKV_RETURN_IF_ERROR(read_options(fields, out.options, out.lists));
  out.lists.bind_to(out.options);
  const bool has_positions =
      out.options.causality != Causality::kNone || out.options.window != Window{} || !out.options.slopes.empty();
  if (out.options.corner != Corner::kUnset && !has_positions)
    return invalid_argument("explain: corner has no effect without causal, window or slopes");
  return {};
}

Json described(View<const void> view) {
  Json extents = Json::array();
  for (int axis = 0; axis < view.shape.rank(); ++axis) extents.push_back(view.shape[axis]);
  return {{"place", reinterpret_cast<std::uintptr_t>(view.data)}, {"shape", std::move(extents)}};
}

Result<std::string> attention(std::string_view text) {
  QKV_ASSIGN_OR_RETURN(const Json json, read_json(text));
  Call call;
  QKV_RETURN_IF_ERROR(read_call(json, call));
  QKV_ASSIGN_OR_RETURN(const AttentionShape s, check_attention(call.inputs, call.options, TypeRule::kSameType));

  // Results have the layout and the rank of q.
  const bool tokens_first = call.layout == Layout::kBTHD;
  const Dims o_shape = tokens_first ? Dims{s.batch, s.query_length, s.query_heads, s.value_width}
                                    : Dims{s.batch, s.query_heads, s.query_length, s.value_width};
  const Dims lse_shape{s.batch, s.query_heads, s.query_length};
  QKV_ASSIGN_OR_RETURN(Memory o_memory, allocated("o", o_shape));
  QKV_ASSIGN_OR_RETURN(Memory lse_memory, allocated("lse", lse_shape));
  const View<void> stored(o_memory.get(), DType::kF32, o_shape);
  const View<void> o = tokens_first ? swap_axes(stored, 1, 2) : stored;
  const View<void> lse(lse_memory.get(), DType::kF32, lse_shape);
  QKV_RETURN_IF_ERROR(attention_forward(call.inputs, {o, lse}, call.options).status());

  Dims lse_left;
  for (int axis = kMaxRank - call.rank; axis < lse_shape.rank(); ++axis) lse_left.push_back(lse_shape[axis]);
  const Json answer = {{"o", described(without_leading_axes(o, call.layout, call.rank))},
                       {"lse", described({lse.data, lse.dtype, lse_left})}};
  o_memory.release();
  lse_memory.release();
  return answer.dump();
}

}  // namespace
}  // namespace qkv::wasm

// NOLINTNEXTLINE(misc-use-internal-linkage): called from outside
extern "C" [[clang::export_name("qkv_attention")]] qkv::wasm::Reply* qkv_attention(const char* call,
                                                                                   std::size_t length) {
  qkv::wasm::start_once();
  const qkv::Result<std::string> answer = qkv::wasm::attention({call, length});
  if (answer.is_ok()) return qkv::wasm::reply(answer);
  const qkv::Status status = qkv::renamed(answer.status(), "explain", "attention");
  return qkv::wasm::reply(status.code(), status.message());
}
