// Reads what C hands over: sized structs, tensors, arrays and enumerations, none of which can be trusted.
#ifndef QKV_SRC_C_READER_H_
#define QKV_SRC_C_READER_H_

#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "qkv/attention.h"
#include "qkv/c.h"
#include "qkv/decode.h"
#include "qkv/options.h"
#include "qkv/status.h"
#include "src/core/status_macros.h"

namespace qkv::c {

// Reads on after a mistake and keeps the first one, so that a call is read in one stretch and checked once.
class Reader {
 public:
  explicit Reader(const char* operation) : operation_(operation) {}
  const Status& status() const { return status_; }

  // A struct that may be older (shorter) or newer than this library: what it lacks is as in `initial`, and what it has
  // beyond must be 0. Null: `initial`.
  template <class T>
  T record(const char* name, const T* given, const T& initial) {
    T read = initial;
    if (given == nullptr) return read;
    const std::size_t size = given->struct_size;
    if (check_size(name, size, sizeof(T), reinterpret_cast<const unsigned char*>(given)))
      std::memcpy(&read, given, size < sizeof(T) ? size : sizeof(T));
    return read;
  }
  template <class T>
  T required(const char* name, const T* given, const T& initial) {
    if (given == nullptr) fail(std::string(name) + " is null");
    return record(name, given, initial);
  }

  View<void> tensor(const char* name, const qkv_tensor* given);           // null: absent
  View<void> required_tensor(const char* name, const qkv_tensor* given);  // null: a mistake
  std::span<const std::int64_t> numbers(const char* name, const std::int64_t* given, std::size_t count);
  std::span<const double> numbers(const char* name, const double* given, std::size_t count);
  Target target(qkv_target given);

  AttentionOptions options(const qkv_attention_options* given);
  // That a corner has something to act on. Decode needs no such check: it knows its corner, which may be said.
  void check_corner(const AttentionOptions& options);
  KeyValueCache cache(const qkv_cache* given);

  // The end of every call: reads how, computes call(how) unless something was wrong, and fills the report.
  template <class Call>
  Status run(const qkv_execution* execution, qkv_report* report, const Call& call) {
    const Execution how = this->execution(execution);
    check_report(report);
    QKV_RETURN_IF_ERROR(status_);
    QKV_ASSIGN_OR_RETURN(const Report done, call(how));
    write_report(done, report);
    return {};
  }

  void fail(const std::string& what);  // kInvalidArgument

 private:
  Execution execution(const qkv_execution* given);
  void check_report(const qkv_report* report);  // that one of its size can be filled; null is fine
  static void write_report(const Report& report, qkv_report* to);
  void check_count(const char* name, bool is_null, std::size_t count);
  bool check_size(const char* name, std::size_t size, std::size_t known, const unsigned char* bytes);

  const char* operation_;
  Status status_;
};

}  // namespace qkv::c

// One that callers hold by its address.
struct qkv_workspace {
  qkv::Workspace workspace;
};

#endif  // QKV_SRC_C_READER_H_
