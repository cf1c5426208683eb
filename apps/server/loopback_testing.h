// For tests: a server on a thread of its own, and a client that sends bytes as they are.
#ifndef QKV_APPS_SERVER_LOOPBACK_TESTING_H_
#define QKV_APPS_SERVER_LOOPBACK_TESTING_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "apps/server/server.h"

namespace qkv::server {

inline const Page& small_page() {
  static const Page page = {{"/index.html", "<!doctype html><title>small</title>", "aaaa"},
                            {"/assets/main-BX3kz0pQ.js", "export {};", "bbbb"},
                            {"/manifest.webmanifest", "{}", "cccc"}};
  return page;
}

class RunningServer {
 public:
  explicit RunningServer(const Limits& limits = {}, const std::string& opened = "null") {
    Result<std::unique_ptr<Server>> made = Server::listen(Site(small_page(), opened), 0, limits);
    if (!made.is_ok()) {
      ADD_FAILURE() << made.status().message();
      std::abort();
    }
    server_ = std::move(made).value();
    thread_ = std::thread([this] { server_->run([this] { return stop_.load(); }); });
  }
  ~RunningServer() { stop(); }
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;

  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::uint16_t port() const { return server_->port(); }
  std::string host() const { return "127.0.0.1:" + std::to_string(port()); }

 private:
  std::unique_ptr<Server> server_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

struct Reply {
  int status = 0;                              // 0: the connection ended without an answer
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  // "" for a field that is not there.
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval patience{20, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      ADD_FAILURE() << "cannot connect to port " << port;
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t count = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (count <= 0) return;  // the server closed: what it said before can still be read
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  // The next answer; `to_head`: one that has no body although it tells a length.
  Reply receive(bool to_head = false) {
    Reply reply;
    while (left_.find("\r\n\r\n") == std::string::npos)
      if (!more()) return reply;
    const std::size_t end = left_.find("\r\n\r\n");
    read_header(left_.substr(0, end + 2), reply);
    left_.erase(0, end + 4);
    const std::size_t length = to_head ? 0 : std::strtoul(reply.header("content-length").c_str(), nullptr, 10);
    while (left_.size() < length)
      if (!more()) break;
    reply.body = left_.substr(0, length);
    left_.erase(0, reply.body.size());
    return reply;
  }

  Reply ask(std::string_view text) {
    send(text);
    return receive();
  }

  // Whether the server ends the connection, with nothing more before that; false if it does nothing for too long.
  bool is_closed() { return left_.empty() && !more() && errno != EAGAIN && errno != EWOULDBLOCK; }

 private:
  bool more() {
    char bytes[65536];
    errno = 0;
    const ssize_t count = ::recv(socket_, bytes, sizeof bytes, 0);
    if (count <= 0) return false;
    left_.append(bytes, static_cast<std::size_t>(count));
    return true;
  }

  static void read_header(const std::string& text, Reply& reply) {
    if (text.starts_with("HTTP/1.1 ")) reply.status = std::atoi(text.c_str() + 9);
    for (std::size_t line = text.find("\r\n") + 2; line < text.size(); line = text.find("\r\n", line) + 2) {
      const std::size_t colon = text.find(": ", line), end = text.find("\r\n", line);
      std::string name = text.substr(line, colon - line);
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      reply.headers[name] = text.substr(colon + 2, end - colon - 2);
    }
  }

  const int socket_;
  std::string left_;  // received, not yet given out
};

inline std::string get(const RunningServer& server, const std::string& path, const std::string& more = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: " + server.host() + "\r\n" + more + "\r\n";
}

inline std::string post(const RunningServer& server, const std::string& body, const std::string& more = "") {
  return "POST /api/explain HTTP/1.1\r\nHost: " + server.host() + "\r\nContent-Type: application/json\r\n" + more +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace qkv::server

#endif  // QKV_APPS_SERVER_LOOPBACK_TESTING_H_
