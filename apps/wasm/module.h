// How a module answers: one block of memory that holds a status and a text.
#ifndef QKV_APPS_WASM_MODULE_H_
#define QKV_APPS_WASM_MODULE_H_

#include <cstdint>
#include <string>

#include "qkv/status.h"

namespace qkv::wasm {

// What an exported function returns; the caller reads it and gives it to qkv_free. Null where memory ran out.
struct Reply {
  std::uint32_t status;  // StatusCode; 0 is ok
  std::uint32_t length;  // bytes of UTF-8 that follow
};

// A reply of a status and its text: the answer, or the message.
Reply* reply(StatusCode code, const std::string& text);
Reply* reply(const Result<std::string>& result);

// Runs the constructors of the module's constants, once: a module without an entry point has nobody else to do it.
void start_once();

}  // namespace qkv::wasm

#endif  // QKV_APPS_WASM_MODULE_H_
