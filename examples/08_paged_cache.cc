// Two sequences in one paged cache: pages are handed out as sequences grow, and nothing is ever copied.
#include <cstdio>
#include <vector>

#include "qkv/qkv.h"

int main() {
  constexpr std::int64_t kBatch = 2, kHeads = 4, kKvHeads = 2, kWidth = 8, kPage = 4, kPages = 8, kMaxPages = 4;
  qkv::Tensor k = qkv::or_throw(qkv::Tensor::zeros(qkv::DType::kF32, {kPages, kKvHeads, kPage, kWidth}));
  qkv::Tensor v = qkv::or_throw(qkv::Tensor::zeros(qkv::DType::kF32, {kPages, kKvHeads, kPage, kWidth}));
  std::vector<std::int32_t> table(kBatch * kMaxPages, -1);  // -1: no page yet
  std::vector<std::int64_t> lengths = {0, 0};
  const qkv::KeyValueCache cache{k.view(), v.view(), qkv::View<const std::int32_t>(table.data(), {kBatch, kMaxPages}),
                                 lengths};

  std::int32_t next_page = 0;
  const auto step = [&](std::int64_t tokens) {
    for (std::int64_t b = 0; b < kBatch; ++b)  // a page for every slot that is about to be written
      for (std::int64_t entry = 0; entry * kPage < lengths[static_cast<std::size_t>(b)] + tokens; ++entry)
        if (std::int32_t& page = table[static_cast<std::size_t>(b * kMaxPages + entry)]; page < 0) page = next_page++;
    const auto fill = [](qkv::Tensor tensor) {
      for (std::int64_t i = 0; i < tensor.size(); ++i)
        tensor.data<float>()[i] = static_cast<float>((i * 37) % 19 - 9) / 9.0F;
      return tensor;
    };
    const qkv::Tensor q = fill(qkv::or_throw(qkv::Tensor::zeros(qkv::DType::kF32, {kBatch, kHeads, tokens, kWidth})));
    const qkv::Tensor new_k =
        fill(qkv::or_throw(qkv::Tensor::zeros(qkv::DType::kF32, {kBatch, kKvHeads, tokens, kWidth})));
    qkv::Tensor o = qkv::or_throw(qkv::Tensor::zeros(qkv::DType::kF32, {kBatch, kHeads, tokens, kWidth}));
    qkv::or_throw(qkv::attention_decode({q.view(), new_k.view(), new_k.view()}, cache, {o.view(), {}}));
    std::printf("%lld tokens in %d pages, o[0] = %.4f\n", static_cast<long long>(lengths[0]), next_page,
                o.data<float>()[0]);
  };
  step(5);                              // the prompt
  for (int i = 0; i < 4; ++i) step(1);  // one token at a time
  return lengths[1] == 9 && next_page == 6 ? 0 : 1;
}
