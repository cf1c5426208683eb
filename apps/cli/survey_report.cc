// Numbers first, words in what is left of the line.
#include "apps/cli/survey_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/cli/text.h"
#include "qkv/version.h"
#include "src/core/shortest.h"
#include "src/core/status_macros.h"

namespace qkv::cli {
namespace {

constexpr int kGap = 2;
constexpr int kWords = 34;         // columns below which a description says less than the pattern's name
constexpr int kRoomForWords = 56;  // columns that numbers leave to it on a wide terminal
constexpr int kWide = 106;
constexpr int kPatternName = 10;  // as wide as its heading

bool is_index(const std::string& name) {
  return name == "layer" || name == "batch" || name == "head" || name == "rows";
}

std::string number_text(const std::string& column, double value) {
  if (std::isnan(value)) return "-";
  char text[32];
  const bool is_whole = is_index(column) || (column == "distance" && value >= 10);
  const char* format = is_whole ? "%.0f" : column == "error" ? "%.1e" : "%.2f";
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// "relative_entropy" over two lines.
std::pair<std::string, std::string> heading_of(const std::string& name) {
  const std::size_t cut = name.find('_');
  if (cut == std::string::npos) return {"", name};
  return {name.substr(0, cut), name.substr(cut + 1)};
}

int width_of(const SurveyColumn& column, const std::vector<SurveyRow>& rows) {
  const auto [first, second] = heading_of(column.name);
  int width = std::max(display_width(first), display_width(second));
  for (const SurveyRow& row : rows) width = std::max(width, display_width(number_text(column.name, column.value(row))));
  return width;
}

void print_headings(const std::vector<const SurveyColumn*>& columns, const std::vector<int>& widths,
                    std::ostream& out) {
  for (const bool second : {false, true}) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto [upper, lower] = heading_of(columns[i]->name);
      line += (i > 0 ? repeated(" ", kGap) : "") + pad_left(second ? lower : upper, widths[i]);
    }
    line += second ? "  looks like" : "";
    out << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
  }
}

// Whether a layer was called several times, so that its number does not say which row is meant.
bool need_calls(const std::vector<SurveyRow>& rows) {
  for (std::size_t i = 1; i < rows.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (rows[i].layer == rows[j].layer && rows[i].statistics.head == rows[j].statistics.head &&
          rows[i].call != rows[j].call)
        return true;
  return false;
}

using Json = nlohmann::ordered_json;

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

// The last bin that holds anything; the rest is not worth a line.
int last_bin(const HeadStatistics& head) {
  int last = -1;
  for (int bin = 0; bin < kDistanceBins; ++bin)
    if (head.distances[static_cast<std::size_t>(bin)] > 0) last = bin;
  return last;
}

Json json_of(const SurveyRow& row) {
  Json out;
  if (!row.call.empty()) out["call"] = row.call, out["path"] = row.path;
  out["layer"] = row.layer ? Json(*row.layer) : Json(nullptr);
  out["batch"] = row.statistics.batch >= 0 ? Json(row.statistics.batch) : Json(nullptr);
  out["head"] = row.statistics.head;
  out["problem"] = row.problem;
  out["rows"] = row.statistics.rows;
  out["rows_not_finite"] = row.statistics.not_finite;
  out["pattern"] = to_string(pattern_of(row.statistics));
  out["description"] = description_of(row.statistics);
  for (const StatisticInfo& info : statistics_of_heads())
    out["statistics"][std::string(info.name)] = number_or_null(row.statistics.*info.value);
  out["sink_key"] = row.statistics.sink_key >= 0 ? Json(row.statistics.sink_key) : Json(nullptr);
  Json distances = Json::array();
  for (int bin = 0; bin <= last_bin(row.statistics); ++bin)
    distances.push_back(row.statistics.distances[static_cast<std::size_t>(bin)]);
  out["distances"] = distances;
  out["error"] = row.error ? number_or_null(*row.error) : Json(nullptr);
  out["allowed"] = row.allowed && row.error ? number_or_null(*row.allowed) : Json(nullptr);
  return out;
}

}  // namespace

Result<std::vector<const SurveyColumn*>> chosen_columns(const SurveyOptions& options, const Surveyed& surveyed) {
  std::vector<const SurveyColumn*> out;
  for (const std::string& name : options.columns) {
    QKV_ASSIGN_OR_RETURN(const SurveyColumn* column, survey_column("--columns", name));
    out.push_back(column);
  }
  if (!out.empty()) return out;
  std::vector<std::string> names = {"layer", "batch", "head"};
  for (const std::string& name : asked_columns(options)) names.push_back(name);  // what decides is seen
  for (const char* name :
       {"relative_entropy", "first_key", "previous", "induction", "distance", "error", "self", "saturation"})
    if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
  for (const std::string& name : names) {
    QKV_ASSIGN_OR_RETURN(const SurveyColumn* column, survey_column("--columns", name));
    const bool is_known =
        std::ranges::any_of(surveyed.rows, [&](const SurveyRow& row) { return !std::isnan(column->value(row)); });
    if (is_known) out.push_back(column);
  }
  return out;
}

void print_table(const std::vector<SurveyRow>& rows, const std::vector<const SurveyColumn*>& columns, bool all_columns,
                 Console& console) {
  std::vector<const SurveyColumn*> shown;
  std::vector<int> widths;
  int used = 0;
  for (const SurveyColumn* column : columns) {
    const int width = width_of(*column, rows);
    const int with = used + width + (shown.empty() ? 0 : kGap);
    // What was not asked for by name gives way to words.
    const int words = kGap + (console.width >= kWide ? kRoomForWords : kPatternName);
    if (!all_columns && with + words > console.width) continue;
    shown.push_back(column);
    widths.push_back(width);
    used = with;
  }
  print_headings(shown, widths, console.out);
  const bool names_calls = need_calls(rows);
  const int left = console.width - used - kGap;
  for (const SurveyRow& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < shown.size(); ++i)
      line +=
          (i > 0 ? repeated(" ", kGap) : "") + pad_left(number_text(shown[i]->name, shown[i]->value(row)), widths[i]);
    const std::string call = names_calls ? row.call + " " : "";
    const std::string words =
        left >= kWords ? description_of(row.statistics) : std::string(to_string(pattern_of(row.statistics)));
    console.out << line << repeated(" ", kGap) << cut(call + words, std::max(left, kPatternName)) << '\n';
  }
}

