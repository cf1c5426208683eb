// What a connection and a request may take, in one place; docs/explorer.md states the defaults, tests make them small.
#ifndef QKV_APPS_SERVER_LIMITS_H_
#define QKV_APPS_SERVER_LIMITS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace qkv::server {

struct Limits {
  // Deadlines count from the start of what they bound: a client that sends or takes a byte now and then gains nothing.
  std::chrono::milliseconds header{10'000};  // from a request's first byte to the end of its header
  std::chrono::milliseconds idle{60'000};    // between two requests
  std::chrono::milliseconds body{30'000};
  std::chrono::milliseconds write{60'000};
  std::chrono::milliseconds linger{2'000};  // how long what a refused client still sends is read and dropped

  std::size_t connections = 512;
  std::size_t refusals = 64;  // connections beyond that which are told so at the same time; others are just closed
  std::uint32_t header_bytes = 16U << 10U;
  std::uint64_t body_bytes = 64U << 20U;

  // Bodies up to the first are always taken; larger ones share the second, so that a few clients cannot fill memory.
  std::uint64_t small_body_bytes = 1U << 20U;
  std::uint64_t shared_body_bytes = 256U << 20U;
  std::uint64_t shared_answer_bytes = 512U << 20U;  // documents that are being written
};

}  // namespace qkv::server

#endif  // QKV_APPS_SERVER_LIMITS_H_
