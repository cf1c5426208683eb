// Reads names and lists them.
#include "apps/cli/check_mistakes.h"

#include "apps/cli/block.h"
#include "apps/cli/text.h"
#include "src/core/did_you_mean.h"

namespace qkv::cli {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

}  // namespace

Result<std::vector<check::NamedMistake>> read_accepted(const std::vector<std::string>& names) {
  std::vector<std::string> policies;
  for (const check::NamedMistake& named : check::all_mistakes())
    if (named.is_policy) policies.emplace_back(named.name);
  std::vector<check::NamedMistake> accepted;
  for (const std::string& name : names) {
    const check::NamedMistake* named = check::find_mistake(name);
    if (named == nullptr) {
      const std::string nearest = did_you_mean(name, policies);
      return invalid_argument("--accept: there is no " + quote(name) +
                              (nearest.empty() ? "; expected some of: " + joined(policies) : nearest));
    }
    if (!named->is_policy)
      return invalid_argument("--accept: " + name +
                              " is a mistake wherever it is made; only answers that libraries differ in can be "
                              "accepted: " +
                              joined(policies));
    accepted.push_back(*named);
  }
  return accepted;
}

void list_mistakes(Console& console) {
  std::vector<std::vector<std::string>> cells;
  for (const check::NamedMistake& named : check::all_mistakes())
    cells.push_back({std::string(named.name), named.is_policy ? "accept" : "", std::string(named.sentence)});
  for (const std::string& line : table(cells, {false, false, false})) console.out << line << '\n';
}

}  // namespace qkv::cli
