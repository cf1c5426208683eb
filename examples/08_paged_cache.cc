// Two sequences in one paged cache: pages are handed out as sequences grow, and nothing is ever copied.
#include <cstdio>
#include <vector>

#include "qkv/qkv.h"

namespace {

constexpr std::int64_t kBatch = 2, kHeads = 4, kKvHeads = 2, kWidth = 8, kPage = 4, kPages = 8, kMaxPages = 4;

struct PagedCache {
  std::vector<float> k = std::vector<float>(kPages * kKvHeads * kPage * kWidth);
  std::vector<float> v = k;
  std::vector<std::int32_t> table = std::vector<std::int32_t>(kBatch * kMaxPages, -1);  // -1: no page yet
  std::vector<std::int64_t> lengths = {0, 0};
  std::int32_t next_page = 0;

  qkv::KeyValueCache view() {
    const qkv::Dims shape{kPages, kKvHeads, kPage, kWidth};
    return {qkv::View<float>(k.data(), shape), qkv::View<float>(v.data(), shape),
            qkv::View<const std::int32_t>(table.data(), {kBatch, kMaxPages}), lengths};
  }
  // A page for every slot that is about to be written.
  void make_room(std::size_t sequence, std::int64_t tokens) {
    for (std::int64_t entry = 0; entry * kPage < lengths[sequence] + tokens; ++entry) {
      std::int32_t& page = table[sequence * kMaxPages + static_cast<std::size_t>(entry)];
      if (page < 0) page = next_page++;
    }
  }
};

bool step(PagedCache& cache, std::int64_t tokens) {
  std::vector<float> q(static_cast<std::size_t>(kBatch * kHeads * tokens * kWidth)), o(q.size()), k(q.size() / 2);
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = static_cast<float>(i % 7) - 3;
  for (std::size_t i = 0; i < k.size(); ++i) k[i] = static_cast<float>(i % 5) - 2;
  for (std::size_t b = 0; b < kBatch; ++b) cache.make_room(b, tokens);

  const qkv::View<const float> new_k(k.data(), {kBatch, kKvHeads, tokens, kWidth});  // and new values, here
  const qkv::Dims shape{kBatch, kHeads, tokens, kWidth};
  const auto report = qkv::attention_decode({qkv::View<const float>(q.data(), shape), new_k, new_k}, cache.view(),
                                            {qkv::View<float>(o.data(), shape), {}});
  if (!report.is_ok()) {
    std::fprintf(stderr, "%s\n", report.status().message().c_str());
    return false;
  }
  std::printf("%d tokens in %d pages, o[0] = %.4f\n", static_cast<int>(cache.lengths[0]), cache.next_page, o[0]);
  return true;
}

}  // namespace

int main() {
  PagedCache cache;
  bool ok = step(cache, 5);                               // the prompt
  for (int i = 0; i < 4; ++i) ok = ok && step(cache, 1);  // one token at a time
  return ok && cache.lengths[1] == 9 && cache.next_page == 6 ? 0 : 1;
}
