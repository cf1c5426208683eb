// The table of mistakes.
#include "src/check/mistake.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace qkv::check {
namespace {

constexpr double kF32Least = -3.4028234663852886e38;
constexpr double kF16Least = -65504;

using enum MistakeId;
constexpr bool kPolicy = true;

constexpr auto kMistakes = std::to_array<NamedMistake>({
    {{kScaleMissing}, "scale_missing", "no scale"},
    {{kScaleTwice}, "scale_twice", "the scale applied twice"},
    {{kScaleIgnored}, "scale_ignored", "the scale 1/√D in place of the one that was given"},
    {{kScaleInverse}, "scale_inverse_width", "the scale 1/D in place of 1/√D"},
    {{kScaleModelWidth}, "scale_model_width", "the scale 1/√(Hq·D), of all heads together, in place of 1/√D"},
    {{kScalePaddedWidth, 4}, "scale_padded_width_4", "the scale of D rounded up to a multiple of 4"},
    {{kScalePaddedWidth, 8}, "scale_padded_width_8", "the scale of D rounded up to a multiple of 8"},
    {{kScalePaddedWidth, 16}, "scale_padded_width_16", "the scale of D rounded up to a multiple of 16"},
    {{kScalePaddedWidth, 32}, "scale_padded_width_32", "the scale of D rounded up to a multiple of 32"},
    {{kScalePaddedWidth, 64}, "scale_padded_width_64", "the scale of D rounded up to a multiple of 64"},
    {{kScaleAfterSoftmax}, "scale_after_softmax", "the scale applied to the weights, after the softmax"},
    {{kScaleTimesBias}, "scale_times_bias", "the bias scaled together with q·k"},
    {{kScalePerBlock, 2}, "scale_per_block_2", "the scale multiplied by log2 e once more in each block of 2 keys"},
    {{kScalePerBlock, 4}, "scale_per_block_4", "the scale multiplied by log2 e once more in each block of 4 keys"},
    {{kScalePerBlock, 8}, "scale_per_block_8", "the scale multiplied by log2 e once more in each block of 8 keys"},
    {{kScalePerBlock, 16}, "scale_per_block_16", "the scale multiplied by log2 e once more in each block of 16 keys"},
    {{kScalePerBlock, 32}, "scale_per_block_32", "the scale multiplied by log2 e once more in each block of 32 keys"},
    {{kKeysReshaped}, "keys_reshaped", "k reshaped to [D,Tk] instead of transposed"},
    {{kKeysReversed}, "keys_reversed", "all axes of k reversed instead of the last two exchanged"},
    {{kHeadsSplitWrong}, "heads_split_wrong", "the heads split without a transpose"},
    {{kHeadsMergedWrong}, "heads_merged_wrong", "the heads merged without a transpose"},
    {{kStridesIgnored, 7}, "strides_ignored", "the strides of q, k and v ignored"},
    {{kStridesIgnored, 1}, "strides_of_q_ignored", "the strides of q ignored"},
    {{kStridesIgnored, 2}, "strides_of_k_ignored", "the strides of k ignored"},
    {{kStridesIgnored, 4}, "strides_of_v_ignored", "the strides of v ignored"},
    {{kStridesIgnored, 6}, "strides_of_kv_ignored", "the strides of k and v ignored"},
    {{kIndexWraps}, "index_wraps", "indices of 32 bits, which wrap where tensors are larger than 2³¹ elements"},
    {{kWidthPadded, 4}, "width_padded_4", "D rounded up to a multiple of 4 and the rest not masked"},
    {{kWidthPadded, 8}, "width_padded_8", "D rounded up to a multiple of 8 and the rest not masked"},
    {{kWidthPadded, 16}, "width_padded_16", "D rounded up to a multiple of 16 and the rest not masked"},
    {{kHeadMapTiled}, "head_map_tiled", "query head h reading KV head h % Hkv instead of h / (Hq / Hkv)"},
    {{kHeadGroupSummed}, "head_group_summed", "the queries of a group summed before they meet their keys"},
    {{kPackedOrder, 102}, "query_key_swapped", "q and k exchanged"},
    {{kKeyValueSwapped}, "key_value_swapped", "k and v exchanged"},
    {{kPackedOrder, 210}, "query_value_swapped", "q and v exchanged"},
    {{kPackedOrder, 120}, "packed_order_kvq", "the packed projection read in the order k v q"},
    {{kPackedOrder, 201}, "packed_order_vqk", "the packed projection read in the order v q k"},
    {{kNextBatch}, "next_batch", "k and v of the next batch entry"},
    {{kFirstBatch}, "first_batch", "k and v of batch entry 0 for every entry"},
    {{kSoftmaxOverQueries}, "softmax_over_queries", "the softmax over the queries instead of the keys"},
    {{kSoftmaxOverHeads}, "softmax_over_heads", "the softmax over the heads instead of the keys"},
    {{kNoMaximum}, "no_maximum", "the maximum not subtracted: exp overflows for large scores"},
    {{kOutputScaled, 0.9}, "output_scaled", "o times a constant, as a dropout leaves it that is not rescaled"},
    {{kAccumulateF16}, "sums_in_f16", "sums that are accumulated in f16, by the size of the noise"},
    {{kMaskInverted}, "mask_inverted", "the mask inverted: true hides"},
    {{kMaskInverted, 1}, "keep_inverted", "the mask inverted, though not the padding mask"},
    {{kMaskInverted, 2}, "key_mask_inverted", "the padding mask inverted: true hides"},
    {{kMaskAdded}, "mask_added", "the boolean mask added to the scores as 0 and 1"},
    {{kMaskIgnored}, "mask_ignored", "the mask ignored"},
    {{kMaskTransposed}, "mask_transposed", "the mask's query and key axes exchanged"},
    {{kMaskBatchTiled}, "mask_batch_tiled", "heads seeing the mask of another batch entry, (b·Hq + h) % B"},
    {{kMaskIgnoredIfCausal}, "mask_ignored_if_causal", "the mask ignored beside the causal flag"},
    {{kKeyMaskIgnored}, "key_mask_ignored", "the padding mask ignored"},
    {{kKeyMaskAcrossQueries}, "key_mask_across_queries", "the padding mask hiding queries instead of keys"},
    {{kLengthsIgnored}, "lengths_ignored", "the key lengths ignored"},
    {{kPackLeaks}, "pack_leaks", "packed sequences that see each other's keys"},
    {{kFillAdded, -1e4}, "fill_added_1e4", "−10000 added to masked scores instead of −∞"},
    {{kFillAdded, kF16Least}, "fill_added_f16", "the least f16 number added to masked scores instead of −∞"},
    {{kFillReplaced, -1e4}, "fill_1e4", "−10000 in place of masked scores, not −∞"},
    {{kFillReplaced, kF16Least}, "fill_f16", "the least f16 number in place of masked scores, not −∞"},
    {{kFillReplaced, kF32Least},
     "fill_f32",
     "the least f32 number in place of masked scores (or added to them), not −∞"},
    {{kCornerTopLeft}, "corner_top_left", "the corner of positions at the top left", kPolicy},
    {{kCornerBottomRight}, "corner_bottom_right", "the corner of positions at the bottom right", kPolicy},
    {{kCausalStrict}, "causal_strict", "the causal limit one key too low: a query does not see its own position"},
    {{kCausalAhead}, "causal_ahead", "the causal limit one key too high: a query sees the next position"},
    {{kCausalPerBlock, 2}, "causal_per_block_2", "one causal limit for each block of 2 rows"},
    {{kCausalPerBlock, 4}, "causal_per_block_4", "one causal limit for each block of 4 rows"},
    {{kCausalPerBlock, 8}, "causal_per_block_8", "one causal limit for each block of 8 rows"},
    {{kCausalPerBlock, 16}, "causal_per_block_16", "one causal limit for each block of 16 rows"},
    {{kCausalPerBlock, 32}, "causal_per_block_32", "one causal limit for each block of 32 rows"},
    {{kCausalIgnored}, "causal_ignored", "the causal flag ignored"},
    {{kCausalIgnoredWith, kWithMask}, "causal_ignored_with_mask", "the causal flag dropped where a mask is given"},
    {{kCausalIgnoredWith, kWithBias}, "causal_ignored_with_bias", "the causal flag dropped where a bias is given"},
    {{kCausalIgnoredWith, kWithWindow},
     "causal_ignored_with_window",
     "the causal flag dropped where a window is given"},
    {{kCausalIgnoredWith, kWithSoftcap},
     "causal_ignored_with_softcap",
     "the causal flag dropped where a softcap is given"},
    {{kCausalIgnoredWith, kWithSinks}, "causal_ignored_with_sinks", "the causal flag dropped where sinks are given"},
    {{kCausalIgnoredWith, kWithLengths},
     "causal_ignored_with_lengths",
     "the causal flag dropped where key lengths are given"},
    {{kCausalIgnoredWith, kWithGroups}, "causal_ignored_with_groups", "the causal flag dropped for grouped heads"},
    {{kCausalSkipsFirstRow}, "causal_skips_first_row", "the causal mask not applied to the first row"},
    {{kWindowIgnored}, "window_ignored", "the window ignored"},
    {{kWindowIgnoredAlone},
     "window_ignored_alone",
     "the window ignored where neither a mask nor the causal flag is given"},
    {{kWindowLeftOff, 1}, "window_left_plus_1", "a window one key too wide on the left"},
    {{kWindowLeftOff, -1}, "window_left_minus_1", "a window one key too narrow on the left"},
    {{kWindowRightOff, 1}, "window_right_plus_1", "a window one key too wide on the right"},
    {{kWindowRightOff, -1}, "window_right_minus_1", "a window one key too narrow on the right"},
    {{kWindowLeftOpen}, "window_left_open", "a window that is open on the left"},
    {{kWindowRightOpen}, "window_right_open", "a window that is open on the right"},
    {{kLastKeysDropped, 2}, "last_keys_dropped_2", "the last keys dropped where Tk is no multiple of 2"},
    {{kLastKeysDropped, 4}, "last_keys_dropped_4", "the last keys dropped where Tk is no multiple of 4"},
    {{kLastKeysDropped, 8}, "last_keys_dropped_8", "the last keys dropped where Tk is no multiple of 8"},
    {{kLastKeysDropped, 16}, "last_keys_dropped_16", "the last keys dropped where Tk is no multiple of 16"},
    {{kLastKeysDropped, 32}, "last_keys_dropped_32", "the last keys dropped where Tk is no multiple of 32"},
    {{kLastKeysDropped, 64}, "last_keys_dropped_64", "the last keys dropped where Tk is no multiple of 64"},
    {{kBiasIgnored}, "bias_ignored", "the bias ignored"},
    {{kBiasHeadsReversed}, "bias_heads_reversed", "the bias of the heads in reverse order"},
    {{kBiasOfFirstHead}, "bias_of_first_head", "the bias of head 0 for every head"},
    {{kBiasOfKvHead}, "bias_of_kv_head", "the bias indexed by KV head"},
    {{kBiasTransposed}, "bias_transposed", "the bias's query and key axes exchanged"},
    {{kSlopesIgnored}, "slopes_ignored", "the ALiBi slopes ignored"},
    {{kSoftcapIgnored}, "softcap_ignored", "the softcap ignored"},
    {{kSoftcapAfterMask}, "softcap_after_mask", "the softcap after the mask, so that masked scores become −softcap"},
    {{kSoftcapAfterBias}, "softcap_after_bias", "the softcap after the bias"},
    {{kSoftcapBeforeScale}, "softcap_before_scale", "the softcap before the scale"},
    {{kSoftcapFormula}, "softcap_formula", "the softcap x·tanh(x/c) instead of c·tanh(x/c)"},
    {{kSinkIgnored}, "sink_ignored", "the sinks ignored"},
    {{kSinkWithoutExp}, "sink_without_exp", "the sink added to the sum without exp"},
    {{kLastQueriesDropped, 2}, "last_queries_dropped_2", "the last rows left 0 where Tq is no multiple of 2"},
    {{kLastQueriesDropped, 4}, "last_queries_dropped_4", "the last rows left 0 where Tq is no multiple of 4"},
    {{kLastQueriesDropped, 8}, "last_queries_dropped_8", "the last rows left 0 where Tq is no multiple of 8"},
    {{kLastQueriesDropped, 16}, "last_queries_dropped_16", "the last rows left 0 where Tq is no multiple of 16"},
    {{kLastQueriesDropped, 32}, "last_queries_dropped_32", "the last rows left 0 where Tq is no multiple of 32"},
    {{kLastQueriesDropped, 64}, "last_queries_dropped_64", "the last rows left 0 where Tq is no multiple of 64"},
    {{kLseBaseTwo}, "lse_base_2", "lse as a logarithm to the base 2", kPolicy},
    {{kLseUnscaled}, "lse_unscaled", "lse of the scores before the scale"},
    {{kLseWithoutMaximum}, "lse_without_maximum", "lse without the maximum that was subtracted"},
    {{kLseWithoutSink}, "lse_without_sink", "lse without the sink", kPolicy},
    {{kEmptyRowNan}, "empty_row_nan", "NaN for a row that sees no key", kPolicy},
    {{kEmptyRowMean}, "empty_row_mean", "the mean of v for a row that sees no key", kPolicy},
    {{kEmptyLseZero}, "empty_lse_zero", "lse = 0 for a row that sees no key", kPolicy},
    {{kEmptyLseInfinite}, "empty_lse_infinite", "lse = +∞ for a row that sees no key", kPolicy},
    {{kGradientGroupNotSummed}, "gradient_group_not_summed", "dk and dv of the last query head of each group only"},
    {{kGradientHeadsTiled}, "gradient_heads_tiled", "dk and dv of query head h added to KV head h % Hkv"},
    {{kGradientUnmasked}, "gradient_unmasked", "the mask missing where the backward pass computes the weights again"},
    {{kGradientUnmaskedLse},
     "gradient_unmasked_lse",
     "the mask missing in the backward pass, beside the forward's lse"},
    {{kGradientWithoutRowTerm}, "gradient_without_row_term", "the softmax's gradient without its row term"},
    {{kGradientDiagonal}, "gradient_diagonal", "the softmax's gradient as p(1 − p), its diagonal only"},
    {{kGradientKeyUnscaled}, "gradient_dk_unscaled", "dk without the scale"},
    {{kGradientQueryUnscaled}, "gradient_dq_unscaled", "dq without the scale"},
    {{kGradientSoftcapIgnored}, "gradient_softcap_ignored", "the softcap's slope missing in the backward pass"},
    {{kGradientBiasNotSummed}, "gradient_bias_not_summed", "dbias not summed over what was broadcast"},
    {{kGradientSinkZero}, "gradient_sink_zero", "dsinks = 0"},
    {{kGradientLseIgnored}, "gradient_lse_ignored", "dlse ignored"},
});

}  // namespace

std::span<const NamedMistake> all_mistakes() { return kMistakes; }

std::vector<Mistake> with_mistakes(std::span<const Mistake> base, std::span<const NamedMistake> named) {
  std::vector<Mistake> mistakes(base.begin(), base.end());
  std::ranges::transform(named, std::back_inserter(mistakes), &NamedMistake::mistake);
  return mistakes;
}

const NamedMistake* find_mistake(std::string_view name) {
  const auto* found = std::ranges::find(kMistakes, name, &NamedMistake::name);
  return found == kMistakes.end() ? nullptr : &*found;
}

}  // namespace qkv::check
