// Every mistake that the checker knows by name.
#ifndef QKV_SRC_CHECK_MISTAKE_H_
#define QKV_SRC_CHECK_MISTAKE_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "qkv/problem.h"

namespace qkv::check {

// In groups by what they belong to; is_possible() relies on the order.
enum class MistakeId : std::uint8_t {
  // The factor of q·k.
  kScaleMissing,      // 1
  kScaleTwice,        // its square
  kScaleIgnored,      // 1/√D although another one was given
  kScaleInverse,      // 1/D
  kScaleModelWidth,   // 1/√(Hq·D)
  kScalePaddedWidth,  // 1/√(D rounded up to a multiple of `parameter`)
  kScaleAfterSoftmax,
  kScaleTimesBias,  // scale · (q·k + bias)
  kScaleRoot,       // its root on q and on k: NaN for a negative one
  kScalePerBlock,   // multiplied by log2 e once more for each block of `parameter` keys
  // What is compared with what.
  kKeysReshaped,      // k [Tk,D] read as [D,Tk] instead of transposed
  kKeysReversed,      // all axes of k reversed: [D,Tk,Hkv,B] read as [B,Hkv,D,Tk]
  kHeadsSplitWrong,   // [B,T,H·D] read as [B,H,T,D] without a transpose
  kHeadsMergedWrong,  // o [B,H,T,Dv] written as [B,T,H·Dv] without one
  kStridesIgnored,  // of q (1), k (2), v (4) or their sum in `parameter`: memory read as [B,H,T,D] whatever its strides
  kIndexWraps,      // 32 bits: what lies 2³¹ elements further is read elsewhere, where nothing but 0 is thought to lie
  kWidthPadded,     // q·k over D rounded up to a multiple of `parameter`: into what lies behind the row
  kHeadMapTiled,    // h % Hkv
  kHeadGroupSummed,  // the queries of a group summed before they meet their keys
  kPackedOrder,      // packed projections q k v sliced as the digits of `parameter` say: 0 q, 1 k, 2 v
  kKeyValueSwapped,
  kNextBatch,        // k and v of batch entry b + 1
  kFirstBatch,       // of entry 0
  kBatchAsSequence,  // the batch axis taken for the sequence, where Tq = Tk
  // The softmax.
  kSoftmaxOverQueries,
  kSoftmaxOverHeads,
  kNoMaximum,            // not subtracted: exp overflows in f32
  kSoftmaxUnnormalised,  // not divided by its sum
  kOutputScaled,         // o times `parameter`, which a diagnosis fits
  kAccumulateF16,        // every sum rounded to f16 at each step; told by the size of its noise
  // Boolean masks and key lengths.
  kMaskInverted,  // of pairs (1), of padding (2), both (0) by `parameter`
  kMaskAdded,     // 0 and 1 added to the scores
  kMaskIgnored,
  kMaskTransposed,  // read at (j, i)
  kMaskBatchTiled,  // of batch entry (b Hq + h) % B
  kMaskIgnoredIfCausal,
  kKeyMaskIgnored,
  kKeyMaskAcrossQueries,  // hides queries instead of keys
  kLengthsIgnored,
  kPackLeaks,          // every sequence sees all keys
  kFillAdded,          // `parameter` added where −∞ belongs
  kFillReplaced,       // the score replaced by it
  kFillInF16,          // the least f16 number added in f16, which is −∞ below a score of −16; so is a bias of that size
  kMaskTimesInfinity,  // (1 − mask) · (−∞) added
  kHiddenTimesZero,    // what is hidden multiplied by its weight of 0: NaN if it is no finite number
  // Positions.
  kCornerTopLeft,
  kCornerBottomRight,
  kCausalStrict,    // j < p
  kCausalAhead,     // j ≤ p + 1
  kCausalPerBlock,  // the last row's limit for a block of `parameter` rows
  kCausalIgnored,
  kCausalIgnoredWith,  // another option: see CausalDropper
  kCausalSkipsFirstRow,
  kWindowIgnored,
  kWindowIgnoredAlone,  // unless causal or a mask is given
  kWindowLeftOff,       // left + `parameter`
  kWindowRightOff,      // right + `parameter`
  kWindowLeftOpen,
  kWindowRightOpen,
  kLastKeysDropped,  // Tk % `parameter` of them
  // Bias, softcap, sinks.
  kBiasIgnored,
  kBiasHeadsReversed,
  kBiasOfFirstHead,
  kBiasOfKvHead,
  kBiasTransposed,
  kBiasOverflows,  // multiplied by log2 e in f32: −∞ for one near the largest number
  kSlopesIgnored,
  kSoftcapIgnored,
  kSoftcapAfterMask,
  kSoftcapAfterBias,
  kSoftcapBeforeScale,
  kSoftcapFormula,  // x tanh(x / c)
  kSinkIgnored,
  kSinkWithoutExp,
  // What is written.
  kLastQueriesDropped,  // Tq % `parameter` of them stay 0
  kLseBaseTwo,
  kLseUnscaled,
  kLseWithoutMaximum,
  kLseWithoutSink,
  kEmptyRowNan,
  kEmptyRowMean,
  kEmptyLseZero,
  kEmptyLseInfinite,
  // Gradients.
  kGradientGroupNotSummed,  // dk and dv of the group's last query head
  kGradientHeadsTiled,      // added to h % Hkv
  kGradientUnmasked,        // the weights computed again without any mask
  kGradientUnmaskedLse,     // the same under the forward's lse
  kGradientWithoutRowTerm,  // ds = p ⊙ dp
  kGradientDiagonal,        // ds = p ⊙ (1 − p) ⊙ dp
  kGradientKeyUnscaled,
  kGradientQueryUnscaled,
  kGradientSoftcapIgnored,
  kGradientBiasNotSummed,  // the last of what was broadcast
  kGradientSinkZero,
  kGradientLseIgnored,
  // A cache: the new tokens among those that it holds.
  kCacheNewDropped,     // attended before they are appended
  kCacheNewOverLast,    // written over the last of the old tokens
  kCacheSlotSkipped,    // written one slot further: what lies between is attended, the last one is not
  kCacheNewReversed,    // written in reverse order
  kCacheLengthOfFirst,  // that of batch entry 0 for every entry
  // LayerNorm.
  kNormIgnored,
  kNormUnbiased,     // the variance over C − 1
  kNormEpsOutside,   // √var + eps
  kNormEpsIgnored,   // `parameter` although another one was given
  kNormOnePass,      // E[x²] − E[x]² in f32
  kNormWithoutMean,  // x / √(E[x²] + eps)
  kNormNotCentred,   // x / sigma, whose variance is about the mean
  kNormWithoutGamma,
  kNormWithoutBeta,
  kNormGammaAddsOne,  // · (1 + gamma)
  kNormOverTokens,    // the statistics of a channel over T
  kNormGradientMeanTwice,
  kNormGradientMeanMissing,
  kNormGradientSpreadMissing,  // σ taken for a constant
  kNormGradientGammaRaw,       // dgamma from x, not from (x − mean) / σ
  // Projections and what a layer does around its heads.
  kPackedByHead,       // the columns of wqkv head by head: q k v of the first, of the second ...
  kWeightsTransposed,  // of q, k and v (1), of the output (2), where they are square
  kBiasesIgnored,
  kOutputBiasIgnored,
  kOutputBiasPerHead,  // bo added once for each head
  kOutputIgnored,
  kResidualAdded,  // y + x
};

// Which other option makes kCausalIgnoredWith forget the causal flag.
enum CausalDropper : std::int64_t {
  kWithMask,
  kWithBias,
  kWithWindow,
  kWithSoftcap,
  kWithSinks,
  kWithLengths,
  kWithGroups
};

struct Mistake {
  MistakeId id;
  double parameter = 0;
  friend bool operator==(const Mistake&, const Mistake&) = default;
};

struct NamedMistake {
  Mistake mistake;
  std::string_view name;      // snake case, unique: "scale_twice"
  std::string_view sentence;  // after "equals attention with": "the scale applied twice"
  // A question that other libraries answer differently, such as what an empty row gives: can be accepted by its name.
  bool is_policy = false;
};

// All of them, the likelier first. Source: public bug reports, docs/check.md.
std::span<const NamedMistake> all_mistakes();

// `base` and the mistakes of `named`, in that order.
std::vector<Mistake> with_mistakes(std::span<const Mistake> base, std::span<const NamedMistake> named);

// Whether it can be made in that operation.
bool is_possible(const Mistake& mistake, Operation operation);

// Null if there is none of that name.
const NamedMistake* find_mistake(std::string_view name);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_MISTAKE_H_
