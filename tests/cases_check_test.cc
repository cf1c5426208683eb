// What the checker says of the public failures: given the wrong output of a report, it names the mistake that made it.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "src/check/check.h"
#include "tests/cases.h"

namespace qkv {
namespace {

using testing::Array;
using testing::array;
using testing::Json;
using testing::Lcg32;
using testing::powers_of_ten;

// A line of the file with its options as a problem; what a report does not say keeps its default.
struct Report : testing::Case {
  explicit Report(const char* id) : Case(id) {}

  // A tensor of the outputs that the report gives.
  static Tensor tensor(const Array& values, DType dtype) { return std::move(converted(values.view(), dtype)).value(); }
  static Tensor tensor(const Json& values, Dims shape, DType dtype) {
    return tensor(Array{shape, testing::numbers(values)}, dtype);
  }
  Dims o_shape() const { return {q.shape[0], q.shape[1], q.shape[2], v.shape[3]}; }
  Tensor o(const Json& values) const { return tensor(values, o_shape(), dtype); }

  Problem problem() const {
    Problem made;
    made.batch = q.shape[0];
    made.query_heads = q.shape[1];
    made.kv_heads = k.shape[1];
    made.query_length = q.shape[2];
    made.key_length = k.shape[2];
    made.width = q.shape[3];
    made.value_width = v.shape[3];
    made.causality = options.causality;
    made.corner = options.corner;
    made.window = options.window;
    made.scale = options.scale;
    made.softcap = options.softcap;
    made.key_mask = options.key_mask.is_present();
    made.sinks = !sinks.empty();
    made.dtype = dtype;
    made.layout = layout;
    made.backward = !d_o.values.empty();
    return made;
  }

  check::Placed placed(const Array& given) const {
    return std::move(check::place(tensor(given, dtype).view(), {.layout = layout})).value();
  }

  check::Case asked() const {
    check::Case made;
    made.problem = problem();
    made.q = placed(q);
    made.k = placed(k);
    made.v = placed(v);
    if (!keep.empty()) made.keep = std::move(check::place(View<const std::uint8_t>(keep.data(), keep_shape))).value();
    if (options.key_mask.is_present()) made.key_mask = std::move(check::place(options.key_mask)).value();
    if (!bias.values.empty()) made.bias = placed(bias);
    if (!d_o.values.empty()) made.d_o = placed(d_o);
    made.sinks = sinks;
    return made;
  }

