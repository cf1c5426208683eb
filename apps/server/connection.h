// One client: reads a request, answers it, reads the next; every wait has a deadline.
#ifndef QKV_APPS_SERVER_CONNECTION_H_
#define QKV_APPS_SERVER_CONNECTION_H_

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "apps/server/answer.h"
#include "apps/server/hub.h"

namespace qkv::server {

// Keeps itself alive while something is pending. Constraint: the hub outlives it; all but the computation happens on
// the stream's one thread.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, Hub& hub, bool refused);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Serves until the client leaves, breaks a rule or misses a deadline; a refused one is only told why.
  void start();

  // Ends it where it stands. Constraint: on the io thread, or after it.
  void close();

 private:
  using Error = boost::beast::error_code;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void wait_for_request(std::chrono::milliseconds deadline);
  void read_head();
  void answer_head(Error error);
  void refuse_head(Error error);
  void admit_body();
  void read_body();
  void answer_body(Error error);
  void compute(std::string request);
  void watch_for_leaving();
  void finish(std::optional<Answer> answer);  // absent: nobody waits for it
  void send(Answer answer, bool keep_alive);
  void sent(Error error, bool keep_alive);
  void linger();
  void drop_input();
  void release();

  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_{128U << 10U};
  std::optional<Parser> parser_;
  Hub& hub_;
  const bool refused_;
  bool keep_alive_ = false;
  std::atomic<bool> has_left_ = false;
  Answer answer_;
  std::string header_;
  std::uint64_t held_body_ = 0, held_answer_ = 0;  // what this connection has of the hub's sums
};

}  // namespace qkv::server

#endif  // QKV_APPS_SERVER_CONNECTION_H_
