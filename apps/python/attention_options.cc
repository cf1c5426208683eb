// One option after the other; what they mean together is the core's to check.
#include "apps/python/attention_options.h"

#include <optional>
#include <string>

#include "src/core/four_axes.h"

namespace qkv::python {
namespace {

bool depends_on_positions(const Options& given) {
  return given.flag("causal") || given.has("window") || given.has("slopes");
}

}  // namespace

ReadOptions::ReadOptions(const Options& given, const Query& query) {
  options_.scale = given.number("scale");
  options_.softcap = given.number("softcap");
  read_positions(given);
  read_masks(given, query.has_batch);
  read_lists(given, query.heads);
}

void ReadOptions::read_positions(const Options& given) {
  if (given.flag("causal")) options_.causality = Causality::kCausal;
  const std::optional<std::string> corner = given.text("corner");
  const std::optional<std::int64_t> offset = given.integer("offset");
  if (corner && offset) throw nb::value_error("corner and offset are both given; give one");
  if ((corner || offset) && !depends_on_positions(given))
    throw nb::value_error(
        (std::string(corner ? "corner" : "offset") + " has no effect without causal, window or slopes").c_str());
  if (corner == "top_left")
    options_.corner = Corner::kTopLeft;
  else if (corner == "bottom_right")
    options_.corner = Corner::kBottomRight;
  else if (corner)
    throw nb::value_error(("corner '" + *corner + "' is unknown; expected 'top_left' or 'bottom_right'").c_str());
  if (offset) {
    options_.corner = Corner::kOffset;
    options_.offset = *offset;
  }
  if (!given.has("window")) return;
  const std::vector<std::int64_t> window = given.integers("window");
  if (window.size() != 2) throw nb::value_error("window needs two numbers, (left, right); -1 leaves a side open");
  options_.window = {window[0], window[1]};
}

void ReadOptions::read_masks(const Options& given, bool has_batch) {
  keep_ = Input::optional("keep", given["keep"]);
  bias_ = Input::optional("bias", given["bias"]);
  options_.keep = keep_.view;
  options_.bias = bias_.view;
  if (!given.has("key_mask")) return;
  key_mask_ = Input("key_mask", given["key_mask"]);
  // A mask of rank 1 belongs to the one entry of a batch that has no axis.
  const bool unbatched = !has_batch && key_mask_.view.shape.rank() == 1;
  options_.key_mask = unbatched ? padded(key_mask_.view, 2) : key_mask_.view;
}

void ReadOptions::read_lists(const Options& given, std::int64_t heads) {
  key_lengths_ = given.integers("key_lengths");
  cu_seqlens_q_ = given.integers("cu_seqlens_q");
  cu_seqlens_k_ = given.integers("cu_seqlens_k");
  if (nb::isinstance<nb::str>(given["slopes"])) {
    if (given.text("slopes") != "alibi") throw nb::value_error("slopes is neither a list of numbers nor 'alibi'");
    slopes_ = alibi_slopes(heads);
  } else {
    slopes_ = given.numbers("slopes");
  }
  sinks_ = given.numbers("sinks");
  options_.key_lengths = key_lengths_;
  options_.cu_seqlens_q = cu_seqlens_q_;
  options_.cu_seqlens_k = cu_seqlens_k_;
  options_.slopes = slopes_;
  options_.sinks = sinks_;
}

Layout read_layout(const Options& given) {
  const std::string layout = given.text("layout").value_or("bhtd");
  if (layout == "bhtd") return Layout::kBHTD;
  if (layout == "bthd") return Layout::kBTHD;
  throw nb::value_error(("layout '" + layout + "' is unknown; expected 'bhtd' or 'bthd'").c_str());
}

ReadOptions::Query query_of(View<const void> given, Layout layout) {
  const int rank = given.shape.rank();
  const View<const void> q = with_four_axes(given, layout);
  return {rank == kMaxRank, q.shape.rank() == kMaxRank ? q.shape[1] : 0};
}

}  // namespace qkv::python
