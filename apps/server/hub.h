// What all connections of a server share. Touched by the io thread only, but for what is atomic.
#ifndef QKV_APPS_SERVER_HUB_H_
#define QKV_APPS_SERVER_HUB_H_

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <utility>

#include "apps/server/limits.h"
#include "apps/server/site.h"

namespace qkv::server {

class Connection;

struct Hub {
  Hub(Site what, Limits how) : site(std::move(what)), limits(how) {}

  const Site site;
  const Limits limits;
  std::uint16_t port = 0;
  boost::asio::thread_pool* pool = nullptr;  // computes documents

  std::unordered_set<Connection*> open;
  std::size_t connections = 0;
  std::size_t refusals = 0;
  std::uint64_t body_bytes = 0;    // of large requests that are being read
  std::uint64_t answer_bytes = 0;  // of documents that are being written
  std::atomic<int> computing = 0;
};

}  // namespace qkv::server

#endif  // QKV_APPS_SERVER_HUB_H_
