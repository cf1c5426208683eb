// Everything of qkv in one include, and a throwing facade for those who want it.
#ifndef QKV_QKV_H_
#define QKV_QKV_H_

#include <stdexcept>
#include <utility>

#include "qkv/attention.h"
#include "qkv/decode.h"
#include "qkv/explain.h"
#include "qkv/layer.h"
#include "qkv/map.h"
#include "qkv/options.h"
#include "qkv/problem.h"
#include "qkv/reference.h"
#include "qkv/status.h"
#include "qkv/survey.h"
#include "qkv/target.h"
#include "qkv/tensor.h"
#include "qkv/version.h"
#include "qkv/workspace.h"

namespace qkv {

#if defined(__cpp_exceptions)
// The value, or std::runtime_error with the Status's message: `auto report = or_throw(attention_forward(...));`
template <class T>
T or_throw(Result<T> result) {
  if (!result.is_ok()) throw std::runtime_error(result.status().message());
  return std::move(result).value();
}
#endif

}  // namespace qkv

#endif  // QKV_QKV_H_
