// Keyword arguments to options, arrays to views, one call without the GIL, tensors back to arrays.
#include "apps/python/attention.h"

#include <nanobind/stl/string.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/python/arguments.h"
#include "apps/python/arrays.h"
#include "qkv/attention.h"
#include "qkv/problem.h"
#include "src/core/check_attention.h"
#include "src/core/four_axes.h"

namespace qkv::python {
namespace {

// One call: what the options point into, and the arrays that must stay alive.
struct Call {
  Input q, k, v, keep, bias, key_mask;
  std::vector<std::int64_t> key_lengths, cu_seqlens_q, cu_seqlens_k;
  std::vector<double> slopes, sinks;
  Layout layout = Layout::kBHTD;
  AttentionInputs inputs;
  AttentionOptions options;
  int rank() const { return q.view.shape.rank(); }
};

void read_positions(const Arguments& named, AttentionOptions& options) {
  options.scale = named.number("scale");
  options.softcap = named.number("softcap");
  if (named.flag("causal")) options.causality = Causality::kCausal;
  const std::optional<std::string> corner = named.text("corner");
  const std::optional<std::int64_t> offset = named.integer("offset");
  if (corner && offset) throw nb::value_error("corner and offset are both given; give one");
  if (corner == "top_left")
    options.corner = Corner::kTopLeft;
  else if (corner == "bottom_right")
    options.corner = Corner::kBottomRight;
  else if (corner)
    throw nb::value_error(("corner '" + *corner + "' is unknown; expected 'top_left' or 'bottom_right'").c_str());
  if (offset) {
    options.corner = Corner::kOffset;
    options.offset = *offset;
  }
  if (!named.has("window")) return;
  const std::vector<std::int64_t> window = named.integers("window");
  if (window.size() != 2) throw nb::value_error("window needs two numbers, (left, right); -1 leaves a side open");
  options.window = {window[0], window[1]};
}

Layout read_layout(const Arguments& named) {
  const std::string layout = named.text("layout").value_or("bhtd");
  if (layout == "bhtd") return Layout::kBHTD;
  if (layout == "bthd") return Layout::kBTHD;
  throw nb::value_error(("layout '" + layout + "' is unknown; expected 'bhtd' or 'bthd'").c_str());
}

void read_masks(const Arguments& named, Call& call) {
  if (named.has("keep")) {
    call.keep = import_array("keep", named["keep"]);
    call.options.keep = call.keep.view;
  }
  if (named.has("bias")) {
    call.bias = import_array("bias", named["bias"]);
    call.options.bias = call.bias.view;
  }
  if (named.has("key_mask")) {
    call.key_mask = import_array("key_mask", named["key_mask"]);
    // A mask of rank 1 belongs to the one entry of a batch that has no axis.
    const bool unbatched = call.rank() < kMaxRank && call.key_mask.view.shape.rank() == 1;
    call.options.key_mask = unbatched ? padded(call.key_mask.view, 2) : call.key_mask.view;
  }
}

void read_lists(const Arguments& named, Call& call) {
  call.key_lengths = named.integers("key_lengths");
  call.cu_seqlens_q = named.integers("cu_seqlens_q");
  call.cu_seqlens_k = named.integers("cu_seqlens_k");
  if (nb::isinstance<nb::str>(named["slopes"])) {
    if (named.text("slopes") != "alibi") throw nb::value_error("slopes is neither a list of numbers nor 'alibi'");
    call.slopes = alibi_slopes(call.inputs.q.shape.rank() == kMaxRank ? call.inputs.q.shape[1] : 0);
  } else {
    call.slopes = named.numbers("slopes");
  }
  call.sinks = named.numbers("sinks");
  call.options.key_lengths = call.key_lengths;
  call.options.cu_seqlens_q = call.cu_seqlens_q;
  call.options.cu_seqlens_k = call.cu_seqlens_k;
  call.options.slopes = call.slopes;
  call.options.sinks = call.sinks;
}

Tensor make_tensor(DType dtype, const Dims& shape) {
  Result<Tensor> tensor = Tensor::zeros(dtype, shape);
  raise_if_error(tensor.status());
  return std::move(tensor).value();
}

// Lets Ctrl-C through: Python's signal handlers run in the main thread only, so only the calling thread asks, and not
// after every task.
class SignalCheck {
 public:
  bool operator()(std::int64_t /*done*/, std::int64_t /*total*/) {
    if (std::this_thread::get_id() != caller_ || std::chrono::steady_clock::now() < next_) return true;
    next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
    const nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() == 0;
  }

 private:
  std::thread::id caller_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
};

void run(const Call& call, const AttentionOutputs& outputs, const Arguments& named) {
  Execution execution;
  execution.threads = static_cast<int>(named.integer("threads").value_or(0));
  if (const std::optional<std::string> target = named.text("target")) {
    const Result<Target> parsed = parse_target(*target);
    raise_if_error(parsed.status());
    execution.target = *parsed;
  }
  execution.progress = SignalCheck();
  Status status;
  {
    const nb::gil_scoped_release no_gil;
    status = attention_forward(call.inputs, outputs, call.options, execution).status();
  }
  if (status.code() == StatusCode::kCancelled) throw nb::python_error();  // the handler's exception is set
  raise_if_error(status);
}

// [B,H,T] without the leading axes that q lacks.
View<const void> lse_shown(View<const void> lse, int rank) {
  Dims shape;
  for (int axis = kMaxRank - rank; axis < 3; ++axis) shape.push_back(lse.shape[axis]);
  return {lse.data, lse.dtype, shape};
}

}  // namespace

nb::object attention(nb::object q, nb::object k, nb::object v, nb::dict keywords) {
  const Arguments named(std::move(keywords));
  Call call;
  call.q = import_array("q", q);
  call.k = import_array("k", k);
  call.v = import_array("v", v);
  call.layout = read_layout(named);
  call.inputs = {with_four_axes(call.q.view, call.layout), with_four_axes(call.k.view, call.layout),
                 with_four_axes(call.v.view, call.layout)};
  read_positions(named, call.options);
  read_masks(named, call);
  read_lists(named, call);
  const Result<AttentionShape> checked = check_attention(call.inputs, call.options, TypeRule::kSameType);
  raise_if_error(checked.status());
  const AttentionShape& s = *checked;
  const DType dtype = call.inputs.q.dtype;

  AttentionOutputs outputs;
  Output given;  // `out`
  Tensor o, lse;
  if (named.has("out")) {
    given = import_output("out", named["out"]);
    outputs.o = with_four_axes(given.view, call.layout);
  } else {
    const bool tokens_first = call.layout == Layout::kBTHD;
    o = make_tensor(dtype, tokens_first ? Dims{s.batch, s.query_length, s.query_heads, s.value_width}
                                        : Dims{s.batch, s.query_heads, s.query_length, s.value_width});
    outputs.o = tokens_first ? swap_axes(o.view(), 1, 2) : o.view();
  }
  const bool wants_lse = named.flag("return_lse");
  if (wants_lse) {
    lse = make_tensor(dtype == DType::kF64 ? DType::kF64 : DType::kF32, {s.batch, s.query_heads, s.query_length});
    outputs.lse = lse.view();
  }
  run(call, outputs, named);

  nb::object result = named["out"];
  if (!named.has("out")) {
    const View<const void> shown = without_leading_axes(outputs.o, call.layout, call.rank());
    result = export_array(std::move(o), shown, q);
  }
  if (!wants_lse) return result;
  const View<const void> shown = lse_shown(lse.view(), call.rank());
  return nb::make_tuple(result, export_array(std::move(lse), shown, q));
}

}  // namespace qkv::python
