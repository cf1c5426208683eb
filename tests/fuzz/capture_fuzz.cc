// A capture: a safetensors file whose metadata says what its tensors are. Its heads are read, and the small ones
// surveyed.
#include "qkv/survey.h"
#include "src/capture/capture.h"
#include "tests/fuzz/file_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using qkv::Capture;
  static_cast<void>(qkv::parse_capture_document({reinterpret_cast<const char*>(bytes), count}).is_ok());
  qkv::fuzz::with_file(bytes, count, [](qkv::TensorFile& file) {
    if (!Capture::is_in(file)) return;
    qkv::Result<Capture> capture = Capture::open(std::move(file));
    if (!capture.is_ok()) return;
    for (const qkv::CapturedCall& call : capture->calls())
      for (std::size_t index = 0; index < call.heads.size(); ++index) {
        const qkv::Result<qkv::CapturedHead> head = capture->head(call, index);
        if (!head.is_ok()) continue;
        constexpr std::int64_t kMostScores = 1 << 12;
        if (call.batch > 8 || call.query_length > 64 || call.key_length > kMostScores / 64) continue;
        const qkv::SurveyInputs inputs{head->inputs.q, head->inputs.k, head->tokens, call.query_start, {}};
        static_cast<void>(qkv::survey(inputs, head->options, {.threads = 1}).is_ok());
      }
  });
  return 0;
}
