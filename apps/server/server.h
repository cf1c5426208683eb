// The explorer's HTTP server: on 127.0.0.1 only, one thread for all sockets, a few that compute.
#ifndef QKV_APPS_SERVER_SERVER_H_
#define QKV_APPS_SERVER_SERVER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "apps/server/limits.h"
#include "apps/server/site.h"
#include "qkv/status.h"

namespace qkv::server {

inline constexpr std::uint16_t kDefaultPort = 8758;

class Server {
 public:
  // Takes the port (0: any that is free) and listens; nothing is answered before run().
  // Errors: kInvalidArgument: the port is taken, or the system does not give it.
  static Result<std::unique_ptr<Server>> listen(Site site, std::uint16_t port, const Limits& limits = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const;

  // Serves on this thread until `stop_requested`, which is asked ten times a second, says so. Open connections are
  // closed, computations that have not begun are dropped.
  void run(const std::function<bool()>& stop_requested);

  // After run(): whether the computations that had begun end within `time`. The destructor waits for them.
  bool is_idle_within(std::chrono::milliseconds time) const;

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace qkv::server

#endif  // QKV_APPS_SERVER_SERVER_H_
