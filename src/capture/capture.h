// A capture: the q, k, v of a real model in a file, as docs/capture.md describes it.
#ifndef QKV_SRC_CAPTURE_CAPTURE_H_
#define QKV_SRC_CAPTURE_CAPTURE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "qkv/attention.h"
#include "qkv/status.h"
#include "src/io/tensor_file.h"

namespace qkv {

// The key of the metadata that makes a safetensors file a capture.
inline constexpr const char* kCaptureKey = "qkv.capture";

// One call of attention, as the document says it; nothing of its tensors has been read.
struct CapturedCall {
  std::string name, path, way, mask;
  std::int64_t order = 0;
  std::optional<std::int64_t> layer;
  std::int64_t batch = 0, query_heads = 0, kv_heads = 0;  // the model's numbers of heads
  std::int64_t query_length = 0, key_length = 0, width = 0, value_width = 0;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> heads, stored_kv_heads;  // the heads that the tensors hold, in their order
  bool has_values = false, has_tokens = false, has_sinks = false, has_slopes = false;
  double scale = 1;
  std::optional<double> softcap;
  bool causal = false;
  std::optional<std::int64_t> offset;
  std::string corner;  // "top_left" "bottom_right", or nothing
  std::optional<Window> window;
  std::int64_t query_start = 0;
  std::vector<std::int64_t> rows;                // of o
  std::optional<double> largest_error, allowed;  // of the self-check when it was captured

  std::string problem() const;  // "B1 H12/4 T512 D64 causal", for people
};

struct CapturedTokens {
  std::string text;
  std::vector<std::int64_t> ids;
  std::vector<std::string> pieces;
};

// One query head of one call, ready for attention. Views live as long as the Capture.
struct CapturedHead {
  std::int64_t head = 0;
  AttentionInputs inputs;   // q [B,1,Tq,D], k [B,1,Tk,D], v [B,1,Tk,Dv] or absent
  View<const void> o;       // [B,1,R,Dv], of the call's `rows`; or absent
  View<const void> tokens;  // [B,Tk] i64; or absent
  AttentionOptions options;
  std::vector<double> sinks, slopes;  // what `options` points to; a move leaves them where they are
};

class Capture {
 public:
  // Whether a file says that it is one.
  static bool is_in(const TensorFile& file) { return file.metadata().contains(kCaptureKey); }

  // Errors: kCorruptFile where document and tensors do not fit each other or the page; the message names the field.
  static Result<Capture> open(TensorFile file);

  const std::string& path() const { return file_.path(); }
  const std::string& model() const { return model_; }
  const std::vector<CapturedCall>& calls() const { return calls_; }
  const std::vector<CapturedTokens>& tokens() const { return tokens_; }  // [B], or none

  // The head at place `index` of the call's `heads`. Errors: as TensorFile::view.
  Result<CapturedHead> head(const CapturedCall& call, std::size_t index);

 private:
  Capture(TensorFile file) : file_(std::move(file)) {}
  Status check_tensors(const CapturedCall& call) const;

  TensorFile file_;
  std::string model_;
  std::vector<CapturedCall> calls_;
  std::vector<CapturedTokens> tokens_;
  std::vector<std::int64_t> ids_;  // [B,Tk] of all tokens that have one length
};

// The document's text to calls and tokens. Errors: kCorruptFile, without the file's name.
struct CaptureDocument {
  std::string model;
  std::vector<CapturedCall> calls;
  std::vector<CapturedTokens> tokens;
};
Result<CaptureDocument> parse_capture_document(const std::string& text);

}  // namespace qkv

#endif  // QKV_SRC_CAPTURE_CAPTURE_H_
