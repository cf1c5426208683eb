// The nearest of some known words, for messages about an unknown one.
#ifndef QKV_SRC_CORE_DID_YOU_MEAN_H_
#define QKV_SRC_CORE_DID_YOU_MEAN_H_

#include <string>
#include <string_view>
#include <vector>

namespace qkv {

// The known word with the fewest letters changed, added, dropped or swapped; "" if none is near (a third of its
// length).
std::string nearest(std::string_view word, const std::vector<std::string>& known);

// `; did you mean "river"?`, or "" if no word is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

// Text from outside as it may stand in a message: cut to 40 bytes at a character's edge, control characters as '?'.
std::string quote(std::string_view text);

}  // namespace qkv

#endif  // QKV_SRC_CORE_DID_YOU_MEAN_H_
