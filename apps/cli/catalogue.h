// What the pages of `qkv explain` say, in English and in Brazilian Portuguese. {0} {1} ... are filled in by text.h.
#ifndef QKV_APPS_CLI_CATALOGUE_H_
#define QKV_APPS_CLI_CATALOGUE_H_

#include <string_view>
#include <vector>

#include "apps/cli/explain_document.h"

namespace qkv::cli {

// A command to try next: what follows `qkv explain `, and why.
struct Hint {
  std::string_view arguments, why;
};

struct Catalogue {
  // The first lines of a page.
  std::string_view bank_intro, running_intro, backward_intro, file_intro;
  std::string_view one_token, tokens, one_query, queries, one_key, keys, heads, query_number, key_number, head_of_heads,
      batch_of_batches, changed, only_values_changed;
  // The vectors of every token.
  std::string_view query, key, value;
  // A layer's steps.
  std::string_view step_norm, norm_text, mean_is_zero, step_project, project_text, picks_columns, picks_of_head;
  std::string_view merged_title, merged_text, output_text;
  // The row that is looked at.
  std::string_view asks, head_asks, score, weight, mix, hidden, total, one_line, looks_at, looks_then, looks_alike,
      looks_equally, and_word, itself, answer;
  std::string_view sees_nothing, not_finite, takes_the_rest, nobody, zero_query, not_divided, sharper, only_the_largest;
  // All rows.
  std::string_view all_title, all_text, who_title, matrices_left_out, looked_ahead, causal_text;
  // The way back.
  std::string_view back_title, back_text, back_text_alone, back_ones, row_sums, row_sums_exact, row_sums_sink,
      not_shown_columns, not_shown_rows, differences, largest_error, too_costly, sum, gradients;
  std::string_view saturated;
  // The end.
  std::string_view try_next;
  std::vector<Hint> bank_hints, running_hints, backward_hints, backward_done_hints, file_hints;
};

const Catalogue& catalogue(Language language);

const Catalogue& english();
const Catalogue& portuguese();

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_CATALOGUE_H_
