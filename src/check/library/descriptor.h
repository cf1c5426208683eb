// A file descriptor that closes itself.
#ifndef QKV_SRC_CHECK_LIBRARY_DESCRIPTOR_H_
#define QKV_SRC_CHECK_LIBRARY_DESCRIPTOR_H_

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace qkv::check {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  void close() { Descriptor(std::move(*this)); }

 private:
  int number_ = -1;
};

// The same file under a number that no child of ours uses for itself (0 to 4), closed when a program starts.
inline Descriptor moved_up(Descriptor descriptor) {
  constexpr int kFirst = 10;
  return Descriptor(::fcntl(descriptor.number(), F_DUPFD_CLOEXEC, kFirst));
}

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_LIBRARY_DESCRIPTOR_H_
