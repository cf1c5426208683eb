// Reads the fields of a JSON object, each by its kind, with messages that give the path.
#ifndef QKV_SRC_EXPLAIN_FIELDS_H_
#define QKV_SRC_EXPLAIN_FIELDS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/status.h"
#include "src/explain/json_read.h"

namespace qkv {

// A field that is absent or null leaves `out` as it was.
class Fields {
 public:
  // Constraint: `object` is an object and outlives this.
  explicit Fields(const Json& object) : object_(object) {}

  bool has(std::string_view name) const;
  const Json& operator[](std::string_view name) const;  // null if absent

  Status read(std::string_view name, bool& out) const;
  Status read(std::string_view name, std::int64_t& out, std::int64_t least) const;
  Status read(std::string_view name, double& out) const;
  Status read(std::string_view name, std::string& out) const;
  Status read(std::string_view name, std::vector<std::int64_t>& out) const;
  Status read(std::string_view name, std::vector<double>& out) const;
  Status read(std::string_view name, std::vector<std::string>& out) const;

  // Errors: kInvalidArgument naming the first field that is not in `known`, and the nearest one that is.
  Status check_known(const std::vector<std::string>& known) const;

 private:
  const Json& object_;
};

// `explain: PATH is FOUND; expected EXPECTED`
Status wrong_kind(std::string_view path, const Json& found, std::string_view expected);

}  // namespace qkv

#endif  // QKV_SRC_EXPLAIN_FIELDS_H_
