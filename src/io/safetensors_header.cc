// Parses the header as a stream of JSON events, so that duplicate keys are seen and nesting costs nothing.
#include "src/io/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>

#include "src/core/status_macros.h"
#include "src/io/stored_elements.h"
#include "src/io/text.h"

namespace qkv {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit
constexpr std::string_view kMetadataKey = "__metadata__";

std::string range_text(const SafetensorsHeader::Range& range) {
  std::string text = "[";
  return text.append(std::to_string(range.begin)).append(",").append(std::to_string(range.end)).append("]");
}

// Receives the parser's events. Every callback returns false to stop, after setting error_.
class HeaderEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderEvents(SafetensorsHeader& header) : header_(header) {}
  const std::string& error() const { return error_; }

  bool null() override { return scalar("null"); }
  bool boolean(bool) override { return scalar("a boolean"); }
  bool number_integer(number_integer_t value) override {
    return scalar("the negative number " + std::to_string(value));
  }
  bool number_float(number_float_t, const string_t& text) override { return scalar("the number " + quoted_name(text)); }
  bool binary(binary_t&) override { return scalar("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (where_ == Where::kOffsets) {
      if (offset_count_ < 2) (offset_count_ == 0 ? range_.begin : range_.end) = value;
      ++offset_count_;
      return true;
    }
    if (where_ != Where::kShape) return scalar("a number");
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return fail("shape of " + quoted_name(tensor_.name) + " overflows: " + std::to_string(value));
    tensor_.shape.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool string(string_t& value) override {
    if (where_ == Where::kMetadata) return add_metadata(std::move(value));
    if (where_ != Where::kTensor || field_ != Field::kDtype) return scalar("a string");
    tensor_.dtype = std::move(value);
    return true;
  }

  bool key(string_t& name) override {
    if (where_ == Where::kRoot) return begin_entry(std::move(name));
    if (where_ == Where::kMetadata) {
      metadata_key_ = std::move(name);
      return true;
    }
    return where_ == Where::kTensor ? begin_field(name) : true;
  }

  bool start_object(std::size_t) override {
    if (where_ == Where::kStart) return enter(Where::kRoot);
    if (where_ == Where::kRoot) return enter(in_metadata_ ? Where::kMetadata : Where::kTensor);
    return start_ignored("an object");
  }

  bool end_object() override {
    if (ignored_depth_ > 0) return end_ignored();
    if (where_ == Where::kTensor && !finish_tensor()) return false;
    return enter(where_ == Where::kRoot ? Where::kStart : Where::kRoot);
  }

  bool start_array(std::size_t) override {
    if (where_ == Where::kTensor && field_ == Field::kShape) return enter(Where::kShape);
    if (where_ == Where::kTensor && field_ == Field::kOffsets) return enter(Where::kOffsets);
    return start_ignored("a list");
  }

  bool end_array() override { return ignored_depth_ > 0 ? end_ignored() : enter(Where::kTensor); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    return fail("header is not JSON at byte " + std::to_string(position) + " of the header");
  }

 private:
  enum class Where : std::uint8_t { kStart, kRoot, kMetadata, kTensor, kShape, kOffsets, kIgnored };
  enum class Field : std::uint8_t { kDtype, kShape, kOffsets, kUnknown };

  bool enter(Where where) {
    where_ = where;
    return true;
  }

  bool fail(std::string text) {
    if (error_.empty()) error_ = std::move(text);
    return false;
  }

  // Unknown fields of a tensor are skipped with all that they hold, as the format's own reader does.
  bool may_ignore() const {
    return where_ == Where::kIgnored || (where_ == Where::kTensor && field_ == Field::kUnknown);
  }

  bool scalar(const std::string& found) { return may_ignore() || fail(expected() + ", found " + found); }

  bool start_ignored(const std::string& found) {
    if (!may_ignore()) return fail(expected() + ", found " + found);
    ++ignored_depth_;
    return enter(Where::kIgnored);
  }

  bool end_ignored() { return --ignored_depth_ > 0 || enter(Where::kTensor); }

  // What the header should hold at this point.
  std::string expected() const {
    const std::string tensor = quoted_name(tensor_.name);
    switch (where_) {
      case Where::kStart: return "header: expected a JSON object";
      case Where::kRoot: return (in_metadata_ ? "__metadata__" : tensor) + ": expected a JSON object";
      case Where::kMetadata: return "__metadata__: expected a string for " + quoted_name(metadata_key_);
      case Where::kShape: return "shape of " + tensor + ": expected non-negative integers";
      case Where::kOffsets: return "data_offsets of " + tensor + ": expected non-negative integers";
      default: break;
    }
    switch (field_) {
      case Field::kDtype: return "dtype of " + tensor + ": expected a string";
      case Field::kShape: return "shape of " + tensor + ": expected a list";
      default: return "data_offsets of " + tensor + ": expected a list";
    }
  }

  bool begin_entry(std::string name) {
    in_metadata_ = name == kMetadataKey;
    if (!in_metadata_) {
      tensor_ = {};
      tensor_.name = std::move(name);
      range_ = {};
      offset_count_ = 0;
      seen_fields_ = 0;
      return true;
    }
    if (seen_metadata_) return fail("header has the key '__metadata__' twice");
    seen_metadata_ = true;
    return true;
  }

  bool add_metadata(std::string value) {
    if (header_.metadata.emplace(metadata_key_, std::move(value)).second) return true;
    return fail("__metadata__ has the key " + quoted_name(metadata_key_) + " twice");
  }

  bool begin_field(const std::string& name) {
    field_ = name == "dtype"          ? Field::kDtype
             : name == "shape"        ? Field::kShape
             : name == "data_offsets" ? Field::kOffsets
                                      : Field::kUnknown;
    if (field_ == Field::kUnknown) return true;
    const unsigned bit = 1u << static_cast<unsigned>(field_);
    if ((seen_fields_ & bit) != 0)
      return fail("tensor " + quoted_name(tensor_.name) + " has the key '" + name + "' twice");
    seen_fields_ |= bit;
    return true;
  }

  bool finish_tensor() {
    const std::string tensor = quoted_name(tensor_.name);
    if (seen_fields_ != 7)
      return fail("tensor " + tensor + ": expected dtype, shape and data_offsets, found not all of them");
    if (offset_count_ != 2)
      return fail("data_offsets of " + tensor + ": expected two numbers, found " + std::to_string(offset_count_));
    if (range_.begin > range_.end) return fail("data_offsets of " + tensor + " are reversed: " + range_text(range_));
    if (!check_size(tensor)) return false;
    header_.tensors.push_back(std::move(tensor_));
    header_.ranges.push_back(range_);
    return true;
  }

  // dtype and shape say how many bytes there must be.
  bool check_size(const std::string& tensor) {
    tensor_.bytes = range_.end - range_.begin;
    const SafetensorsType* type = find_safetensors_type(tensor_.dtype);
    if (type == nullptr) return true;  // a type of the future: listed, its size unknown
    tensor_.element = type->element;
    const std::optional<std::uint64_t> bits = bytes_of_shape(tensor_.shape, type->bits);
    const std::string described = tensor_.dtype + " " + shape_to_string(tensor_.shape);
    if (!bits) return fail("tensor " + tensor + ": the size of " + described + " overflows");
    if (*bits % 8 != 0) return fail("tensor " + tensor + ": " + described + " does not end at a whole byte");
    if (*bits / 8 == tensor_.bytes) return true;
    return fail("tensor " + tensor + ": " + described + " takes " + std::to_string(*bits / 8) +
                " bytes, but its data_offsets span " + std::to_string(tensor_.bytes));
  }

  SafetensorsHeader& header_;
  std::string error_;
  Where where_ = Where::kStart;
  Field field_ = Field::kUnknown;
  bool in_metadata_ = false, seen_metadata_ = false;
  std::string metadata_key_;
  std::size_t ignored_depth_ = 0;
  StoredTensor tensor_;
  SafetensorsHeader::Range range_;
  std::size_t offset_count_ = 0;
  unsigned seen_fields_ = 0;  // bit 1 << Field
};

// Tensor numbers in the order in which `less` puts them.
template <class Less>
std::vector<std::size_t> sorted_indices(std::size_t count, Less less) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), less);
  return order;
}

