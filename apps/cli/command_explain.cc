// `qkv explain`: every number between the input and the output of a small problem.
#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/command.h"
#include "apps/cli/explain_document.h"
#include "apps/cli/explain_page.h"
#include "apps/cli/explain_request.h"
#include "qkv/explain.h"
#include "src/core/status_macros.h"

namespace qkv::cli {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  qkv explain bank                             three tokens, by hand\n"
    "  qkv explain bank --set 'v[river]=0,1'        change a value and see what moves\n"
    "  qkv explain running --head 0                 a whole layer, one head\n"
    "  qkv explain running --row the --causal       another row, with the causal mask\n"
    "  qkv explain backward --backward              gradients beside central differences\n"
    "  qkv explain examples/minilm.safetensors --batch 0 --head 4 --row bank\n"
    "  qkv explain bank --json                      the same as a document, at full precision\n"
    "\n"
    "A file holds q, k, v of rank 2 [T,D], 3 [H,T,D] or 4 [B,H,T,D], or x and its weights, and may hold tokens.\n"
    "Its keep, bias, key_mask, slopes, sinks, key_lengths, cu_seqlens_q and cu_seqlens_k are used, as in qkv run.\n"
    "Indices count from 0. docs/explain.md describes requests (.json) and documents (--json).";

constexpr int kDigitsOfBank = 2;  // small whole numbers: two decimals say it all
constexpr int kDigits = 3;
constexpr int kMostDigits = 17;  // a float64 has no more

// What an option takes, for the message about one that is empty.
constexpr std::pair<std::string_view, std::string_view> kExpected[] = {{"row", "an index or a token"},
                                                                       {"head", "an index"},
                                                                       {"batch", "an index"},
                                                                       {"causal", "a corner"},
                                                                       {"corner", "a corner"},
                                                                       {"window", "LEFT,RIGHT"},
                                                                       {"set", "an edit, 'v[river]=0,1'"},
                                                                       {"lang", "en or pt"}};

// CLI11 takes an empty value for no value, and the option would be gone without a word.
Status check_not_empty(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options([](const CLI::Option* each) { return !each->get_positional(); }))
    for (const std::string& value : option->results()) {
      if (!value.empty()) continue;
      const std::string name = option->get_single_name();
      std::string_view expected = "a number";
      for (const auto& [known, text] : kExpected)
        if (known == name) expected = text;
      return invalid_argument("--" + name + " is empty; expected " + std::string(expected));
    }
  return {};
}

// The options that say what is looked at and how it is computed, as given: the page's hints keep them.
std::vector<GivenOption> given(const CLI::App& app) {
  std::vector<GivenOption> found;
  for (const char* name : {"--batch", "--head", "--row", "--causal", "--corner", "--window", "--no-scale", "--scale",
                           "--softcap", "--set", "--backward", "--step"}) {
    const CLI::Option* option = app.get_option(name);
    const bool is_flag = option->get_items_expected_max() == 0 && std::string_view(name) != "--causal";
    if (option->count() == 0) continue;
    for (const std::string& value : option->results()) found.push_back({name, is_flag || value == "true" ? "" : value});
  }
  return found;
}

class ExplainCommand : public Command {
 public:
  CLI::App* add(CLI::App& tool) override {
    CLI::App* app = app_ = tool.add_subcommand("explain", "Show every number between the input and the output");
    app->add_option("what", options_.what, "bank, running, backward, or a .json, .npz or .safetensors file")
        ->required()
        ->type_name("WHAT");
    app->add_option("--row", options_.row, "the query to look at: an index, or a token that occurs once")
        ->type_name("ROW");
    app->add_option("--head", options_.head, "the head to look at")->type_name("N");
    app->add_option("--batch", options_.batch, "the batch entry to look at")->type_name("N");
    app->add_flag("--causal", options_.causal,
                  "a query sees no later key; =top_left, =bottom_right or =N (query 0's position) where lengths differ")
        ->type_name("[=CORNER]");
    app->add_option("--window", options_.window, "a query sees keys at most L before and R after it; -1 = open")
        ->type_name("L,R");
    app->add_option("--corner", options_.corner, "the corner of a window or slopes without --causal")
        ->type_name("CORNER");
    app->add_flag("--no-scale", options_.no_scale, "do not divide the scores by sqrt(D)");
    app->add_option("--scale", options_.scale, "multiply the scores by this instead")->type_name("NUMBER");
    app->add_option("--softcap", options_.softcap, "bend the scores: cap * tanh(s / cap)")->type_name("NUMBER");
    app->add_option("--set", options_.edits, "change a row, 'v[river]=0,1', or an entry, 'q[1,0]=2'; may be repeated")
        ->type_name("EDIT")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app->add_flag("--backward", options_.backward, "the gradients too, beside central differences");
    app->add_option("--step", options_.step, "the step of the central differences, 1e-6 unless given")
        ->type_name("NUMBER");
    app->add_option("--digits", digits_, "decimals; 2 for bank, otherwise 3")->type_name("N");
    app->add_option("--lang", language_, "language of the page")->type_name("en|pt");
    app->add_flag("--json", options_.json, "print the document instead: every stage at full precision");
    app->footer(kFooter);
    return app;
  }

  Result<int> run(Console& console) override {
    QKV_RETURN_IF_ERROR(check_not_empty(*app_));
    QKV_RETURN_IF_ERROR(check_style());
    QKV_ASSIGN_OR_RETURN(const std::string request, explain_request(options_));
    QKV_ASSIGN_OR_RETURN(const std::string document, explain(request));
    if (options_.json) {
      console.out << document << '\n';
      return kDone;
    }
    const Language language = language_ == "pt" ? Language::kPortuguese : Language::kEnglish;
    QKV_ASSIGN_OR_RETURN(const ExplainDocument read, ExplainDocument::parse(document, language));
    PageStyle style;
    style.width = console.width;
    style.digits = digits_ >= 0 ? digits_ : options_.what == "bank" ? kDigitsOfBank : kDigits;
    style.paint.on = console.color;
    if (!is_example(options_.what)) style.file = options_.what;
    style.given = given(*app_);
    console.out << explain_page(read, style);
    return kDone;
  }

 private:
  Status check_style() const {
    if (language_ != "en" && language_ != "pt")
      return invalid_argument("--lang '" + language_ + "' is unknown; expected en or pt");
    if (app_->count("--digits") > 0 && (digits_ < 0 || digits_ > kMostDigits))
      return invalid_argument("--digits is " + std::to_string(digits_) + "; expected 0 to " +
                              std::to_string(kMostDigits));
    return {};
  }

  ExplainOptions options_;
  int digits_ = -1;  // -1: the default
  std::string language_ = "en";
  CLI::App* app_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_explain_command() { return std::make_unique<ExplainCommand>(); }

}  // namespace qkv::cli