  Array d_o;
  std::vector<double> sinks;
  DType dtype = DType::kF64;
  Layout layout = Layout::kBHTD;
};

// That `got` is wrong, and equal to attention with the mistake: among the first that cannot be told apart.
void expect_named(const Report& report, check::SubjectOutputs got, const std::string& name) {
  SCOPED_TRACE(report.where());
  const auto found = check::check_given(report.asked(), std::move(got), "the report's", {});
  ASSERT_TRUE(found.is_ok()) << found.status().message();
  EXPECT_EQ(found->verdict, check::Verdict::kWrong) << found->headline;
  bool is_named = false;
  for (const check::Explanation& one : found->diagnosis.tied)
    is_named = is_named || (one.mistakes.size() == 1 && one.mistakes.front().name == name);
  EXPECT_TRUE(is_named) << found->headline;
}

void expect_named(const Report& report, const Json& o, const std::string& name) {
  check::SubjectOutputs got;
  got.o = report.o(o);
  expect_named(report, std::move(got), name);
}

Report causal_report(const char* id, Corner corner = Corner::kUnset) {
  Report report(id);
  report.options.causality = Causality::kCausal;
  report.options.corner = corner;
  return report;
}

Report window_report(const char* id, Window window) {
  Report report(id);
  Lcg32 random(5);
  report.q = random.fill({1, 1, 6, 2});
  report.k = random.fill({1, 1, 6, 2});
  report.v = powers_of_ten(6);
  report.options.window = window;
  return report;
}

Report scale_report(const char* id) {
  Report report(id);
  Lcg32 random(3);
  report.q = random.fill({1, 1, 3, 4}, 2);
  report.k = random.fill({1, 1, 3, 4}, 2);
  report.v = random.fill({1, 1, 3, 4});
  return report;
}

TEST(CheckedCases, a_row_without_a_key) {
  Report report("c001");
  report.options.scale = 1;
  expect_named(report, report.wrong("out"), "empty_row_nan");
}

TEST(CheckedCases, a_fill_of_minus_10000) {
  Report report("c028");
  report.bias = {};
  report.set_keep(Json({{true, false}}));
  expect_named(report, report.wrong("out"), "fill_added_1e4");
}

TEST(CheckedCases, causal_masks) {
  expect_named(Report("c009"), Report("c009").wrong("out"), "causal_ignored");
  Report blocks = causal_report("c010");
  Lcg32 random(11);
  blocks.q = random.fill({1, 1, 8, 2});
  blocks.k = random.fill({1, 1, 8, 2});
  blocks.v = powers_of_ten(8);
  expect_named(blocks, blocks.wrong("out"), "causal_per_block_4");
  const Report corner = causal_report("c011", Corner::kBottomRight);
  expect_named(corner, corner.wrong("out_top_left"), "corner_top_left");
  const Report decode = causal_report("c013", Corner::kBottomRight);
  expect_named(decode, decode.wrong("out"), "corner_top_left");
}

TEST(CheckedCases, windows) {
  Report wide = window_report("c017", {2, -1});
  wide.options.causality = Causality::kCausal;
  expect_named(wide, wide.wrong("out"), "window_left_plus_1");
  Report lost = window_report("c019", {2, -1});
  lost.q.values.resize(4);
  lost.q.shape = {1, 1, 2, 2};
  lost.options.causality = Causality::kCausal;
  lost.options.corner = Corner::kBottomRight;
  expect_named(lost, lost.wrong("out_causal_lost"), "causal_ignored");
  const Report ignored = window_report("c021", {1, 1});
  expect_named(ignored, ignored.wrong("out"), "window_ignored");
}

TEST(CheckedCases, masks_as_numbers) {
  const Report finite("c003");
  expect_named(finite, finite.wrong("out"), "bias_overflows");
  const Report product("c004");
  expect_named(product, product.wrong("out"), "mask_times_infinity");
  Report half("c006");
  half.v = array(half.json["inputs"]["v"]);
  half.bias = {{1, 2}, testing::numbers(half.json["inputs"]["bias"])};
  half.dtype = DType::kF16;
  expect_named(half, Json({half.wrong("out")}), "fill_in_f16");
}

TEST(CheckedCases, what_is_hidden_and_no_number) {
  const Report poison("c007");
  expect_named(poison, poison.wrong("out"), "hidden_times_zero");
}

TEST(CheckedCases, boolean_masks) {
  Report inverted("c023");
  inverted.set_keep(inverted.json["inputs"]["mask_true_means_keep"]);
  expect_named(inverted, inverted.wrong("out_inverted"), "mask_inverted");
  Report added("c024");
  added.set_keep(added.json["inputs"]["mask"]);
  expect_named(added, added.wrong("out"), "mask_added");
  Report tiled("c030");
  tiled.q = {{2, 2, 1, 1}, {0, 0, 0, 0}};
  tiled.k = {{2, 2, 2, 1}, std::vector<double>(8)};
  tiled.v = {{2, 2, 2, 1}, {1, 3, 1, 3, 10, 30, 10, 30}};
  const std::uint8_t mask[] = {1, 1, 1, 0};
  tiled.options.key_mask = View<const std::uint8_t>(mask, {2, 2});
  expect_named(tiled, Json({tiled.wrong("out_b0"), tiled.wrong("out_b1")}), "mask_batch_tiled");
}

TEST(CheckedCases, scales) {
  Report model = scale_report("c032");  // one of four heads is shown: the others are made the same
  Json four = Json::array();
  for (Array* tensor : {&model.q, &model.k, &model.v}) {
    const std::vector<double> head = tensor->values;
    for (int more = 0; more < 3; ++more) tensor->values.insert(tensor->values.end(), head.begin(), head.end());
    tensor->shape[1] = 4;
  }
  for (int head = 0; head < 4; ++head) four.push_back(model.wrong("out"));
  expect_named(model, four, "scale_model_width");
  expect_named(scale_report("c033"), scale_report("c033").wrong("out"), "scale_twice");
  expect_named(scale_report("c034"), scale_report("c034").wrong("out"), "scale_missing");
  Report blocks("c037");
  blocks.options.scale = 1;
  blocks.dtype = DType::kF32;  // nine digits of its output are right
  expect_named(blocks, blocks.wrong("out"), "scale_per_block_2");
  Report padded("c055");
  Lcg32 random(12);
  padded.q = random.fill({1, 1, 2, 5}, 2);
  padded.k = random.fill({1, 1, 3, 5}, 2);
  padded.v = random.fill({1, 1, 3, 5});
  expect_named(padded, padded.wrong("out"), "scale_padded_width_8");
}

TEST(CheckedCases, a_scale_below_0) {
  const Report root("c038");
  expect_named(root, root.wrong("out"), "scale_root");
}

// The report shows the heads, not what attention makes of them.
TEST(CheckedCases, heads_that_were_split_without_a_transpose) {
  Report split("c044");
  const auto heads = [&](const Json& both) { return array(Json({both["head0"], both["head1"]})); };
  split.q = split.k = split.v = heads(split.json["right"]);
  const Array wrong = heads(split.json["wrong"]);
  const auto made = reference::attention_forward({wrong.view(), wrong.view(), wrong.view()}, {});
  ASSERT_TRUE(made.is_ok()) << made.status().message();
  check::SubjectOutputs got;
  got.o = std::move(converted(made->o.view(), DType::kF64)).value();
  expect_named(split, std::move(got), "heads_split_wrong");
}

TEST(CheckedCases, the_batch_axis_for_the_sequence) {
  Report across("c098");
  Lcg32 random(21);
  const Array x = random.fill({2, 1, 2, 2});
  across.q = across.k = across.v = x;
  expect_named(across, across.wrong("out"), "batch_as_sequence");
}

TEST(CheckedCases, softmax_softcap_and_sinks) {
  expect_named(Report("c040"), Report("c040").wrong("out"), "softmax_over_queries");
  Report overflow("c042");
  overflow.dtype = DType::kF32;
  expect_named(overflow, overflow.wrong("out"), "no_maximum");
  Report sink("c075");
  sink.options.scale = 1;
  sink.sinks = {sink.json["inputs"]["sink"].get<double>()};
  expect_named(sink, sink.wrong("out"), "sink_ignored");
  Report capped("c093");
  capped.bias = {};
  capped.set_keep(Json({{true, true, false}}));
  expect_named(capped, capped.wrong("out"), "softcap_after_mask");
  Report formula("c095");
  formula.q = array(Json({{3.0}, {0.5}}));
  formula.k = formula.v = array(Json({{1.0}}));
  check::SubjectOutputs got;
  got.o = formula.o(Json({1, 1}));
  got.lse = Report::tensor(formula.wrong("capped"), {1, 1, 2}, DType::kF64);
  expect_named(formula, std::move(got), "softcap_formula");
}

TEST(CheckedCases, the_base_of_lse) {
  Report report("c091");
  report.set_scores(Json({1.0, 2.0}));
  report.v = array(Json({{1.0}, {2.0}}));
  check::SubjectOutputs got;
  got.lse = Report::tensor(Json::array({report.wrong("lse2")[0]}), {1, 1, 1}, DType::kF64);
  expect_named(report, std::move(got), "lse_base_2");
}

TEST(CheckedCases, heads_and_strides) {
  Report tiled("c047");
  tiled.q = {{1, 4, 1, 1}, std::vector<double>(4)};
  tiled.k = {{1, 2, 1, 1}, std::vector<double>(2)};
  tiled.v = {{1, 2, 1, 1}, {1, 2}};
  expect_named(tiled, tiled.wrong("out_per_q_head"), "head_map_tiled");
  Report summed("c049");
  summed.q = {{1, 2, 1, 1}, {1, -1}};
  summed.options.scale = 1;
  expect_named(summed, Json({summed.wrong("out"), summed.wrong("out")}), "head_group_summed");
  Report strides("c061");
  strides.layout = Layout::kBTHD;
  strides.q = strides.k = {{1, 2, 2, 1}, {1, 1, 1, 1}};
  strides.v = {{1, 2, 2, 1}, {1, 2, 10, 20}};
  const Json& heads = strides.wrong("out");
  expect_named(strides, Json({heads["head0"], heads["head0"], heads["head1"], heads["head1"]}), "strides_of_v_ignored");
}

TEST(CheckedCases, gradients) {
  Report group("c051");
  group.q = {{1, 2, 1, 1}, {1, 2}};
  group.d_o = {{1, 2, 1, 1}, {1, 3}};
  group.options.scale = 1;
  check::SubjectOutputs last;
  last.dk = Report::tensor(group.wrong("dk_last_head_only"), group.k.shape, DType::kF64);
  last.dv = Report::tensor(group.wrong("dv_last_head_only"), group.v.shape, DType::kF64);
  expect_named(group, std::move(last), "gradient_group_not_summed");
  Report bias("c070");
  bias.d_o = array(bias.json["inputs"]["dO"]);
  check::SubjectOutputs writer;
  writer.dbias = Report::tensor(bias.wrong("dbias_last_writer"), bias.bias.shape, DType::kF64);
  expect_named(bias, std::move(writer), "gradient_bias_not_summed");
  Report unmasked("c072");
  unmasked.d_o = array(unmasked.json["inputs"]["dO"]);
  check::SubjectOutputs lost;
  lost.dq = Report::tensor(unmasked.wrong("dq"), unmasked.q.shape, DType::kF64);
  lost.dk = Report::tensor(unmasked.wrong("dk"), unmasked.k.shape, DType::kF64);
  lost.dv = Report::tensor(unmasked.wrong("dv"), unmasked.v.shape, DType::kF64);
  expect_named(unmasked, std::move(lost), "gradient_unmasked");
}

}  // namespace
}  // namespace qkv