void print_head(const SurveyRow& row, Console& console) {
  std::string title = row.layer ? "layer " + std::to_string(*row.layer) + ", " : "";
  if (row.statistics.batch >= 0) title += "batch entry " + std::to_string(row.statistics.batch) + ", ";
  title += "head " + std::to_string(row.statistics.head);
  if (!row.path.empty()) title += "  " + printable(row.path);
  console.out << title << '\n' << printable(row.problem) << "\n\n";
  const int width = std::min(console.width, kWidestText);
  for (const std::string& line : wrapped(description_of(row.statistics), width, 0)) console.out << line << '\n';
  console.out << '\n';
  constexpr int kName = 18, kNumber = 9, kMeaning = kName + kNumber + kGap;
  for (const SurveyColumn& column : survey_columns()) {
    if (column.name == "layer" || column.name == "batch" || column.name == "head") continue;
    const std::string start =
        pad_right(column.name, kName) + pad_left(number_text(column.name, column.value(row)), kNumber);
    std::vector<std::string> text = wrapped(column.meaning, width, kMeaning);
    text.front().replace(0, std::size_t{kMeaning}, start + repeated(" ", kGap));
    for (const std::string& line : text) console.out << line << '\n';
  }
  const int last = last_bin(row.statistics);
  if (last < 0) return;
  console.out << "\ndistance to the key        weight\n";
  const int room = std::clamp(console.width - kName - kNumber - kGap, 4, 40);
  for (int bin = 0; bin <= last; ++bin) {
    const std::int64_t from = bin == 0 ? 0 : std::int64_t{1} << (bin - 1),
                       to = bin == 0 ? 0 : (std::int64_t{1} << bin) - 1;
    const std::string range = from == to ? std::to_string(from) : std::to_string(from) + " to " + std::to_string(to);
    const double share = row.statistics.distances[static_cast<std::size_t>(bin)];
    console.out << pad_left(range, kName) << pad_left(number_text("share", share), kNumber) << repeated(" ", kGap)
                << repeated("█", static_cast<int>(std::lround(share * room))) << '\n';
  }
}

std::string survey_json(const Surveyed& surveyed, const std::string& path) {
  Json out = {{"qkv", QKV_VERSION}, {"file", path}};
  out["model"] = surveyed.model.empty() ? Json(nullptr) : Json(surveyed.model);
  out["remarks"] = surveyed.remarks;
  out["heads"] = Json::array();
  for (const SurveyRow& row : surveyed.rows) out["heads"].push_back(json_of(row));
  return out.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string survey_csv(const Surveyed& surveyed) {
  std::string text = "call";
  for (const SurveyColumn& column : survey_columns()) text += "," + column.name;
  text += ",pattern\n";
  for (const SurveyRow& row : surveyed.rows) {
    text += row.call;
    for (const SurveyColumn& column : survey_columns()) {
      const double value = column.value(row);
      text += ",";
      if (!std::isnan(value)) text += is_index(column.name) ? number_text(column.name, value) : shortest(value);
    }
    text += "," + std::string(to_string(pattern_of(row.statistics))) + "\n";
  }
  return text;
}

}  // namespace qkv::cli
