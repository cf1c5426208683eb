// Keys sorted by token.
#include "src/survey/token_places.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>

namespace qkv {

std::vector<std::int64_t> numbers_of(const std::vector<std::string>& texts) {
  std::map<std::string_view, std::int64_t> known;
  std::vector<std::int64_t> numbers;
  numbers.reserve(texts.size());
  for (const std::string& text : texts)
    numbers.push_back(known.try_emplace(text, static_cast<std::int64_t>(known.size())).first->second);
  return numbers;
}

TokenPlaces::TokenPlaces(const View<const void>& tokens, std::int64_t batch) {
  const std::int64_t keys = tokens.shape[1];
  std::vector<std::int64_t> ids;
  ids.reserve(static_cast<std::size_t>(keys));
  for (std::int64_t j = 0; j < keys; ++j) {
    const std::int64_t at = batch * tokens.strides[0] + j * tokens.strides[1];
    ids.push_back(tokens.dtype == DType::kI64 ? static_cast<const std::int64_t*>(tokens.data)[at]
                                              : static_cast<const std::int32_t*>(tokens.data)[at]);
  }
  order_.resize(ids.size());
  std::iota(order_.begin(), order_.end(), std::int64_t{0});
  const auto id = [&](std::int64_t key) { return ids[static_cast<std::size_t>(key)]; };
  std::ranges::sort(order_, [&](std::int64_t a, std::int64_t b) { return id(a) != id(b) ? id(a) < id(b) : a < b; });
  first_.resize(ids.size());
  last_.resize(ids.size());
  for (std::size_t begin = 0; begin < order_.size();) {
    std::size_t end = begin;
    while (end < order_.size() && id(order_[end]) == id(order_[begin])) ++end;
    for (std::size_t at = begin; at < end; ++at) {
      first_[static_cast<std::size_t>(order_[at])] = static_cast<std::int64_t>(begin);
      last_[static_cast<std::size_t>(order_[at])] = static_cast<std::int64_t>(end);
    }
    begin = end;
  }
}

std::span<const std::int64_t> TokenPlaces::like(std::int64_t key) const {
  if (key < 0 || key >= static_cast<std::int64_t>(first_.size())) return {};
  const auto at = static_cast<std::size_t>(key);
  return std::span(order_).subspan(static_cast<std::size_t>(first_[at]),
                                   static_cast<std::size_t>(last_[at] - first_[at]));
}

}  // namespace qkv
