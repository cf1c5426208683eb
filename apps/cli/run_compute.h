// The work of `qkv run`: forward by the kernel, backward by the float64 reference.
#ifndef QKV_APPS_CLI_RUN_COMPUTE_H_
#define QKV_APPS_CLI_RUN_COMPUTE_H_

#include <string>
#include <vector>

#include "apps/cli/console.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/run_inputs.h"
#include "src/io/tensor_file.h"

namespace qkv::cli {

struct Computed {
  Report report;
  double seconds = 0;           // of the forward pass
  double backward_seconds = 0;  // 0 without --backward
  std::vector<Tensor> memory;
  std::vector<NamedTensor> tensors;  // o first, as the file should hold them; views of `memory`
};

// Errors: those of attention_forward (kCancelled after Ctrl-C) and reference::attention_backward.
Result<Computed> compute(const RunCase& run, const RunOptions& options, Console& console, InterruptGuard& guard);

// "attention B6 H12 T15 D32: target avx512, 2 threads, 0.42 ms, 12.3 GF/s"
std::string summary(const Problem& problem, const Computed& computed);

// "1.24 s" "0.42 ms"
std::string time_text(double seconds);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_RUN_COMPUTE_H_
