// Field by field, so that a file of another version is refused with the field's name.
#include "bench/record_json.h"

#include <nlohmann/json.hpp>

#include "qkv/version.h"
#include "src/core/status_macros.h"

namespace qkv::bench {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Record& record) {
  return {{"pass", std::string(to_string(record.pass))},
          {"problem", record.problem},
          {"threads", record.threads},
          {"threads_ran", record.threads_ran},
          {"target", std::string(to_string(record.target))},
          {"calls", record.calls},
          {"seconds", record.seconds},
          {"wall", record.wall},
          {"ceiling", record.ceiling},
          {"flops", record.flops},
          {"bytes", record.bytes},
          {"scratch_bytes", record.scratch_bytes},
          {"error", record.check.largest_error},
          {"rows_checked", record.check.rows},
          {"rows", record.check.of_rows},
          {"failure", record.check.failure},
          {"share", share(record)}};
}

// The fields of one row; the first that is missing or of another type is kept as the error.
class Row {
 public:
  explicit Row(const Json& row) : row_(row) {}

  template <class T>
  T get(const char* name, bool (Json::*is_right)() const) {
    const auto found = row_.is_object() ? row_.find(name) : row_.end();
    if (row_.is_object() && found != row_.end() && ((*found).*is_right)()) return found->template get<T>();
    if (status_.is_ok()) status_ = Status(StatusCode::kCorruptFile, std::string("a row's '") + name + "' is missing");
    return T{};
  }
  std::string text(const char* name) { return get<std::string>(name, &Json::is_string); }
  double number(const char* name) { return get<double>(name, &Json::is_number); }
  std::int64_t integer(const char* name) { return get<std::int64_t>(name, &Json::is_number_integer); }
  // 0 in files older than the field.
  std::int64_t integer_if_there(const char* name) {
    return row_.is_object() && row_.contains(name) ? integer(name) : 0;
  }
  std::vector<double> numbers(const char* name) {
    std::vector<double> found;
    for (const Json& number : get<Json>(name, &Json::is_array)) {
      if (!number.is_number()) {
        status_ = Status(StatusCode::kCorruptFile, std::string("a row's '") + name + "' holds something but numbers");
        return {};
      }
      found.push_back(number.get<double>());
    }
    return found;
  }
  const Status& status() const { return status_; }

 private:
  const Json& row_;
  Status status_;
};

Result<Record> record_of(const Json& json) {
  Row row(json);
  Record record;
  const std::string pass = row.text("pass");
  const std::string target = row.text("target");
  record.problem = row.text("problem");
  record.threads = static_cast<int>(row.integer("threads"));
  record.threads_ran = static_cast<int>(row.integer_if_there("threads_ran"));
  record.calls = row.integer("calls");
  record.seconds = row.numbers("seconds");
  record.wall = row.numbers("wall");
  record.ceiling = row.numbers("ceiling");
  record.flops = row.number("flops");
  record.bytes = row.number("bytes");
  record.scratch_bytes = row.integer("scratch_bytes");
  record.check = {row.number("error"), row.integer("rows_checked"), row.integer("rows"), row.text("failure")};
  QKV_RETURN_IF_ERROR(row.status());
  QKV_ASSIGN_OR_RETURN(record.pass, parse_pass(pass));
  QKV_ASSIGN_OR_RETURN(record.target, parse_target(target));
  return record;
}

}  // namespace

std::string to_json(const std::vector<Record>& records, std::string_view machine) {
  Json document = {{"kind", "bench"}, {"version", QKV_VERSION}, {"machine", std::string(machine)}};
  document["rows"] = Json::array();
  for (const Record& record : records) document["rows"].push_back(to_json(record));
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::vector<Record>> records_from_json(std::string_view text) {
  const Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) return Status(StatusCode::kCorruptFile, "it is no JSON");
  if (!document.is_object() || !document.contains("rows") || !document["rows"].is_array() ||
      !document.contains("kind") || document["kind"] != "bench")
    return Status(StatusCode::kCorruptFile, "it is not what `qkv bench --json` writes: kind 'bench' with rows");
  std::vector<Record> records;
  for (const Json& row : document["rows"]) {
    QKV_ASSIGN_OR_RETURN(Record record, record_of(row));
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace qkv::bench
