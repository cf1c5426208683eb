// One call of attention at a time: its heads' statistics, and whether its o comes out again.
#include "apps/python/survey.h"

#include <nanobind/stl/string.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/python/arguments.h"
#include "apps/python/arrays.h"
#include "apps/python/attention_options.h"
#include "apps/python/execution.h"
#include "qkv/survey.h"
#include "src/core/four_axes.h"
#include "src/survey/self_check.h"

namespace qkv::python {
namespace {

// None where a number is unknown.
nb::object number_or_none(double value) { return std::isnan(value) ? nb::none() : nb::object(nb::float_(value)); }

nb::object index_or_none(std::int64_t value) { return value < 0 ? nb::none() : nb::object(nb::int_(value)); }

nb::dict dict_of(const HeadStatistics& head) {
  nb::dict out;
  out["batch"] = index_or_none(head.batch);
  out["head"] = head.head;
  out["pattern"] = std::string(to_string(pattern_of(head)));
  out["description"] = description_of(head);
  for (const StatisticInfo& info : statistics_of_heads())
    out[std::string(info.name).c_str()] = number_or_none(head.*info.value);
  out["sink_key"] = index_or_none(head.sink_key);
  out["rows"] = head.rows;
  out["rows_not_finite"] = head.not_finite;
  nb::list distances;
  for (const double share : head.distances) distances.append(number_or_none(share));
  out["distances"] = distances;
  return out;
}

double flops_of(const View<const void>& q, const View<const void>& k) {
  if (q.shape.rank() != kMaxRank || k.shape.rank() != kMaxRank) return 0;  // an error
  return 4.0 * static_cast<double>(element_count(q.shape)) * static_cast<double>(k.shape[2]);
}

}  // namespace

nb::list survey(nb::tuple inputs, nb::tuple options) {
  const Options given(options);
  const Input q("q", inputs[0]), k("k", inputs[1]), v = Input::optional("v", inputs[2]),
                                                    o = Input::optional("o", inputs[3]),
                                                    tokens = Input::optional("tokens", inputs[5]);
  const Layout layout = read_layout(given);
  const ReadOptions read(given, query_of(q.view, layout));
  SurveyInputs views{with_four_axes(q.view, layout), with_four_axes(k.view, layout), tokens.view, {}, {}};
  if (!inputs[6].is_none()) views.query_start = as_integer("query_start", inputs[6]);
  views.batches = as_flag("apart", inputs[7]) ? BatchEntries::kApart : BatchEntries::kTogether;
  views.is_cross = as_flag("is_cross", inputs[8]);
  const std::vector<std::int64_t> rows =
      inputs[4].is_none() ? std::vector<std::int64_t>() : as_integers("rows", inputs[4]);

  std::vector<HeadStatistics> found;
  std::vector<double> errors;
  raise_outcome(run(flops_of(views.q, views.k), read_execution(given), [&](const Execution& execution) -> Status {
    Result<std::vector<HeadStatistics>> heads = qkv::survey(views, read.get(), execution);
    if (!heads.is_ok()) return heads.status();
    found = std::move(heads).value();
    if (!o.view.is_present()) return {};
    Result<std::vector<double>> worst = worst_differences({views.q, views.k, with_four_axes(v.view, layout)},
                                                          with_four_axes(o.view, layout), rows, read.get(), execution);
    if (worst.is_ok()) errors = std::move(worst).value();
    return worst.status();
  }));
  nb::list out;
  for (std::size_t i = 0; i < found.size(); ++i) {
    nb::dict head = dict_of(found[i]);
    // Of batch entries together, the worst of all.
    double worst = errors.empty() ? HeadStatistics::kUnknown : 0;
    for (std::size_t at = i; at < errors.size(); at += found.size()) worst = std::fmax(worst, errors[at]);
    head["error"] = number_or_none(worst);
    out.append(head);
  }
  return out;
}

nb::list statistics() {
  nb::list out;
  for (const StatisticInfo& info : statistics_of_heads())
    out.append(nb::make_tuple(std::string(info.name), std::string(info.meaning)));
  return out;
}

}  // namespace qkv::python
