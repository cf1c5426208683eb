// What `qkv survey` computes: a row a head, of a capture or of plain tensors in files.
#ifndef QKV_APPS_CLI_SURVEY_ROWS_H_
#define QKV_APPS_CLI_SURVEY_ROWS_H_

#include <optional>
#include <string>
#include <vector>

#include "apps/cli/run_options.h"
#include "qkv/survey.h"
#include "src/capture/capture.h"

namespace qkv::cli {

struct SurveyOptions {
  RunOptions tensors;  // files, names and the options of attention
  std::string o = "o";
  std::vector<std::string> layers, heads, calls, where, columns;
  std::string sort;
  bool ascending = false, json = false, csv = false, apart = false;
  std::optional<std::int64_t> top;
};

// Which layers, heads and calls are wanted; nothing given: all.
struct SurveySelection {
  std::vector<std::int64_t> layers, heads;
  std::vector<std::string> calls;
  // Errors: kInvalidArgument for what is no list of numbers (0,3-5).
  static Result<SurveySelection> parse(const SurveyOptions& options);
  bool wants_layer(std::optional<std::int64_t> layer) const;
  bool wants_head(std::int64_t head) const;
  bool wants_call(const CapturedCall& call) const;
};

struct SurveyRow {
  std::string call, path;  // of a capture
  std::optional<std::int64_t> layer;
  std::string problem;
  HeadStatistics statistics;
  std::optional<double> error, allowed;  // max |o − o′|, and what is allowed
};

struct Surveyed {
  std::string model;                 // of a capture
  std::vector<SurveyRow> rows;       // in the order of the file
  std::vector<std::string> remarks;  // what should be known of the whole
};

// Heads of the file's calls, in their order. `progress` is called between blocks; false stops the work.
// Errors: of the file; kInvalidArgument where something that is selected is not there, with what there is; kCancelled.
Result<Surveyed> survey_capture(Capture& capture, const SurveySelection& selection, BatchEntries batches,
                                const Execution& execution);
Result<Surveyed> survey_tensors(const SurveyOptions& options, const SurveySelection& selection,
                                const Execution& execution);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_SURVEY_ROWS_H_
