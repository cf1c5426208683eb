// Which rows of a survey are shown, and in which order.
#ifndef QKV_APPS_CLI_SURVEY_SELECT_H_
#define QKV_APPS_CLI_SURVEY_SELECT_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/survey_rows.h"

namespace qkv::cli {

// A number that every row has: a statistic, or layer, batch, head, error. NaN where it is unknown.
struct SurveyColumn {
  std::string name;
  std::string meaning;
  std::function<double(const SurveyRow&)> value;
};

// All of them, in the order of the documents.
const std::vector<SurveyColumn>& survey_columns();

// Errors: kInvalidArgument with the names that there are. `flag` opens the message.
Result<const SurveyColumn*> survey_column(const std::string& flag, const std::string& name);

// The columns that --sort and --where name, each once, but for layer, batch and head.
std::vector<std::string> asked_columns(const SurveyOptions& options);

// Keeps the rows for which every condition of --where holds, sorts by --sort, cuts to --top.
// Conditions: NAME>NUMBER with > >= < <= =, or pattern=WORD. A row where the number is unknown fulfils none, and is
// sorted behind all others. Errors: kInvalidArgument for what is no condition.
Status select_rows(const SurveyOptions& options, std::vector<SurveyRow>& rows);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_SURVEY_SELECT_H_
