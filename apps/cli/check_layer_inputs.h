// A layer's or a layernorm's case and results, read from files.
#ifndef QKV_APPS_CLI_CHECK_LAYER_INPUTS_H_
#define QKV_APPS_CLI_CHECK_LAYER_INPUTS_H_

#include "apps/cli/check_inputs.h"
#include "apps/cli/run_inputs.h"

namespace qkv::cli {

// x [B,T,C] or [T,C], gamma beta wq wk wv bq bk bv wqkv bqkv wo bo, keep key_mask bias, dy from `inputs`; y and
// gradients (dx dgamma ... dbo) from `results`. `said` holds the operation, the heads and the options that no file can.
// Errors: those of the files; as check_layer(); kUnsupported for what belongs to attention alone.
Result<GivenCase> read_given_layer(InputFiles& inputs, InputFiles& results, const Problem& said);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_CHECK_LAYER_INPUTS_H_
