// Masks combine: causal, a window, and a boolean keep-mask, over [B,T,H,D] memory and grouped heads.
#include <cstdio>
#include <vector>

#include "qkv/qkv.h"

int main() {
  // Four query heads read two KV heads; activations lie as [B,T,H,D], the order in which a projection leaves them.
  constexpr std::int64_t kTokens = 6, kQueryHeads = 4, kKvHeads = 2, kWidth = 8;
  std::vector<float> q(kTokens * kQueryHeads * kWidth), k(kTokens * kKvHeads * kWidth), o(q.size());
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = static_cast<float>(i % 7) - 3;
  for (std::size_t i = 0; i < k.size(); ++i) k[i] = static_cast<float>(i % 5) - 2;
  std::vector<float> v = k;

  // A view in the memory's order, with heads and tokens exchanged: nothing is copied.
  const auto heads_first = [](auto* data, std::int64_t heads) {
    return qkv::swap_axes(qkv::View(data, {1, kTokens, heads, kWidth}), 1, 2);
  };
  const qkv::AttentionInputs inputs{heads_first(static_cast<const float*>(q.data()), kQueryHeads),
                                    heads_first(static_cast<const float*>(k.data()), kKvHeads),
                                    heads_first(static_cast<const float*>(v.data()), kKvHeads)};

  bool keep[kTokens] = {true, true, true, true, true, true};
  keep[0] = false;  // nobody may look at token 0, which leaves query 0 without any key

  qkv::AttentionOptions options;
  options.causality = qkv::Causality::kCausal;
  options.window.left = 2;                                // itself and two before
  options.keep = qkv::View<const bool>(keep, {kTokens});  // broadcast over heads and queries

  const auto report = qkv::attention_forward(inputs, {heads_first(o.data(), kQueryHeads), {}}, options);
  if (!report.is_ok()) {
    std::fprintf(stderr, "%s\n", report.status().message().c_str());
    return 1;
  }
  std::printf("query 0 sees no key, so its output is %g; query 5 of head 3 gets %g\n", o[0], o[o.size() - kWidth]);
  return o[0] == 0 ? 0 : 1;
}
