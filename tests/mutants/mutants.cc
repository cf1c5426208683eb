// The mutants by the names of docs/check.md.
#include "tests/mutants/mutants.h"

namespace mutants {
namespace {

constexpr double kLeastF32 = -3.4028234663852886e38;
constexpr double kLeastF16 = -65504;

// One for each size of a block or tile.
void add_sizes(std::vector<Mutant>& mutants, const std::string& name, Edit edit, const std::vector<int>& sizes) {
  for (const int size : sizes) mutants.push_back({name + std::to_string(size), edit, static_cast<double>(size)});
}

}  // namespace

std::vector<Mutant> all_mutants() {
  using enum Edit;
  std::vector<Mutant> mutants = {
      {"softmax_unnormalised", kNotDivided},
      {"scale_missing", kNoScale},
      {"scale_twice", kScaleTwice},
      {"scale_root", kScaleRoot},
      {"scale_ignored", kDefaultScaleAlways},
      {"scale_inverse_width", kInverseWidth},
      {"scale_model_width", kModelWidth},
      {"scale_after_softmax", kScaleAfterSoftmax},
      {"scale_times_bias", kScaleTimesBias},
      {"keys_reshaped", kKeysReshaped},
      {"keys_reversed", kKeysReversed},
      {"heads_split_wrong", kSplitWithoutTranspose},
      {"heads_merged_wrong", kMergeWithoutTranspose},
      {"strides_ignored", kStridesIgnored, 7},
      {"strides_of_q_ignored", kStridesIgnored, 1},
      {"strides_of_k_ignored", kStridesIgnored, 2},
      {"strides_of_v_ignored", kStridesIgnored, 4},
      {"strides_of_kv_ignored", kStridesIgnored, 6},
      {"head_map_tiled", kHeadModulo},
      {"head_group_summed", kGroupSummed},
      {"query_key_swapped", kPackedOrder, 102},
      {"key_value_swapped", kPackedOrder, 21},
      {"query_value_swapped", kPackedOrder, 210},
      {"packed_order_kvq", kPackedOrder, 120},
      {"packed_order_vqk", kPackedOrder, 201},
      {"next_batch", kNextBatch},
      {"first_batch", kFirstBatch},
      {"batch_as_sequence", kBatchSecond},
      {"softmax_over_queries", kSoftmaxOverQueries},
      {"softmax_over_heads", kSoftmaxOverHeads},
      {"no_maximum", kNoMaximum},
      {"output_scaled", kOutputTimes, 0.9},  // a dropout of 0.1 whose rest is not rescaled
      {"sums_in_f16", kAccumulateF16},
      {"mask_inverted", kMaskInverted},
      {"keep_inverted", kMaskInverted, 1},
      {"key_mask_inverted", kMaskInverted, 2},
      {"mask_added", kMaskAdded},
      {"mask_times_infinity", kMaskTimesInfinity},
      {"mask_ignored", kMaskIgnored},
      {"mask_transposed", kMaskTransposed},
      {"mask_batch_tiled", kMaskBatchTiled},
      {"mask_ignored_if_causal", kMaskIgnoredIfCausal},
      {"key_mask_ignored", kKeyMaskIgnored},
      {"key_mask_across_queries", kKeyMaskHidesQueries},
      {"lengths_ignored", kLengthsIgnored},
      {"pack_leaks", kPackLeaks},
      {"fill_added_1e4", kFillAdded, -1e4},
      {"fill_added_f16", kFillAdded, kLeastF16},
      {"fill_in_f16", kFillInF16},
      {"fill_1e4", kFillReplaced, -1e4},
      {"fill_f16", kFillReplaced, kLeastF16},
      {"fill_f32", kFillReplaced, kLeastF32},
      {"fill_f32", kFillAdded, kLeastF32},
      {"corner_top_left", kTopLeftAlways},
      {"corner_bottom_right", kBottomRightAlways},
      {"causal_strict", kStrictlyBelow},
      {"causal_ahead", kOneAhead},
      {"causal_ignored", kCausalIgnored},
      {"causal_ignored_with_mask", kCausalIgnoredWith, Beside::kMask},
      {"causal_ignored_with_bias", kCausalIgnoredWith, Beside::kBias},
      {"causal_ignored_with_window", kCausalIgnoredWith, Beside::kWindow},
      {"causal_ignored_with_softcap", kCausalIgnoredWith, Beside::kSoftcap},
      {"causal_ignored_with_sinks", kCausalIgnoredWith, Beside::kSinks},
      {"causal_ignored_with_lengths", kCausalIgnoredWith, Beside::kLengths},
      {"causal_ignored_with_groups", kCausalIgnoredWith, Beside::kGroups},
      {"causal_skips_first_row", kFirstRowFree},
      {"window_ignored", kWindowIgnored},
      {"window_ignored_alone", kWindowIgnoredAlone},
      {"window_left_plus_1", kLeftOff, 1},
      {"window_left_minus_1", kLeftOff, -1},
      {"window_right_plus_1", kRightOff, 1},
      {"window_right_minus_1", kRightOff, -1},
      {"window_left_open", kLeftOpen},
      {"window_right_open", kRightOpen},
      {"bias_ignored", kBiasIgnored},
      {"bias_heads_reversed", kBiasHeadsReversed},
      {"bias_of_first_head", kBiasFirstHead},
      {"bias_of_kv_head", kBiasKvHead},
      {"bias_transposed", kBiasTransposed},
      {"slopes_ignored", kSlopesIgnored},
      {"softcap_ignored", kSoftcapIgnored},
      {"softcap_after_mask", kSoftcapAfterMask},
      {"softcap_after_bias", kSoftcapAfterBias},
      {"softcap_before_scale", kSoftcapBeforeScale},
      {"softcap_formula", kSoftcapTimesInput},
      {"sink_ignored", kSinkIgnored},
      {"sink_without_exp", kSinkWithoutExp},
      {"lse_base_2", kLseBaseTwo},
      {"lse_unscaled", kLseUnscaled},
      {"lse_without_maximum", kLseWithoutMaximum},
      {"lse_without_sink", kLseWithoutSink},
      {"empty_row_nan", kEmptyNan},
      {"empty_row_mean", kEmptyMean},
      {"empty_lse_zero", kEmptyLseZero},
      {"empty_lse_infinite", kEmptyLseInfinite},
      {"gradient_group_not_summed", kGroupNotSummed},
      {"gradient_heads_tiled", kGradientHeadModulo},
      {"gradient_unmasked", kBackwardUnmaskedOwnSum},
      {"gradient_unmasked_lse", kBackwardUnmasked},
      {"gradient_without_row_term", kNoRowTerm},
      {"gradient_diagonal", kDiagonalOnly},
      {"gradient_dk_unscaled", kKeyGradientUnscaled},
      {"gradient_dq_unscaled", kQueryGradientUnscaled},
      {"gradient_softcap_ignored", kSoftcapSlopeForgotten},
      {"gradient_bias_not_summed", kBiasGradientNotSummed},
      {"gradient_sink_zero", kSinkGradientZero},
      {"gradient_lse_ignored", kLseGradientIgnored},
  };
  add_sizes(mutants, "scale_padded_width_", kPaddedScale, {4, 8, 16, 32, 64});
  add_sizes(mutants, "scale_per_block_", kScaleEachBlock, {2, 4, 8, 16, 32});
  add_sizes(mutants, "width_padded_", kWidthPadded, {4, 8, 16});
  add_sizes(mutants, "causal_per_block_", kCausalPerBlock, {2, 4, 8, 16, 32});
  add_sizes(mutants, "last_keys_dropped_", kLastKeysDropped, {2, 4, 8, 16, 32, 64});
  add_sizes(mutants, "last_queries_dropped_", kLastQueriesDropped, {2, 4, 8, 16, 32, 64});
  return mutants;
}

std::vector<Mutant> cache_mutants() {
  using enum Edit;
  return {{"cache_new_dropped", kAppendAfter},
          {"cache_new_over_last", kAppendOverLast},
          {"cache_slot_skipped", kAppendOneFurther},
          {"cache_new_reversed", kAppendReversed},
          {"cache_length_of_first", kLengthOfFirst}};
}

std::vector<Mutant> norm_mutants() {
  using enum Edit;
  return {{"norm_ignored", kNoNorm},
          {"norm_unbiased", kUnbiasedVariance},
          {"norm_eps_outside", kEpsOutside},
          {"norm_eps_missing", kEpsAlways, 0},
          {"norm_eps_always_1e5", kEpsAlways, 1e-5},
          {"norm_eps_always_1e6", kEpsAlways, 1e-6},
          {"norm_not_centred", kNotCentred},
          {"norm_one_pass", kOnePassVariance},
          {"norm_without_mean", kNoMean},
          {"norm_without_gamma", kNoGamma},
          {"norm_without_beta", kNoBeta},
          {"norm_gamma_adds_one", kOnePlusGamma},
          {"norm_over_tokens", kNormOverTokens},
          {"norm_gradient_mean_twice", kMeanTwice},
          {"norm_gradient_mean_missing", kNoMeanBack},
          {"norm_gradient_spread_missing", kSigmaConstant},
          {"norm_gradient_gamma_raw", kGammaFromInput}};
}

std::vector<Mutant> projection_mutants() {
  using enum Edit;
  return {{"packed_by_head", kPackedByHead},
          {"weights_transposed", kWeightsTransposed},
          {"output_weights_transposed", kOutputTransposed},
          {"biases_ignored", kNoBiases},
          {"output_bias_ignored", kNoOutputBias},
          {"output_bias_per_head", kOutputBiasPerHead},
          {"output_ignored", kNoOutput},
          {"residual_added", kResidual}};
}

}  // namespace mutants
