// The lesson's voice in English.
#include "apps/cli/catalogue.h"

namespace qkv::cli {

const Catalogue& catalogue(Language language) { return language == Language::kPortuguese ? portuguese() : english(); }

const Catalogue& english() {
  static const Catalogue text = {
      .bank_intro =
          "A dictionary that answers softly. The query is compared with every key, the scores become weights, "
          "and what comes back is the weighted average of all the values.",
      .running_intro =
          "A whole layer, small enough to follow every number. The tokenizer cut the verb in two, ␣climb "
          "and ed; watch who finds it.",
      .backward_intro =
          "Three queries, three keys, numbers from a random generator: an honest case to check a gradient "
          "on.",
      .file_intro = "Attention of your own tensors, in float64.",
      .one_token = "1 token",
      .tokens = "{0} tokens",
      .one_query = "1 query",
      .queries = "{0} queries",
      .one_key = "1 key",
      .keys = "{0} keys",
      .heads = "{0} heads",
      .query_number = "query {0}",
      .key_number = "key {0}",
      .head_of_heads = "head {0} of 0…{1}",
      .batch_of_batches = "batch entry {0} of 0…{1}",
      .changed = "Changed: {0} is now {1}; it was {2}.",
      .only_values_changed = "Only a value changed, so no weight moves: who looks where is between queries and keys.",
      .query = "q: looks for",
      .key = "k: advertises",
      .value = "v: delivers",
      .step_norm = "Step 0 · LayerNorm",
      .norm_text = "From each row its mean is taken away, and what is left is divided by its spread σ.",
      .mean_is_zero = "Here the mean of every row is 0 already; only the division by σ is left to do.",
      .step_project = "Step 1 · Three projections",
      .project_text =
          "One input, three questions about it: what does a token look for (q), what does it advertise (k), "
          "what does it deliver (v)?",
      .picks_columns = "These weights do nothing but pick columns of U, so every number can be traced back:",
      .picks_of_head = "head {0}: q = u[{1}], k = u[{2}], v = u[{3}]",
      .merged_title = "The heads side by side",
      .merged_text =
          "Each head answered for itself; their answers stand beside one another, in the order of the heads.",
      .output_text = "One more projection mixes the heads.",
      .asks = "{0} asks, with q = {1}",
      .head_asks = "Head {0} · {1} asks, with q = {2}",
      .score = "① q·k",
      .weight = "③ softmax",
      .mix = "④ weight × value",
      .hidden = "hidden",
      .total = "sum",
      .one_line = "In one line:",
      .looks_at = "{0} looks at {1} most, with {2}",
      .looks_then = "; then at {0} with {1} (together {2})",
      .looks_alike = "{0} looks at all keys alike, with {1} each",
      .looks_equally = "{0} looks equally at {1}, with {2} each (together {3})",
      .and_word = "and",
      .itself = "itself",
      .answer = "The answer: {0}.",
      .sees_nothing = "{0} may see no key at all: no weights, and an answer of zeros, not NaN.",
      .not_finite = "The scores of {0} hold NaN or ∞, and it spreads over the row: no weight of it is a number.",
      .takes_the_rest =
          "The sink takes the rest, {0}: it stands in the softmax like one more key but delivers no value, so the "
          "weights sum to {1}.",
      .nobody = "nobody",
      .zero_query =
          "A query of zeros asks nothing. Every score is 0, every weight the same: the plain average comes "
          "back.",
      .not_divided = "The scores were not divided by √{0}.",
      .sharper =
          "The scores were not divided by √{0}, and the row is sharper for it. With more dimensions it would "
          "soon be all or nothing: that is what √d is for.",
      .only_the_largest = "The {0} largest of {1} weights, {2} of the whole.",
      .all_title = "All queries at once",
      .all_text = "Read A row by row: where one token looks. Every row sums to 1.",
      .who_title = "Who looks at whom",
      .matrices_left_out = "S and A have {0} × {1} entries here; --json prints every one of them.",
      .looked_ahead =
          "“{0}” comes first and yet looks at {1} with {2}, a word that is still to come. A model that writes "
          "must not do that: --causal forbids it, and the last row does not change.",
      .causal_text =
          "With the causal mask a token sees itself and what came before. The last row sees everything "
          "anyway: it is what it was without the mask.",
      .back_title = "The way back",
      .back_text =
          "L = Σ dO ⊙ O = {0}. Each matrix below says how L would change if one number moved a little; beside "
          "it, the same by really moving it, ±{1}.",
      .back_text_alone = "L = Σ dO ⊙ O = {0}. Each matrix below says how L would change if one number moved a little.",
      .back_ones = "No d_output was given, so it is all ones: L is the sum of the outputs.",
      .row_sums =
          "Every row of dS sums to 0 (the largest sum is {0}, which is rounding): adding the same to all scores "
          "of a row changes nothing.",
      .row_sums_exact = "Every row of dS sums to 0: adding the same to all scores of a row changes nothing.",
      .row_sums_sink =
          "The rows of dS need not sum to 0 here: what is missing went to the sink, whose score moves too (dsinks).",
      .not_shown_columns = "{0} not shown: {1} columns; --json has them",
      .not_shown_rows = "{0} not shown: {1} rows; --json has them",
      .differences = "central differences",
      .largest_error = "largest difference {0}",
      .too_costly = "Central differences would take too long here; try fewer tokens or heads.",
      .sum = "sum",
      .gradients = "Gradients of the inputs and weights",
      .saturated =
          "A row that has made up its mind passes nothing back: where a weight is near 0 the factor A kills the "
          "bracket, and where it is near 1 the bracket is its own mean.",
      .try_next = "Try next",
      .bank_hints = {{"bank --set 'v[river]=0,1'", "the river says money: no weight moves, the answer does"},
                     {"bank --set 'q[bank]=1,0'", "the same word asks something else"},
                     {"bank --set 'q[bank]=0,0'", "no question: the plain average"}},
      .running_hints = {{"running --causal", "forbid looking ahead"},
                        {"running --no-scale", "leave out the division by √d"},
                        {"running --head {2}", "the other head"},
                        {"running --row the", "another row, by its token or its index"}},
      .backward_hints = {{"backward --backward", "the gradients, beside central differences"}},
      .backward_done_hints = {{"backward --backward --scale 20", "sharpen the scores and watch dS fade to nothing"},
                              {"backward --backward --set 'q[0]=9,9,9,9'", "saturate one row only"}},
      .file_hints = {{"{0} --row {1}", "another row, by its token or its index"},
                     {"{0} --head {2}", "another head"},
                     {"{0} --json", "every number, at full precision"}},
  };
  return text;
}

}  // namespace qkv::cli
