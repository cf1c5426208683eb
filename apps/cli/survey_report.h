// A survey as a table, a page about one head, JSON, CSV.
#ifndef QKV_APPS_CLI_SURVEY_REPORT_H_
#define QKV_APPS_CLI_SURVEY_REPORT_H_

#include <string>
#include <vector>

#include "apps/cli/console.h"
#include "apps/cli/survey_rows.h"
#include "apps/cli/survey_select.h"

namespace qkv::cli {

// The columns that are asked for, or those that most people want; unknown ones are left out of the latter.
Result<std::vector<const SurveyColumn*>> chosen_columns(const SurveyOptions& options, const Surveyed& surveyed);

// As many of the columns as fit, and what the head looks like in the rest of the line.
void print_table(const std::vector<SurveyRow>& rows, const std::vector<const SurveyColumn*>& columns, bool all_columns,
                 Console& console);

// Every statistic of one head with its meaning, and how its weight is spread over distances.
void print_head(const SurveyRow& row, Console& console);

// The document that docs/survey.md describes. Unknown numbers are null.
std::string survey_json(const Surveyed& surveyed, const std::string& path);

// A line a head, all columns, after a line with their names. Unknown numbers are empty.
std::string survey_csv(const Surveyed& surveyed);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_SURVEY_REPORT_H_
