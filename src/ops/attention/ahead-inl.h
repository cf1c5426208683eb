// Asking for memory before it is needed, a little at a time.

#if defined(QKV_SRC_OPS_ATTENTION_AHEAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_ATTENTION_AHEAD_INL_H_
#undef QKV_SRC_OPS_ATTENTION_AHEAD_INL_H_
#else
#define QKV_SRC_OPS_ATTENTION_AHEAD_INL_H_
#endif

#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "qkv/tensor.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows of tensors that are wanted soon, asked for a few lines at a time: all at once they would hold up the loads of
// the moment, and left to themselves they come from far when everybody waits for them.
class Ahead {
 public:
  // `count` rows from `offset` on.
  void add(const View<const void>& view, std::int64_t offset, std::int64_t count) {
    if (streams_ == kStreams || view.strides[3] != 1 || count <= 0) return;
    const auto size = static_cast<std::int64_t>(size_of(view.dtype));
    Stream& stream = streams_of_[streams_++];
    stream.row = static_cast<const char*>(view.data) + offset * size;
    stream.step = view.strides[2] * size;
    stream.rows = count;
    stream.row_bytes = view.shape[3] * size;
    lines_ += count * ((stream.row_bytes + kLine - 1) / kLine);
  }

  std::int64_t lines() const { return lines_; }

  HWY_INLINE void fetch(std::int64_t lines) {
    for (; lines > 0 && lines_ > 0; --lines, --lines_) {
      Stream& stream = streams_of_[streams_ - 1];
      hwy::Prefetch(stream.row + at_);
      at_ += kLine;
      if (at_ < stream.row_bytes) continue;
      at_ = 0;
      stream.row += stream.step;
      if (--stream.rows == 0) --streams_;
    }
  }

 private:
  static constexpr std::int64_t kLine = 64;
  static constexpr int kStreams = 4;
  struct Stream {
    const char* row;
    std::int64_t step, rows, row_bytes;
  };
  Stream streams_of_[kStreams];
  int streams_ = 0;
  std::int64_t at_ = 0;     // bytes into the row of the last stream
  std::int64_t lines_ = 0;  // that are left
};

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
