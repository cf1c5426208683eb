// Which mistake reproduces what an implementation gave.
#ifndef QKV_SRC_CHECK_DIAGNOSE_H_
#define QKV_SRC_CHECK_DIAGNOSE_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/check/evidence.h"
#include "src/check/match.h"
#include "src/check/mistake.h"

namespace qkv::check {

// A hypothesis: one mistake or two at once, and how much of the evidence it reproduces.
struct Explanation {
  std::vector<NamedMistake> mistakes;
  double error = 0;                // largest |got − variant| over what it explains
  double of_tolerance = 0;         // the largest share of the tolerance, element by element: 1 is its limit
  int explained = 0, failing = 0;  // failing probes that it reproduces, of those there are
  bool fits_passing = true;        // it says of every probe that passed that it passes
  bool is_forward_only = false;    // of o and lse; the gradients were left out, since they follow in more than one way
  // Told by all errors together (error_left.h), where rounding is too coarse to tell element by element: the share of
  // their squares that is left. `explained`, `failing` are the probes that the mistakes change.
  std::optional<double> share_left = std::nullopt;
  bool is_whole() const { return explained == failing && fits_passing; }
};

struct Diagnosis {
  // The best first; more than one: the probes cannot tell them apart. Empty: no mistake that is known.
  std::vector<Explanation> tied;
  // A problem on which the first two of these differ, if one was found.
  std::optional<Problem> told_apart_by;
  // Explains some of the failing probes, if nothing explains all.
  std::vector<Explanation> partial;
  bool leaves_pairs_out = false;  // the smallest failing probe is too large to try every two mistakes on it
};

// Runs every mistake, then every pair, as a variant and keeps those that reproduce all answers.
//
// Numerics: an answer is reproduced if every given tensor is within match_tolerance() of the variant's.
// Errors: kCancelled where `keep_going`, asked before each of them, says no.
// Cost: variants of the smallest failing probe, some thousands; of the rest only for those that fit so far. Pairs are
// left out where that probe is so large that they would take minutes.
Result<Diagnosis> diagnose(std::span<const Evidence> evidence, std::span<const Mistake> accepted,
                           const std::function<bool()>& keep_going = {});

// What is compared, after "equals": "attention", "a decode step", "a layer", "a LayerNorm".
std::string noun_of(Operation operation);

// "the scale applied twice", "the mask ignored and the softcap ignored".
std::string to_sentence(const Explanation& explanation);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_DIAGNOSE_H_
