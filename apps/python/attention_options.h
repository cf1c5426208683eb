// The options of attention, as Python gives them, as the AttentionOptions that the library reads.
#ifndef QKV_APPS_PYTHON_ATTENTION_OPTIONS_H_
#define QKV_APPS_PYTHON_ATTENTION_OPTIONS_H_

#include <cstdint>
#include <vector>

#include "apps/python/arguments.h"
#include "apps/python/arrays.h"
#include "qkv/options.h"
#include "qkv/problem.h"

namespace qkv::python {

// Options and the memory that their views and spans point into; so it stays where it is.
class ReadOptions {
 public:
  // What they depend on: whether q has an axis for the batch, and how many heads it has ("alibi" makes that many).
  struct Query {
    bool has_batch = true;
    std::int64_t heads = 0;
  };
  // Raises TypeError and ValueError that name the option.
  ReadOptions(const Options& given, const Query& query);
  ReadOptions(const ReadOptions&) = delete;
  ReadOptions& operator=(const ReadOptions&) = delete;

  const AttentionOptions& get() const { return options_; }

 private:
  void read_positions(const Options& given);
  void read_masks(const Options& given, bool has_batch);
  void read_lists(const Options& given, std::int64_t heads);

  Input keep_, bias_, key_mask_;
  std::vector<std::int64_t> key_lengths_, cu_seqlens_q_, cu_seqlens_k_;
  std::vector<double> slopes_, sinks_;
  AttentionOptions options_;
};

// "bhtd" or "bthd". Raises ValueError.
Layout read_layout(const Options& given);

// A tensor of Python's as [B,H,T,D], and the heads of one (0 where the rank is none of q's).
ReadOptions::Query query_of(View<const void> given, Layout layout);

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_ATTENTION_OPTIONS_H_
