// From a request for scores to its document.
#include "src/explain/scores.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "qkv/reference.h"
#include "qkv/version.h"
#include "src/core/status_macros.h"
#include "src/explain/document_text.h"
#include "src/explain/fields.h"
#include "src/explain/numbers.h"
#include "src/explain/scores_draw.h"

namespace qkv {
namespace {

constexpr std::int64_t kMostTokens = 256;
constexpr std::int64_t kMostWidth = 1024;
constexpr double kMostWeight = 100;  // of the mix
constexpr std::int64_t kBins = 41;   // odd: one is around 0

Status read_size(const Fields& fields, const char* name, std::int64_t most, std::int64_t& out) {
  QKV_RETURN_IF_ERROR(fields.read(name, out, 1));
  if (out <= most) return {};
  return wrong_kind(name, fields[name], "a whole number from 1 to " + std::to_string(most));
}

Status read_function(const Fields& fields, ScoresRequest& out) {
  QKV_RETURN_IF_ERROR(fields.read("function", out.function));
  const std::pair<const char*, std::array<double, 3>> functions[] = {
      {"content", {1, 0, 0}}, {"previous", {0, 1, 0}}, {"decay", {0, 0, 1}}, {"mix", {1, 1, 1}}};
  const auto* const found = std::find_if(std::begin(functions), std::end(functions),
                                         [&](const auto& each) { return out.function == each.first; });
  if (found == std::end(functions))
    return wrong_kind("function", fields["function"], "\"content\", \"previous\", \"decay\" or \"mix\"");
  out.mix = found->second;
  if (!fields.has("mix")) return {};
  if (out.function != "mix") return invalid_argument("explain: mix is only for \"function\": \"mix\"");
  std::vector<double> weights;
  QKV_RETURN_IF_ERROR(fields.read("mix", weights));
  const bool fits = weights.size() == out.mix.size() && std::all_of(weights.begin(), weights.end(), [](double weight) {
                      return std::abs(weight) <= kMostWeight;
                    });
  if (!fits)
    return invalid_argument("explain: mix is not three numbers from -100 to 100: the weights of content, of the " +
                            std::string("previous token and of decay with distance"));
  std::copy(weights.begin(), weights.end(), out.mix.begin());
  return {};
}

Status read_targets(const Fields& fields, ScoresRequest& out) {
  out.targets = drawn_targets(out);
  if (!fields.has("targets")) return {};
  QKV_RETURN_IF_ERROR(fields.read("targets", out.targets));
  if (static_cast<std::int64_t>(out.targets.size()) != out.n)
    return invalid_argument("explain: targets has " + std::to_string(out.targets.size()) + " entries, but n is " +
                            std::to_string(out.n));
  for (std::size_t i = 0; i < out.targets.size(); ++i)
    if (out.targets[i] < 0 || out.targets[i] >= out.n)
      return wrong_kind("targets[" + std::to_string(i) + "]", fields["targets"][i],
                        "the index of a key, 0 to " + std::to_string(out.n - 1));
  return {};
}

Result<ScoresRequest> read_request(const Json& request) {
  const Fields fields(request);
  QKV_RETURN_IF_ERROR(fields.check_known({"op", "n", "d_k", "seed", "function", "mix", "divide", "targets", "causal"}));
  ScoresRequest out;
  QKV_RETURN_IF_ERROR(read_size(fields, "n", kMostTokens, out.n));
  QKV_RETURN_IF_ERROR(read_size(fields, "d_k", kMostWidth, out.d_k));
  QKV_RETURN_IF_ERROR(fields.read("seed", out.seed, 0));
  QKV_RETURN_IF_ERROR(fields.read("divide", out.divide));
  QKV_RETURN_IF_ERROR(fields.read("causal", out.causal));
  QKV_RETURN_IF_ERROR(read_function(fields, out));
  QKV_RETURN_IF_ERROR(read_targets(fields, out));
  return out;
}

struct Drawn {
  double root = 1;          // √d_k
  Numbers content;          // q·k before any weight
  Numbers scores;           // what the mix makes of it
  Numbers scaled, weights;  // what enters the softmax, and what comes out
};

Numbers square(std::int64_t n, std::vector<double> values) { return {std::move(values), {n, n}}; }

Numbers values_of(const Trace& trace, std::string_view name, std::int64_t n) {
  const Tensor& values = trace.find(name)->values;
  const auto* begin = values.data<double>();
  return square(n, std::vector<double>(begin, begin + values.size()));
}

// The products and the softmax are the reference's. The weight of content goes into the scale, distance into the bias.
Result<Drawn> draw(const ScoresRequest& request) {
  const std::int64_t n = request.n;
  std::vector<double> keys = drawn_keys(request);
  const std::vector<double> queries = drawn_queries(request, keys);
  const std::vector<double> values(static_cast<std::size_t>(n), 0.0);
  Drawn out;
  out.root = std::sqrt(static_cast<double>(request.d_k));
  const double scale = request.divide ? 1 / out.root : 1;
  Numbers distance = square(n, distance_scores(request));
  Numbers bias = distance;
  for (double& entry : bias.values) entry *= out.root * scale;

  AttentionOptions options;
  options.scale = scale * request.mix[0];
  options.bias = View<const double>(bias.values.data(), {1, 1, n, n});
  if (request.causal) options.causality = Causality::kCausal;
  const Dims rows = {1, 1, n, request.d_k};
  Trace trace;
  QKV_RETURN_IF_ERROR(
      reference::attention_forward({View<const double>(queries.data(), rows), View<const double>(keys.data(), rows),
                                    View<const double>(values.data(), {1, 1, n, 1})},
                                   options, &trace)
          .status());
  out.content = values_of(trace, "raw", n);
  out.scores = out.content;
  for (std::size_t i = 0; i < distance.values.size(); ++i)
    out.scores.values[i] = request.mix[0] * out.content.values[i] + out.root * distance.values[i];
  out.scaled = values_of(trace, "biased", n);
  out.weights = values_of(trace, "p", n);
  return out;
}

// Calls visit(query, key, value) for every pair that is seen.
template <class Visit>
void for_seen(const ScoresRequest& request, const Numbers& matrix, Visit visit) {
  for (std::int64_t i = 0; i < request.n; ++i)
    for (std::int64_t j = 0; j < request.n; ++j)
      if (request.sees(i, j)) visit(i, j, matrix.values[static_cast<std::size_t>(i * request.n + j)]);
}

class Spread {
 public:
  void add(double value) {
    ++count_;
    const double step = value - mean_;
    mean_ += step / count_;
    squares_ += step * (value - mean_);
  }
  // Null where there is nothing to measure.
  Json deviation() const { return count_ > 1 ? Json(std::sqrt(squares_ / count_)) : Json(nullptr); }

