// A small capture, made by hand as docs/capture.md says, for the tests of what reads one.
#ifndef QKV_TESTS_CAPTURE_TESTING_H_
#define QKV_TESTS_CAPTURE_TESTING_H_

#include <algorithm>
#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "src/capture/capture.h"
#include "src/io/tensor_file.h"
#include "tests/attention_testing.h"

namespace qkv {

// Calls whose tensors are those of problem lines, and a document that fits; a test may change either before write().
class CaptureFile {
 public:
  using Json = nlohmann::ordered_json;

  CaptureFile() {
    document = {{"version", 1},
                {"qkv", "0.1.0"},
                {"model", {{"name", "tiny"}, {"class", "Tiny"}, {"torch", "2"}, {"transformers", nullptr}}},
                {"tokens", nullptr},
                {"calls", Json::array()}};
  }

  // A call of the problem with all of its rows kept; causal problems need an offset: causal=offset:N.
  void add(const std::string& line, std::int64_t layer) {
    const check::Case& c = cases.emplace_back(case_of(line));
    const Problem& p = c.problem;
    const std::string name = "C000" + std::to_string(calls().size());
    outputs.push_back(run_case(c, {}));
    tensors.push_back({name + ".q", c.q.view});
    tensors.push_back({name + ".k", c.k.view});
    tensors.push_back({name + ".v", c.v.view});
    tensors.push_back({name + ".o", outputs.back().outputs.o.view});
    if (c.keep.view.is_present()) tensors.push_back({name + ".keep", c.keep.view});
    if (c.bias.view.is_present()) tensors.push_back({name + ".bias", c.bias.view});
    if (c.key_mask.view.is_present()) tensors.push_back({name + ".key_mask", c.key_mask.view});
    if (p.sinks) add_numbers(name + ".sinks", c.sinks);
    if (p.slopes) add_numbers(name + ".slopes", c.slopes);
    Json rows = Json::array();
    for (std::int64_t i = 0; i < p.query_length; ++i) rows.push_back(i);
    const bool positional = p.causality == Causality::kCausal || p.window != Window{} || p.slopes;
    document["calls"].push_back({{"name", name},
                                 {"order", calls().size()},
                                 {"layer", layer},
                                 {"path", "layers." + std::to_string(layer)},
                                 {"way", "sdpa"},
                                 {"B", p.batch},
                                 {"Hq", p.query_heads},
                                 {"Hkv", p.kv_heads},
                                 {"Tq", p.query_length},
                                 {"Tk", p.key_length},
                                 {"D", p.width},
                                 {"Dv", p.value_width},
                                 {"dtype", to_string(p.dtype)},
                                 {"heads", nullptr},
                                 {"kv_heads", nullptr},
                                 {"values", true},
                                 {"scale", p.scale.value_or(1 / std::sqrt(static_cast<double>(p.width)))},
                                 {"softcap", p.softcap ? Json(*p.softcap) : Json(nullptr)},
                                 {"sinks", p.sinks},
                                 {"slopes", p.slopes},
                                 {"causal", p.causality == Causality::kCausal},
                                 {"corner", nullptr},
                                 {"offset", positional ? Json(p.offset) : Json(nullptr)},
                                 {"window", p.window != Window{} ? Json{p.window.left, p.window.right} : Json(nullptr)},
                                 {"mask", "none"},
                                 {"tokens", true},
                                 {"query_start", positional ? p.offset : 0},
                                 {"rows", rows},
                                 {"error", {{"max", 1e-7}, {"allowed", 1e-4}}}});
  }

  void add_tokens(const std::vector<std::int64_t>& ids) {
    Json pieces = Json::array();
    for (const std::int64_t id : ids) pieces.push_back("t" + std::to_string(id));
    if (document["tokens"].is_null()) document["tokens"] = Json::array();
    document["tokens"].push_back({{"text", "text"}, {"ids", ids}, {"pieces", pieces}, {"offsets", nullptr}});
  }

  void remove_tensor(const std::string& name) {
    std::erase_if(tensors, [&](const NamedTensor& tensor) { return tensor.name == name; });
  }

  Json& calls() { return document["calls"]; }

  void write(const std::string& path) const {
    FileContents contents;
    contents.tensors = tensors;
    contents.metadata = {{kCaptureKey, document.dump()}};
    const Status status = write_tensor_file(path, FileFormat::kSafetensors, contents);
    EXPECT_TRUE(status.is_ok()) << status.message();
  }

  Json document;
  std::vector<NamedTensor> tensors;
  std::deque<check::Case> cases;
  std::deque<Ran> outputs;

 private:
  void add_numbers(const std::string& name, const std::vector<double>& values) {
    numbers.emplace_back(values.begin(), values.end());
    tensors.push_back({name, View<const float>(numbers.back().data(), {static_cast<std::int64_t>(values.size())})});
  }
  std::deque<std::vector<float>> numbers;
};

}  // namespace qkv

#endif  // QKV_TESTS_CAPTURE_TESTING_H_