Status check_unique_names(const std::vector<StoredTensor>& tensors) {
  const auto order =
      sorted_indices(tensors.size(), [&](std::size_t a, std::size_t b) { return tensors[a].name < tensors[b].name; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (tensors[order[i]].name == tensors[order[i - 1]].name)
      return corrupt_file("header has the key " + quoted_name(tensors[order[i]].name) + " twice");
  return {};
}

// The ranges must tile the data: an overlap shares bytes between tensors, a hole hides some.
Status check_ranges(const SafetensorsHeader& header, std::uint64_t data_bytes) {
  const auto& ranges = header.ranges;
  const auto name = [&](std::size_t index) { return quoted_name(header.tensors[index].name); };
  const auto order = sorted_indices(ranges.size(), [&](std::size_t a, std::size_t b) {
    return std::pair(ranges[a].begin, ranges[a].end) < std::pair(ranges[b].begin, ranges[b].end);
  });
  std::uint64_t covered = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& range = ranges[order[i]];
    if (range.end > data_bytes)
      return corrupt_file("data_offsets " + range_text(range) + " of " + name(order[i]) +
                          " are out of bounds: the file has " + std::to_string(data_bytes) + " bytes of data");
    if (range.begin < covered)
      return corrupt_file("tensors " + name(order[i - 1]) + " and " + name(order[i]) + " overlap: data_offsets " +
                          range_text(ranges[order[i - 1]]) + " and " + range_text(range));
    if (range.begin > covered)
      return corrupt_file("bytes " + std::to_string(covered) + " to " + std::to_string(range.begin) +
                          " of the data belong to no tensor (a hole before " + name(order[i]) + ")");
    covered = range.end;
  }
  if (covered == data_bytes) return {};
  return corrupt_file(std::to_string(data_bytes - covered) + " bytes follow the last tensor; expected none");
}

std::uint64_t read_length(std::span<const std::byte> file) {
  std::uint64_t length = 0;
  for (std::size_t k = kLengthBytes; k > 0; --k) length = length << 8 | std::to_integer<std::uint64_t>(file[k - 1]);
  return length;
}

}  // namespace

