// The mistakes of one computation, asked one by one.
#ifndef QKV_SRC_CHECK_MISTAKE_SET_H_
#define QKV_SRC_CHECK_MISTAKE_SET_H_

#include <cstdint>
#include <span>

#include "src/check/mistake.h"

namespace qkv::check {

class MistakeSet {
 public:
  explicit MistakeSet(std::span<const Mistake> mistakes) : mistakes_(mistakes) {}

  bool has(MistakeId id) const { return find(id) != nullptr; }
  // Null if it is not made.
  const Mistake* find(MistakeId id) const {
    for (const Mistake& mistake : mistakes_)
      if (mistake.id == id) return &mistake;
    return nullptr;
  }
  // 0 if it is not made.
  std::int64_t parameter(MistakeId id) const {
    const Mistake* mistake = find(id);
    return mistake == nullptr ? 0 : static_cast<std::int64_t>(mistake->parameter);
  }

 private:
  std::span<const Mistake> mistakes_;
};

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_MISTAKE_SET_H_
