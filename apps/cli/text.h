// Text on a terminal: how wide it is, what may be shown, padding, cutting, wrapping.
#ifndef QKV_APPS_CLI_TEXT_H_
#define QKV_APPS_CLI_TEXT_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::cli {

// Columns that UTF-8 text takes: 2 for East Asian wide characters and emoji, 0 for combining marks and for colour
// sequences (ESC [ ... m).
int display_width(std::string_view text);

// Text from a file made fit for a terminal: control characters become visible signs (a newline ⏎), bytes that are no
// UTF-8 become �. Nothing that a file says can move the cursor or change colours.
std::string printable(std::string_view text);

std::string pad_left(std::string_view text, int width);   // right-aligned
std::string pad_right(std::string_view text, int width);  // left-aligned
std::string repeated(std::string_view text, int count);

// At most `width` columns, the last of them … where something was cut. Constraint: no colour sequences in it.
std::string cut(std::string_view text, int width);

// Lines of at most `width` columns, broken at spaces (not at U+00A0); a longer word gets a line of its own. Every line
// begins with `indent` spaces.
std::vector<std::string> wrapped(std::string_view text, int width, int indent);

// As a shell takes it for one word, whatever is in it: in quotes where it needs them.
std::string shell_word(const std::string& text);

// `text` with {0}, {1} ... replaced.
std::string filled(std::string_view text, std::initializer_list<std::string> values);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_TEXT_H_
