// Widths, cutting and wrapping of text in many scripts.
#include "apps/cli/text.h"

#include <gtest/gtest.h>

namespace qkv::cli {
namespace {

TEST(Text, counts_the_columns_of_accents_east_asian_letters_and_emoji) {
  EXPECT_EQ(display_width("praça"), 5);
  EXPECT_EQ(display_width("␣the"), 4);
  EXPECT_EQ(display_width("e\u0301"), 1);  // e and a combining accent
  EXPECT_EQ(display_width("漢字"), 4);
  EXPECT_EQ(display_width("한글"), 4);
  EXPECT_EQ(display_width("ｶﾅ"), 2);  // halfwidth
  EXPECT_EQ(display_width("🙂"), 2);
  EXPECT_EQ(display_width("a\u200Bb"), 2);  // a zero-width space
  EXPECT_EQ(display_width("\x1b[1;33mred\x1b[0m"), 3);
  EXPECT_EQ(display_width("\xff\xc3"), 2);  // no UTF-8: one column a byte
}

TEST(Text, shows_control_characters_and_broken_bytes_as_signs) {
  EXPECT_EQ(printable("a\nb\tc"), "a⏎b→c");
  EXPECT_EQ(printable("\x1b[2Jx"), "·[2Jx");
  EXPECT_EQ(printable("x\xffy"), "x\xEF\xBF\xBDy");
  EXPECT_EQ(printable("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");  // an overlong slash
  EXPECT_EQ(printable("a\u202Eb"), "a·b");                       // would turn the line around
  EXPECT_EQ(printable("\u009b31m"), "·31m");                     // the one-character form of ESC [
  EXPECT_EQ(printable("praça 漢"), "praça 漢");
}

TEST(Text, pads_and_cuts_by_columns_not_by_bytes) {
  EXPECT_EQ(pad_left("ç", 3), "  ç");
  EXPECT_EQ(pad_right("漢", 4), "漢  ");
  EXPECT_EQ(pad_right("long", 2), "long");
  EXPECT_EQ(cut("internationalization", 8), "interna…");
  EXPECT_EQ(cut("漢字漢字", 5), "漢字…");
  EXPECT_EQ(cut("漢字漢字", 4), "漢…");
  EXPECT_EQ(cut("short", 8), "short");
}

TEST(Text, breaks_lines_at_spaces_and_leaves_long_words_whole) {
  EXPECT_EQ(wrapped("one two three", 9, 2), (std::vector<std::string>{"  one two", "  three"}));
  EXPECT_EQ(wrapped("aaaaaaaaaaaa b", 5, 0), (std::vector<std::string>{"aaaaaaaaaaaa", "b"}));
  EXPECT_EQ(wrapped("a 1\u00A02\u00A03", 4, 0), (std::vector<std::string>{"a", "1 2 3"}));  // a vector stays together
}

TEST(Text, fills_slots_in_any_order_and_leaves_what_is_no_slot) {
  EXPECT_EQ(filled("{1} and {0}, {0}", {"a", "b"}), "b and a, a");
  EXPECT_EQ(filled("{2} {x} {", {"a"}), "{2} {x} {");
}

TEST(ShellWord, is_quoted_only_where_a_shell_would_read_more_into_it) {
  EXPECT_EQ(shell_word("./libmine.so:my_attention"), "./libmine.so:my_attention");
  EXPECT_EQ(shell_word("my library.so:f"), "'my library.so:f'");
  EXPECT_EQ(shell_word("it's; rm -rf $HOME"), "'it'\\''s; rm -rf $HOME'");
}

}  // namespace
}  // namespace qkv::cli