Result<SafetensorsHeader> parse_safetensors_json(std::string_view json, std::uint64_t data_bytes) {
  if (const auto at = first_invalid_utf8(json))
    return corrupt_file("header is not UTF-8 at byte " + std::to_string(*at));
  if (json.empty() || json.front() != '{') return corrupt_file("header: expected a JSON object, which starts with '{'");
  // The JSON parser takes NUL for the end of the text and would not look behind it.
  if (json.find('\0') != std::string_view::npos) return corrupt_file("header is not JSON: it holds a zero byte");
  SafetensorsHeader header;
  HeaderEvents events(header);
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &events)) return corrupt_file(events.error());
  QKV_RETURN_IF_ERROR(check_unique_names(header.tensors));
  QKV_RETURN_IF_ERROR(check_ranges(header, data_bytes));
  return header;
}

Result<SafetensorsHeader> parse_safetensors(std::span<const std::byte> file) {
  const std::string has = std::to_string(file.size());
  if (file.size() < kLengthBytes)
    return corrupt_file("the file has " + has + " bytes; a safetensors file has at least 8");
  const std::uint64_t length = read_length(file);
  if (length > kLongestHeader)
    return corrupt_file("header says " + std::to_string(length) + " bytes; safetensors allows 100000000 (100 MB)");
  if (length > file.size() - kLengthBytes)
    return corrupt_file("header says " + std::to_string(length) + " bytes, but the file has " + has);
  const auto data_offset = static_cast<std::size_t>(kLengthBytes + length);
  const auto* text = reinterpret_cast<const char*>(file.data() + kLengthBytes);
  QKV_ASSIGN_OR_RETURN(SafetensorsHeader header,
                       parse_safetensors_json({text, static_cast<std::size_t>(length)}, file.size() - data_offset));
  header.data_offset = data_offset;
  return header;
}

}  // namespace qkv