 private:
  double count_ = 0, mean_ = 0, squares_ = 0;
};

// The noise: pairs whose key is not what the query looks for. Their q and k are independent, so q·k has variance d_k.
Json deviations(const ScoresRequest& request, const Drawn& drawn) {
  Spread all, scaled, noise;
  for_seen(request, drawn.scores, [&](auto, auto, double value) { all.add(value); });
  for_seen(request, drawn.scaled, [&](auto, auto, double value) { scaled.add(value); });
  for_seen(request, drawn.content, [&](std::int64_t i, std::int64_t j, double value) {
    if (request.targets[static_cast<std::size_t>(i)] != j) noise.add(value);
  });
  const bool has_content = request.mix[0] != 0;
  return {{"expected", drawn.root},
          {"all", all.deviation()},
          {"noise", has_content ? noise.deviation() : Json(nullptr)},
          {"scaled", scaled.deviation()}};
}

Json histogram(const ScoresRequest& request, const Numbers& scores) {
  double most = 0;
  for_seen(request, scores, [&](auto, auto, double value) { most = std::max(most, std::abs(value)); });
  if (most == 0) most = 1;
  std::vector<std::int64_t> counts(kBins, 0);
  for_seen(request, scores, [&](auto, auto, double value) {
    const auto bin = static_cast<std::int64_t>((value / most + 1) / 2 * static_cast<double>(kBins));
    ++counts[static_cast<std::size_t>(std::clamp<std::int64_t>(bin, 0, kBins - 1))];
  });
  std::vector<double> edges;
  for (std::int64_t edge = 0; edge <= kBins; ++edge)
    edges.push_back(most * (2 * static_cast<double>(edge) / static_cast<double>(kBins) - 1));
  return {{"edges", edges}, {"counts", counts}};
}

// Of every row of weights: the largest, the entropy −Σ p ln p, and the gradient that the softmax lets through.
struct RowMeasures {
  std::vector<double> largest, entropy, gradient;
};

RowMeasures measure_rows(const ScoresRequest& request, const Numbers& weights) {
  const auto n = static_cast<std::size_t>(request.n);
  RowMeasures out{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n)};
  for_seen(request, weights, [&](std::int64_t i, auto, double p) {
    const auto row = static_cast<std::size_t>(i);
    out.largest[row] = std::max(out.largest[row], p);
    if (p > 0) out.entropy[row] -= p * std::log(p);
    out.gradient[row] += p * (1 - p);
  });
  return out;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::string stage(const char* name, const char* symbol, const Json& from, const Numbers& numbers) {
  return with_values(
      {{"name", name}, {"symbol", symbol}, {"dims", {"n", "n"}}, {"shape", shape_of(numbers.shape)}, {"from", from}},
      numbers.view());
}

std::string write_document(const ScoresRequest& request, const Drawn& drawn) {
  const RowMeasures rows = measure_rows(request, drawn.weights);
  Lines lines;
  lines.add("qkv", Json(QKV_VERSION));
  lines.add("version", Json(kDocumentVersion));
  lines.add("kind", Json("scores"));
  lines.add("problem", Json("scores n" + std::to_string(request.n) + " d_k" + std::to_string(request.d_k) + " seed " +
                            std::to_string(request.seed) + " " + request.function));
  lines.add("dims", Json{{"n", request.n}, {"d_k", request.d_k}});
  lines.add("options", Json{{"seed", request.seed},
                            {"function", request.function},
                            {"mix", request.mix},
                            {"divide", request.divide},
                            {"causal", request.causal},
                            {"rho", pattern_share(request.d_k)}});
  lines.add("targets", Json(request.targets));
  lines.add_list("inputs", {});
  lines.add_list("stages", {stage("s", "S", Json::array(), drawn.scores), stage("scaled", "Z", {"s"}, drawn.scaled),
                            stage("p", "A", {"scaled"}, drawn.weights)});
  lines.add("deviation", deviations(request, drawn));
  lines.add("histogram", histogram(request, drawn.scores));
  lines.add("rows", Json{{"largest", rows.largest}, {"entropy", rows.entropy}, {"gradient", rows.gradient}});
  lines.add("means", Json{{"largest", mean_of(rows.largest)},
                          {"entropy", mean_of(rows.entropy)},
                          {"gradient", mean_of(rows.gradient)}});
  return lines.finish();
}

}  // namespace

Result<std::string> explain_scores(const Json& json) {
  QKV_ASSIGN_OR_RETURN(const ScoresRequest request, read_request(json));
  QKV_ASSIGN_OR_RETURN(const Drawn drawn, draw(request));
  return write_document(request, drawn);
}

}  // namespace qkv
