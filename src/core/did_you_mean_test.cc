// Near misses.
#include "src/core/did_you_mean.h"

#include <gtest/gtest.h>

namespace qkv {
namespace {

TEST(DidYouMean, finds_a_word_with_one_letter_changed_added_dropped_or_swapped) {
  const std::vector<std::string> known = {"river", "bank", "causal"};
  for (const char* word : {"rivar", "rivers", "rver", "rievr", "RIVER"})
    EXPECT_EQ(nearest(word, known), "river") << word;
  EXPECT_EQ(nearest("casual", known), "causal");
}

TEST(DidYouMean, says_nothing_where_no_word_is_near) {
  EXPECT_EQ(did_you_mean("mountain", {"river", "bank"}), "");
  EXPECT_EQ(did_you_mean("q", {"k", "v"}), "");  // every letter would be another
  EXPECT_EQ(did_you_mean(std::string(100000, 'a'), {"a"}), "");
}

TEST(DidYouMean, quotes_text_so_that_it_is_short_and_cannot_steer_a_terminal) {
  EXPECT_EQ(quote("a\x1b[31m"), "\"a?[31m\"");
  EXPECT_EQ(quote(std::string(50, 'x')), "\"" + std::string(40, 'x') + "…\"");
  EXPECT_EQ(quote(std::string(39, 'x') + "éé"), "\"" + std::string(39, 'x') + "…\"");  // no half of a character
}

}  // namespace
}  // namespace qkv
