// Accepting connections, and the end.
#include "apps/server/server.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "apps/server/connection.h"
#include "apps/server/hub.h"

namespace qkv::server {
namespace {

namespace net = boost::asio;
using Error = boost::system::error_code;
using Tcp = net::ip::tcp;

constexpr std::chrono::milliseconds kLook{100};  // how often a wish to stop is looked for

// Two at least, so that one long computation does not hold up the short ones.
std::size_t compute_threads() { return std::clamp(std::thread::hardware_concurrency(), 2U, 4U); }

Status cannot_listen(std::uint16_t port, const Error& error) {
  const std::string where = "port " + std::to_string(port) + " of 127.0.0.1 ";
  if (error == net::error::address_in_use)
    return invalid_argument(where +
                            "is in use, perhaps by another qkv explore; give another one with --port, or --port 0 "
                            "for any that is free");
  return invalid_argument(where + "cannot be used: " + error.message() + "; give another one with --port");
}

}  // namespace

// In this order: what is destroyed last is what the others point to.
struct Server::Parts {
  Parts(Site site, const Limits& limits) : hub(std::move(site), limits) { hub.pool = &pool; }

  Hub hub;
  net::io_context io{1};
  Tcp::acceptor acceptor{io};
  net::steady_timer timer{io}, pause{io};
  std::function<bool()> stop_requested;
  net::thread_pool pool{compute_threads()};

  Error listen(std::uint16_t port);
  void turn();
  void end();
  void look();
  void accept();
  void admit(Tcp::socket socket);
};

Error Server::Parts::listen(std::uint16_t port) {
  Error error;
  if (acceptor.open(Tcp::v4(), error)) return error;
  if (acceptor.set_option(Tcp::acceptor::reuse_address(true), error)) return error;
  if (acceptor.bind({net::ip::address_v4::loopback(), port}, error)) return error;
  if (acceptor.listen(net::socket_base::max_listen_connections, error)) return error;
  hub.port = acceptor.local_endpoint(error).port();
  return error;
}

// Handles what happens until the io context is stopped.
void Server::Parts::turn() {
  while (!io.stopped()) {
    try {
      io.run();
    } catch (const std::exception&) {  // no memory for one client: its connection is gone, the others go on
      continue;
    }
  }
}

// Cuts off what is open, and handles that.
void Server::Parts::end() {
  acceptor.close();
  pause.cancel();
  timer.cancel();
  for (Connection* connection : hub.open) connection->close();
  io.restart();
  try {
    io.poll();
  } catch (const std::exception&) {  // nobody is left to be told
    return;
  }
}

void Server::Parts::look() {
  if (stop_requested()) return io.stop();
  timer.expires_after(kLook);
  timer.async_wait([this](Error error) {
    if (!error) look();
  });
}

void Server::Parts::accept() {
  acceptor.async_accept([this](Error error, Tcp::socket socket) {
    if (!acceptor.is_open()) return;  // the end
    if (!error) {
      accept();
      return admit(std::move(socket));
    }
    // Out of descriptors, or a client that was gone at once: the next one may fare better.
    pause.expires_after(kLook);
    pause.async_wait([this](Error cancelled) {
      if (!cancelled) accept();
    });
  });
}

void Server::Parts::admit(Tcp::socket socket) {
  const bool refused = hub.connections >= hub.limits.connections;
  if (refused && hub.refusals >= hub.limits.refusals) return;  // closes it
  std::make_shared<Connection>(std::move(socket), hub, refused)->start();
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() {
  parts_->pool.stop();
  parts_->pool.join();
}

Result<std::unique_ptr<Server>> Server::listen(Site site, std::uint16_t port, const Limits& limits) {
  auto parts = std::make_unique<Parts>(std::move(site), limits);
  if (const Error error = parts->listen(port)) return cannot_listen(port, error);
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

std::uint16_t Server::port() const { return parts_->hub.port; }

void Server::run(const std::function<bool()>& stop_requested) {
  parts_->stop_requested = stop_requested;
  parts_->accept();
  parts_->look();
  parts_->turn();
  parts_->pool.stop();
  parts_->end();
}

bool Server::is_idle_within(std::chrono::milliseconds time) const {
  const auto end = std::chrono::steady_clock::now() + time;
  while (parts_->hub.computing > 0) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace qkv::server
