// What is checked: anybody's attention, behind one call.
#ifndef QKV_SRC_CHECK_SUBJECT_H_
#define QKV_SRC_CHECK_SUBJECT_H_

#include <cstdint>
#include <string>

#include "qkv/status.h"
#include "src/check/generate.h"

namespace qkv::check {

// What it gave; an absent tensor was not given. o in the type of the problem, or another floating one.
struct SubjectOutputs {
  Tensor o, lse;
  Tensor dq, dk, dv, dbias, dsinks;
  Tensor cache_k, cache_v;  // of a decode: its cache, [B,Hkv,Tk,D] and [B,Hkv,Tk,Dv], after the step
  LayerOutputs layer;       // of a layer or a layernorm
};

enum class SubjectEnd : std::uint8_t {
  kAnswered,
  kRefused,       // it says that it cannot do this problem: no mistake
  kCrashed,       // a signal
  kHung,          // no answer in time
  kWroteOutside,  // memory beside its outputs, or its inputs, changed
  kReadOutside,   // memory beside its inputs was read (where that can be seen)
  kFailed,        // it reported an error that is no refusal
};

struct SubjectAnswer {
  SubjectEnd end = SubjectEnd::kAnswered;
  std::string message;  // of everything but kAnswered: one line for people
  SubjectOutputs outputs;
};

class Subject {
 public:
  virtual ~Subject() = default;
  virtual std::string name() const = 0;
  // Errors: only what has nothing to do with the subject (kOutOfMemory, kIo, kCancelled).
  virtual Result<SubjectAnswer> run(const Case& asked) = 0;
};

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_SUBJECT_H_
