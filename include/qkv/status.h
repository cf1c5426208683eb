// What went wrong, as a value: the library never throws, prints or aborts on input.
#ifndef QKV_STATUS_H_
#define QKV_STATUS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#pragma GCC visibility push(default)
namespace qkv {

enum class StatusCode : std::uint8_t {
  kOk,
  kInvalidArgument,  // a value outside its domain, an option that contradicts another, an unknown name
  kShapeMismatch,    // a tensor whose shape, type or memory does not fit the others
  kUnsupported,  // legal, but not on this machine or in this build (a SIMD target, a file's type, a document's size)
  kCorruptFile,  // a file that is not what its header says
  kIo,           // the operating system refused: not found, no permission, disk full
  kOutOfMemory,
  kCancelled,  // the caller's progress callback asked to stop
};

// The code's name in snake case: "shape_mismatch".
std::string_view to_string(StatusCode code);

// Either ok or a code with a message of one or two lines that says what was expected, what was found, what to do.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool is_ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status invalid_argument(std::string message) { return {StatusCode::kInvalidArgument, std::move(message)}; }
inline Status shape_mismatch(std::string message) { return {StatusCode::kShapeMismatch, std::move(message)}; }
inline Status unsupported(std::string message) { return {StatusCode::kUnsupported, std::move(message)}; }
inline Status corrupt_file(std::string message) { return {StatusCode::kCorruptFile, std::move(message)}; }
inline Status io_error(std::string message) { return {StatusCode::kIo, std::move(message)}; }
inline Status out_of_memory(std::string message) { return {StatusCode::kOutOfMemory, std::move(message)}; }
inline Status cancelled(std::string message) { return {StatusCode::kCancelled, std::move(message)}; }

// A value, or the Status that says why there is none.
// Constraints: read value() only after is_ok(); it is undefined otherwise, as for a null pointer.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Result(Status status) : content_(std::in_place_index<1>, std::move(status)) {}

  bool is_ok() const { return content_.index() == 0; }
  Status status() const { return is_ok() ? Status() : *std::get_if<1>(&content_); }
  StatusCode code() const { return is_ok() ? StatusCode::kOk : std::get_if<1>(&content_)->code(); }

  T& value() & { return *std::get_if<0>(&content_); }
  const T& value() const& { return *std::get_if<0>(&content_); }
  T&& value() && { return std::move(*std::get_if<0>(&content_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> content_;
};

}  // namespace qkv
#pragma GCC visibility pop

#endif  // QKV_STATUS_H_
