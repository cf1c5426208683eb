// What a layer does around attention: LayerNorm, the three projections, the heads side by side.
#ifndef QKV_APPS_CLI_EXPLAIN_LAYER_H_
#define QKV_APPS_CLI_EXPLAIN_LAYER_H_

#include "apps/cli/page_writer.h"

namespace qkv::cli {

// Step 0, if the layer has a norm, and step 1. `heads`: those that the page shows.
void write_layer_steps(PageWriter& page, const std::vector<std::int64_t>& heads);

// The merged heads, and the output projection if there is one.
void write_merged_heads(PageWriter& page);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_EXPLAIN_LAYER_H_
