// Where each token of a sequence stands: for the weights of duplicates and of what followed them.
#ifndef QKV_SRC_SURVEY_TOKEN_PLACES_H_
#define QKV_SRC_SURVEY_TOKEN_PLACES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "qkv/tensor.h"

namespace qkv {

// A number for each text, the same for the same text: what tokens without ids are told apart by.
std::vector<std::int64_t> numbers_of(const std::vector<std::string>& texts);

class TokenPlaces {
 public:
  TokenPlaces() = default;
  // Of the ids of one batch entry. Shapes: tokens [B,Tk], i64 or i32. Cost: O(Tk log Tk) time, O(Tk) memory.
  TokenPlaces(const View<const void>& tokens, std::int64_t batch);

  // The keys, in order, that hold the token of key `key`; none where there is no such key.
  std::span<const std::int64_t> like(std::int64_t key) const;

 private:
  std::vector<std::int64_t> order_;         // keys by token, then by place
  std::vector<std::int64_t> first_, last_;  // of each key's run in `order_`
};

}  // namespace qkv

#endif  // QKV_SRC_SURVEY_TOKEN_PLACES_H_
