// The steps of a connection. Each starts the next from its handler, and an error ends the chain: the last reference
// goes and the socket closes.
#include "apps/server/connection.h"

#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <string_view>
#include <utility>

#include "apps/server/parsed_head.h"

namespace qkv::server {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::size_t kRead = 4096;  // bytes asked for where the size of what comes is not known

}  // namespace

Connection::Connection(net::ip::tcp::socket socket, Hub& hub, bool refused)
    : stream_(std::move(socket)), hub_(hub), refused_(refused) {
  ++(refused_ ? hub_.refusals : hub_.connections);
  hub_.open.insert(this);
}

Connection::~Connection() {
  release();
  hub_.open.erase(this);
  --(refused_ ? hub_.refusals : hub_.connections);
}

void Connection::close() { stream_.close(); }

void Connection::start() {
  Error error;
  if (stream_.socket().set_option(net::ip::tcp::no_delay(true), error)) return;  // gone already
  if (!refused_) return wait_for_request(hub_.limits.header);
  Answer answer = error_answer(503, "all " + std::to_string(hub_.limits.connections) +
                                        " connections of this server are taken; close other clients, or try again");
  answer.more = "Retry-After: 1\r\n";
  send(std::move(answer), false);
}

void Connection::wait_for_request(std::chrono::milliseconds deadline) {
  if (buffer_.size() > 0) return read_head();  // the client did not wait for the last answer
  stream_.expires_after(deadline);
  stream_.async_read_some(buffer_.prepare(kRead), [self = shared_from_this()](Error error, std::size_t count) {
    if (error) return;
    self->buffer_.commit(count);
    self->read_head();
  });
}

void Connection::read_head() {
  parser_.emplace();
  parser_->header_limit(hub_.limits.header_bytes);
  parser_->body_limit(boost::none);  // the site looks at the length before anything of a body is read
  stream_.expires_after(hub_.limits.header);
  http::async_read_header(stream_, buffer_, *parser_,
                          [self = shared_from_this()](Error error, std::size_t) { self->answer_head(error); });
}

void Connection::answer_head(Error error) {
  if (error) return refuse_head(error);
  std::optional<std::uint64_t> length;
  if (parser_->content_length()) length = *parser_->content_length();
  const RequestHead head = head_of(parser_->get(), parser_->chunked(), length);
  keep_alive_ = parser_->keep_alive();
  std::optional<Answer> answer = hub_.site.answer(head, hub_.port, hub_.limits);
  if (!answer) return admit_body();
  const bool unread = !parser_->is_done();
  send(std::move(*answer), keep_alive_ && !unread);
}

// A client that left or is too slow gets nothing; one that sent something wrong is told what.
void Connection::refuse_head(Error error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return send(error_answer(431, "the header has more than " + std::to_string(hub_.limits.header_bytes) + " bytes"),
                false);
  if (error == http::error::end_of_stream || error == http::error::partial_message) return;
  if (error.category() != make_error_code(http::error::bad_method).category()) return;
  send(error_answer(400, "this is no HTTP request: " + error.message()), false);
}

void Connection::admit_body() {
  const std::uint64_t length = parser_->content_length().value_or(0);
  if (length > hub_.limits.small_body_bytes) {
    if (hub_.body_bytes + length > hub_.limits.shared_body_bytes)
      return send(error_answer(503, "too many large requests at once; try again"), false);
    held_body_ = length;
    hub_.body_bytes += length;
  }
  if (parser_->get()[http::field::expect] != "100-continue") return read_body();
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  stream_.expires_after(hub_.limits.header);
  net::async_write(stream_, net::buffer(kContinue.data(), kContinue.size()),
                   [self = shared_from_this()](Error error, std::size_t) {
                     if (!error) self->read_body();
                   });
}

void Connection::read_body() {
  stream_.expires_after(hub_.limits.body);
  http::async_read(stream_, buffer_, *parser_,
                   [self = shared_from_this()](Error error, std::size_t) { self->answer_body(error); });
}

void Connection::answer_body(Error error) {
  if (error) return;  // cut short, or too slow: there is nobody to answer
  std::string request = std::move(parser_->get().body());
  parser_.reset();
  compute(std::move(request));
}

void Connection::compute(std::string request) {
  has_left_ = false;
  watch_for_leaving();
  net::post(*hub_.pool, [self = shared_from_this(), request = std::move(request)]() mutable {
    ++self->hub_.computing;
    std::optional<Answer> answer;
    if (!self->has_left_) answer = explained(request);
    request = std::string();
    --self->hub_.computing;
    // Back to the io thread, with the only reference from here: a connection ends there.
    auto executor = self->stream_.get_executor();
    net::post(executor,
              [self = std::move(self), answer = std::move(answer)]() mutable { self->finish(std::move(answer)); });
  });
}

// A page asks anew at each key press and drops the question before: what still waits in the queue is then not computed.
void Connection::watch_for_leaving() {
  stream_.socket().async_wait(net::ip::tcp::socket::wait_read, [self = shared_from_this()](Error error) {
    Error ignored;
    if (!error && self->stream_.socket().available(ignored) == 0) self->has_left_ = true;
  });
}

void Connection::finish(std::optional<Answer> answer) {
  release();
  if (!answer) return;
  stream_.cancel();  // no more watching
  const std::uint64_t size = answer->text.size();
  if (hub_.answer_bytes > 0 && hub_.answer_bytes + size > hub_.limits.shared_answer_bytes)
    return send(error_answer(503, "too many large answers at once; try again"), false);
  held_answer_ = size;
  hub_.answer_bytes += size;
  send(*std::move(answer), keep_alive_);
}

void Connection::send(Answer answer, bool keep_alive) {
  answer_ = std::move(answer);
  header_ = header_text(answer_, keep_alive);
  const std::string_view body = answer_.without_body ? std::string_view() : answer_.body();
  const std::array<net::const_buffer, 2> parts = {net::buffer(header_), net::buffer(body.data(), body.size())};
  stream_.expires_after(hub_.limits.write);
  net::async_write(stream_, parts, [self = shared_from_this(), keep_alive](Error error, std::size_t) {
    self->sent(error, keep_alive);
  });
}

void Connection::sent(Error error, bool keep_alive) {
  release();
  answer_ = Answer();
  if (error) return;
  if (!keep_alive) return linger();
  parser_.reset();
  wait_for_request(hub_.limits.idle);
}

// Closing with bytes unread would make the system throw away what the client has not read yet of our answer.
void Connection::linger() {
  Error error;
  if (stream_.socket().shutdown(net::ip::tcp::socket::shutdown_send, error)) return;
  stream_.expires_after(hub_.limits.linger);
  drop_input();
}

void Connection::drop_input() {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(kRead), [self = shared_from_this()](Error error, std::size_t) {
    if (!error) self->drop_input();
  });
}

void Connection::release() {
  hub_.body_bytes -= std::exchange(held_body_, 0);
  hub_.answer_bytes -= std::exchange(held_answer_, 0);
}

}  // namespace qkv::server
