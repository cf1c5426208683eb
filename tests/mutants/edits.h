// What may be edited in the naive implementation: each named mistake at its spot, and forms that are right too.
#ifndef QKV_TESTS_MUTANTS_EDITS_H_
#define QKV_TESTS_MUTANTS_EDITS_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace mutants {

enum class Edit : std::uint8_t {
  // Right all the same.
  kShiftedRows,        // a constant added to each row of scores
  kScaleOnBoth,        // √scale applied to q and to k
  kSumsReversed,       // from right to left
  kSumsPairwise,       // halves of halves
  kOnlineBlocks,       // the softmax block by block, rescaled as the maximum grows; the number: keys a block
  kDeltaFromOutput,    // rowsum(do ⊙ o)
  kSigmoidSink,        // o / (1 + exp(sink − lse)), after a softmax that knows no sink
  kSlopesFromKeyZero,  // + slope · p in every score of a row
  // Scale.
  kNoScale,
  kScaleRoot,
  kScaleTwice,
  kDefaultScaleAlways,
  kInverseWidth,
  kModelWidth,
  kPaddedScale,
  kScaleAfterSoftmax,
  kScaleTimesBias,
  kScaleEachBlock,
  // Memory.
  kKeysReshaped,
  kKeysReversed,
  kSplitWithoutTranspose,
  kMergeWithoutTranspose,
  kStridesIgnored,
  kIndex32,
  kWidthPadded,
  kHeadModulo,
  kGroupSummed,
  kPackedOrder,
  kNextBatch,
  kBatchSecond,
  kFirstBatch,
  // Softmax.
  kSoftmaxOverQueries,
  kSoftmaxOverHeads,
  kNoMaximum,
  kNotDivided,
  kOutputTimes,
  kAccumulateF16,
  // Masks.
  kMaskInverted,  // the number: that of pairs (1), of padding (2), both (0)
  kMaskAdded,
  kMaskTimesInfinity,
  kMaskIgnored,
  kMaskTransposed,
  kMaskBatchTiled,
  kMaskIgnoredIfCausal,
  kKeyMaskIgnored,
  kKeyMaskHidesQueries,
  kLengthsIgnored,
  kPackLeaks,
  kFillInF16,
  kFillAdded,
  kFillReplaced,
  // Positions.
  kTopLeftAlways,
  kBottomRightAlways,
  kStrictlyBelow,
  kOneAhead,
  kCausalPerBlock,
  kCausalIgnored,
  kCausalIgnoredWith,
  kFirstRowFree,
  kWindowIgnored,
  kWindowIgnoredAlone,
  kLeftOff,
  kRightOff,
  kLeftOpen,
  kRightOpen,
  kLastKeysDropped,
  // Bias, softcap, sinks.
  kBiasIgnored,
  kBiasHeadsReversed,
  kBiasFirstHead,
  kBiasKvHead,
  kBiasTransposed,
  kSlopesIgnored,
  kSoftcapIgnored,
  kSoftcapAfterMask,
  kSoftcapAfterBias,
  kSoftcapBeforeScale,
  kSoftcapTimesInput,
  kSinkIgnored,
  kSinkWithoutExp,
  // Outputs.
  kLastQueriesDropped,
  kLseBaseTwo,
  kLseUnscaled,
  kLseWithoutMaximum,
  kLseWithoutSink,
  kEmptyNan,
  kEmptyMean,
  kEmptyLseZero,
  kEmptyLseInfinite,
  // Gradients.
  kGroupNotSummed,
  kGradientHeadModulo,
  kBackwardUnmasked,
  kBackwardUnmaskedOwnSum,
  kNoRowTerm,
  kDiagonalOnly,
  kKeyGradientUnscaled,
  kQueryGradientUnscaled,
  kSoftcapSlopeForgotten,
  kBiasGradientNotSummed,
  kSinkGradientZero,
  kLseGradientIgnored,
  // A cache.
  kAppendAfter,       // attends first
  kAppendOverLast,    // one step too far back
  kAppendOneFurther,  // one slot too far
  kAppendReversed,
  kLengthOfFirst,
  // LayerNorm.
  kNoNorm,
  kUnbiasedVariance,
  kEpsOutside,
  kEpsAlways,  // the number
  kOnePassVariance,
  kNoMean,
  kNotCentred,
  kNoGamma,
  kNoBeta,
  kOnePlusGamma,
  kNormOverTokens,
  kMeanTwice,       // of the gradient
  kNoMeanBack,      // in the gradient
  kSigmaConstant,   // in the gradient
  kGammaFromInput,  // its gradient
  // Projections.
  kPackedByHead,
  kWeightsTransposed,
  kOutputTransposed,
  kNoBiases,
  kNoOutputBias,
  kOutputBiasPerHead,
  kNoOutput,
  kResidual,
};

// The other option beside which kCausalIgnoredWith drops the causal flag.
enum Beside : std::int64_t { kMask, kBias, kWindow, kSoftcap, kSinks, kLengths, kGroups };

// The edits of one mutant with their numbers, such as a block's size.
class Edits {
 public:
  Edits() = default;
  Edits(std::vector<std::pair<Edit, double>> made) : made_(std::move(made)) {}  // NOLINT(google-explicit-constructor)
  bool has(Edit edit) const { return find(edit) != nullptr; }
  // 0 if it is not made.
  double number(Edit edit) const {
    const double* found = find(edit);
    return found == nullptr ? 0 : *found;
  }
  std::int64_t whole(Edit edit) const { return static_cast<std::int64_t>(number(edit)); }

 private:
  const double* find(Edit edit) const {
    for (const auto& [one, number] : made_)
      if (one == edit) return &number;
    return nullptr;
  }
  std::vector<std::pair<Edit, double>> made_;
};

}  // namespace mutants

#endif  // QKV_TESTS_MUTANTS_EDITS_H_
