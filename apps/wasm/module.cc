// What both modules export: memory for the caller, and explain. Strings are pointers and lengths in the module's
// memory.
#include "apps/wasm/module.h"

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "qkv/explain.h"

extern "C" void __wasm_call_ctors();  // NOLINT(bugprone-reserved-identifier): the linker's name

namespace qkv::wasm {

void start_once() {
  static bool started = false;
  if (started) return;
  started = true;
  __wasm_call_ctors();
}

Reply* reply(StatusCode code, const std::string& text) {
  void* memory = std::malloc(sizeof(Reply) + text.size());
  if (memory == nullptr) return nullptr;
  auto* block = static_cast<Reply*>(memory);
  *block = {static_cast<std::uint32_t>(code), static_cast<std::uint32_t>(text.size())};
  std::memcpy(block + 1, text.data(), text.size());
  return block;
}

Reply* reply(const Result<std::string>& result) {
  return result.is_ok() ? reply(StatusCode::kOk, *result) : reply(result.code(), result.status().message());
}

}  // namespace qkv::wasm

extern "C" {

// What a host of a WASI reactor calls first; here it may be left out.
[[clang::export_name("_initialize")]] void qkv_initialize() { qkv::wasm::start_once(); }

[[clang::export_name("qkv_alloc")]] void* qkv_alloc(std::size_t bytes) { return std::malloc(bytes); }

[[clang::export_name("qkv_free")]] void qkv_free(void* memory) { std::free(memory); }

// Answers a request of docs/explain.md.
[[clang::export_name("qkv_explain")]] qkv::wasm::Reply* qkv_explain(const char* request, std::size_t length) {
  qkv::wasm::start_once();
  return qkv::wasm::reply(qkv::explain(std::string_view(request, length)));
}

}  // extern "C"
