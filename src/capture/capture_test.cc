// Captures are read as they were written, and nothing that does not fit is believed.
#include "src/capture/capture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "src/survey/self_check.h"
#include "tests/capture_testing.h"
#include "tests/temporary_file.h"

namespace qkv {
namespace {

Result<Capture> opened(const CaptureFile& file, const TemporaryFile& at) {
  file.write(at.path());
  return Capture::open(must(TensorFile::open(at.path())));
}

double difference_of(const CapturedCall& call, const CapturedHead& head) {
  return std::ranges::max(must(worst_differences(head.inputs, head.o, call.rows, head.options), call.name));
}

// Every head's o can be computed from what the capture says.
void expect_recomputed(Capture& capture) {
  for (const CapturedCall& call : capture.calls())
    for (std::size_t i = 0; i < call.heads.size(); ++i) {
      const CapturedHead head = must(capture.head(call, i), call.name);
      EXPECT_LT(difference_of(call, head), 1e-5) << call.name << " head " << head.head;
    }
}

TEST(Capture, every_term_of_a_call_comes_back) {
  const TemporaryFile at("capture.safetensors");
  CaptureFile file;
  file.add("attention B2 H4/2 T7 D8/5 causal=offset:0", 0);
  file.add("attention B2 H4/2 T3x7 D8 causal=offset:4 window=2,0", 1);
  file.add("attention B2 H4 T7 D8 softcap=2 sinks", 2);
  file.add("attention B2 H4 T7 D8 slopes causal=offset:0", 3);
  file.add("attention B2 H4 T5x7 D8 keep=2x4x5x7", 4);
  file.add("attention B2 H4 T5x7 D8 bias=4x5x7 key_mask scale=0.3", 5);
  file.add("attention B2 H4/1 T5x7 D8 keep=5x7 bf16", 6);
  Capture capture = must(opened(file, at));
  EXPECT_EQ(capture.model(), "tiny");
  ASSERT_EQ(capture.calls().size(), 7U);
  EXPECT_EQ(capture.calls()[3].layer, 3);
  for (std::size_t i = 0; i + 1 < 7; ++i)
    for (std::size_t h = 0; h < 4; ++h) {
      const CapturedCall& call = capture.calls()[i];
      const CapturedHead head = must(capture.head(call, h), call.name);
      EXPECT_LT(difference_of(call, head), 1e-6) << call.name << " head " << h;
    }
}

TEST(Capture, picked_heads_find_the_kv_head_that_they_read) {
  const TemporaryFile at("capture.safetensors");
  CaptureFile file;
  file.add("attention H8/4 T7 D8", 0);
  const check::Case& c = file.cases.back();
  // Query heads 1 and 6 read KV heads 0 and 3.
  const auto picked = [](View<const void> view, std::int64_t first, std::int64_t step) {
    view.data = static_cast<const char*>(view.data) + first * view.strides[1] * 4;
    view.strides[1] *= step;
    view.shape[1] = 2;
    return view;
  };
  file.tensors = {{"C0000.q", picked(c.q.view, 1, 5)},
                  {"C0000.k", picked(c.k.view, 0, 3)},
                  {"C0000.v", picked(c.v.view, 0, 3)},
                  {"C0000.o", picked(file.outputs.back().outputs.o.view, 1, 5)}};
  file.calls()[0]["heads"] = {1, 6};
  file.calls()[0]["kv_heads"] = {0, 3};
  Capture capture = must(opened(file, at));
  EXPECT_EQ(must(capture.head(capture.calls()[0], 1)).head, 6);
  expect_recomputed(capture);
  file.calls()[0]["kv_heads"] = {0, 2};
  EXPECT_NE(opened(file, at).status().message().find("C0000 holds query head 6 without its KV head 3"),
            std::string::npos);
}

TEST(Capture, tokens_are_those_of_the_keys) {
  const TemporaryFile at("capture.safetensors");
  CaptureFile file;
  file.add("attention H2 T2x4 D8 causal=offset:2", 0);
  file.add("attention H2 T2x6 D8", 0);  // cross-attention: its keys are no tokens
  file.calls()[1]["tokens"] = false;
  file.add_tokens({5, 6, 5, 7, 9});  // goes on behind the call: a later step of the same text
  Capture capture = must(opened(file, at));
  const CapturedHead head = must(capture.head(capture.calls()[0], 0));
  EXPECT_EQ(head.tokens.shape, (Dims{1, 4}));
  EXPECT_EQ(element_as_double(head.tokens, 3), 7);
  EXPECT_FALSE(must(capture.head(capture.calls()[1], 0)).tokens.is_present());
}

TEST(Capture, tokens_without_ids_are_told_apart_by_their_texts_and_models_without_a_name_by_class) {
  const TemporaryFile at("capture.safetensors");
  CaptureFile file;
  file.add("attention H2 T4 D8", 0);
  file.add_tokens({7, 8, 7, 9});
  file.document["tokens"][0]["ids"] = nullptr;
  file.document["model"]["name"] = nullptr;
  Capture capture = must(opened(file, at));
  EXPECT_EQ(capture.tokens()[0].ids, (std::vector<std::int64_t>{0, 1, 0, 2}));
  EXPECT_EQ(capture.model(), "Tiny");
}

TEST(Capture, without_values_there_is_nothing_to_check) {
  const TemporaryFile at("capture.safetensors");
  CaptureFile file;
  file.add("attention H2 T4 D8", 0);
  file.remove_tensor("C0000.v");
  file.remove_tensor("C0000.o");
  EXPECT_NE(opened(file, at).status().message().find("there is no tensor C0000.v"), std::string::npos);
  file.calls()[0]["values"] = false;
  Capture capture = must(opened(file, at));
  EXPECT_FALSE(must(capture.head(capture.calls()[0], 0)).o.is_present());
}

TEST(Capture, a_document_that_lies_is_refused_by_the_name_of_the_field) {
  struct Lie {
    std::function<void(CaptureFile&)> tell;
    std::string message;
  };
  using File = CaptureFile;
  const auto set = [](const std::string& field, const File::Json& value) {
    return [field, value](File& file) { file.calls()[0][field] = value; };
  };
  const Lie lies[] = {
      {set("Hq", -2), "calls[0].Hq is \"-2\"; expected a whole number from 1 on"},
      {set("Hq", 3), "calls[0].Hkv is \"2\"; expected a number that divides Hq"},
      {set("Hq", 8), "C0000.q is [1,4,6,8]; expected [1,8,6,8]"},
      {set("Tk", 60), "C0000.k is [1,2,6,8]; expected [1,2,60,8]"},
      {set("Tq", 1.5), "calls[0].Tq is \"1.5\"; expected a whole number from 0 on"},
      {set("D", "8"), "calls[0].D is \"\"8\"\"; expected a whole number from 1 on"},
      {set("dtype", "bf16"), "C0000.q is F32; expected bf16"},
      {set("dtype", "i32"), "calls[0].dtype is \"\"i32\"\"; expected f64, f32, bf16 or f16"},
      {set("scale", nullptr), "calls[0].scale is \"null\"; expected a number"},
      {set("softcap", -1), "calls[0].softcap is \"-1\"; expected a number above 0, or null"},
      {set("causal", 1), "calls[0].causal is \"1\"; expected true or false"},
      {set("offset", nullptr), "calls[0].offset is \"null\"; expected the position of query 0"},
      {set("window", {1}), "calls[0].window is \"[1]\"; expected [left, right]"},
      {set("window", {1, -2}), "calls[0].window is \"[1,-2]\"; expected a list of whole numbers from -1 on"},
      {set("heads", {0, 0, 1, 2}), "calls[0].heads is \"[0,0,1,2]\"; expected rising head numbers below 4"},
      {set("heads", {0, 1, 2, 4}), "expected rising head numbers below 4"},
      {set("rows", {0, 6}), "calls[0].rows is \"[0,6]\"; expected numbers of queries below Tq"},
      {set("rows", {0, 1}), "C0000.o is [1,4,6,8]; expected [1,4,2,8]"},
      {set("sinks", true), "there is no tensor C0000.sinks"},
      {set("name", "C7"), "there is no tensor C7.q"},
      {set("error", 3), "calls[0].error is \"3\"; expected an object with max and allowed"},
      {set("query_start", 5), "C0000: queries 5 to 11 are no tokens of 6"},
      {[](File& file) { file.calls() = File::Json::array(); }, "calls is \"[]\"; expected at least one call"},
      {[](File& file) { file.calls() = 7; }, "calls is \"7\"; expected a list"},
      {[](File& file) { file.calls()[0] = "C0000"; }, "calls[0] is a text; expected an object"},
      {[](File& file) { file.document["version"] = 2; }, "the capture has version 2, and this qkv reads version 1"},
      {[](File& file) { file.document["tokens"][0]["pieces"] = {"a"}; }, "tokens[0].pieces is"},
      {[](File& file) { file.document["tokens"][0]["ids"] = {"a"}; }, "tokens[0].ids is"},
      {[](File& file) { file.add_tokens({1}); }, "tokens differ in length from one batch row to the next"},
      {[](File& file) { file.tensors[3].name = "C0000.keep"; }, "there is no tensor C0000.o"},
      {[](File& file) { file.tensors.push_back({"C0000.keep", file.cases[0].v.view}); },
       "C0000.keep is [1,2,6,8]; expected up to four axes, with 1 or 4 heads"},
  };
  const TemporaryFile at("capture.safetensors");
  for (const Lie& lie : lies) {
    CaptureFile file;
    file.add("attention H4/2 T6 D8 causal=offset:0", 0);
    file.add_tokens({1, 2, 3, 4, 5, 6});
    lie.tell(file);
    const Status status = opened(file, at).status();
    EXPECT_NE(status.message().find(lie.message), std::string::npos) << status.message() << "\nwanted " << lie.message;
    EXPECT_EQ(status.message().find("cannot read the capture " + at.path() + ": "), 0U);
  }
}

TEST(Capture, a_document_that_is_no_json_is_refused_with_the_place) {
  const Status status = parse_capture_document("{\"version\": 1,").status();
  EXPECT_NE(status.message().find("the document is no JSON"), std::string::npos) << status.message();
  EXPECT_EQ(status.code(), StatusCode::kCorruptFile);
}

TEST(Capture, a_plain_file_is_none) {
  const TensorFile file = must(TensorFile::open(QKV_SOURCE_DIR "/examples/minilm.safetensors"));
  EXPECT_FALSE(Capture::is_in(file));
}

}  // namespace
}  // namespace qkv
