// The tensors that a Problem names: the same numbers for the same line on every machine.
#ifndef QKV_SRC_CHECK_GENERATE_H_
#define QKV_SRC_CHECK_GENERATE_H_

#include <vector>

#include "qkv/attention.h"
#include "qkv/layer.h"
#include "qkv/problem.h"
#include "src/check/layer_tensors.h"
#include "src/check/placed.h"

namespace qkv::check {

// What a problem's line leaves open; never changes a value, except `hidden_bias`.
struct GenerateOptions {
  Placement placement;     // of every tensor; its layout is overruled by the problem's
  double hidden_bias = 0;  // share of the bias that is −inf
};

// A problem and its tensors. A layer's q, k and v are what it computes: it has `layer` instead, and of the rest what
// its scores need. Views and spans that it hands out are valid while it lives, also after a move.
//
//   q k v bias d_o [of the problem's type], d_lse     N(0,1), rounded once
//   keep, key_mask   three quarters of the keys are seen; keep also hides whole rows and runs of 32 keys
//   slopes           2^(−8 (h+1) / Hq), as ALiBi has it       sinks     N(0,1)
// Values are drawn by logical index, so that layout and placement change none of them. Absent tensors have no view.
struct Case {
  Problem problem;
  Placed q, k, v, keep, key_mask, bias, d_o, d_lse;
  std::vector<double> slopes, sinks;
  LayerTensors layer;       // of a layer or a layernorm
  Placed stale_k, stale_v;  // of a decode: what lies in the slots of its cache that hold no token yet, as k and v

  LayerGiven layer_given() const;
  // Whether gradients are asked for, and their d_o or d_y is there.
  bool has_gradients() const { return d_o.view.is_present() || layer.d_y.view.is_present(); }

  AttentionInputs inputs() const;
  AttentionOptions options() const;
};

// Errors: kOutOfMemory, and kInvalidArgument for a shape that no tensor can have.
// Constraint: the problem is one that parse_problem() would accept.
Result<Case> generate(const Problem& problem, const GenerateOptions& options = {});

// What a problem costs beside others: its multiplications, about.
double work_of(const Problem& problem);

// The types of o (and do) and of lse (and dlse).
DType output_type(const Problem& problem);
DType lse_type(const Problem& problem);

// Memory for o and lse, all NaN, placed like the inputs. lse is absent unless the problem asks for it.
struct CaseOutputs {
  Placed o, lse;
  AttentionOutputs views() const { return {o.view, lse.view}; }
};
Result<CaseOutputs> make_outputs(const Problem& problem, const Placement& placement = {});

// Memory for every gradient that the problem has, all NaN, placed like the inputs: of the type of o, dbias of the
// bias's and dsinks of lse's.
struct CaseGradients {
  Placed dq, dk, dv, dbias, dsinks;
  AttentionBackwardOutputs views() const { return {dq.view, dk.view, dv.view, dbias.view, dsinks.view}; }
};
Result<CaseGradients> make_gradients(const Problem& problem, const Placement& placement = {});

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_GENERATE_H_
