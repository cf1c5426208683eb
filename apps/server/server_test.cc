// The server over real sockets, asked by good and by hostile clients.
#include "apps/server/server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "apps/server/loopback_testing.h"
#include "qkv/explain.h"
#include "src/explain/examples.h"

namespace qkv::server {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr const char* kSmall = R"({"q":[[1,2]],"k":[[1,0],[0,2]],"v":[[1],[2]]})";

// Deadlines that a test can wait for.
Limits impatient() {
  Limits limits;
  limits.header = 300ms;
  limits.idle = 300ms;
  limits.body = 300ms;
  limits.write = 2s;
  limits.linger = 300ms;
  return limits;
}

std::string message_of(const Reply& reply) {
  const Json document = Json::parse(reply.body, nullptr, false);
  if (!document.is_object() || !document.contains("error")) return "no error in: " + reply.body.substr(0, 200);
  return document["error"]["message"];
}

// That the server still answers as if nothing had happened.
void expect_well(const RunningServer& server) {
  Client client(server.port());
  const Reply reply = client.ask(post(server, kSmall));
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.body, *explain(kSmall));
}

TEST(Server, gives_the_page_and_its_files_with_their_types) {
  const RunningServer server;
  Client client(server.port());
  const Reply page = client.ask(get(server, "/"));
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.body, small_page()[0].bytes);
  EXPECT_EQ(page.header("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(page.header("cache-control"), "no-cache");
  const Reply script = client.ask(get(server, "/assets/main-BX3kz0pQ.js?x=1"));
  EXPECT_EQ(script.body, "export {};");
  EXPECT_EQ(script.header("content-type"), "text/javascript; charset=utf-8");
  EXPECT_EQ(script.header("cache-control"), "public, max-age=31536000, immutable");
}

TEST(Server, every_answer_forbids_other_origins) {
  const RunningServer server;
  for (const std::string& request :
       {get(server, "/"), get(server, "/nowhere"), post(server, "no JSON"), std::string("rubbish\r\n\r\n")}) {
    Client client(server.port());
    const Reply reply = client.ask(request);
    EXPECT_NE(reply.status, 0) << request;
    EXPECT_TRUE(reply.header("content-security-policy").starts_with("default-src 'none'; ")) << request;
    EXPECT_TRUE(reply.header("content-security-policy").ends_with("frame-ancestors 'none'")) << request;
    EXPECT_EQ(reply.header("x-content-type-options"), "nosniff");
    EXPECT_EQ(reply.header("referrer-policy"), "no-referrer");
    EXPECT_EQ(reply.header("cross-origin-opener-policy"), "same-origin");
    EXPECT_EQ(reply.header("cross-origin-resource-policy"), "same-origin");
    EXPECT_EQ(reply.header("access-control-allow-origin"), "");
  }
}

TEST(Server, explains_every_example_as_the_library_does) {
  const RunningServer server;
  Client client(server.port());
  for (const Example& example : examples()) {
    for (const char* more : {"", ",\"backward\":true"}) {
      const std::string request = "{\"example\":\"" + std::string(example.name) + "\"" + more + "}";
      const Reply reply = client.ask(post(server, request));
      const Result<std::string> expected = explain(request);
      ASSERT_TRUE(expected.is_ok()) << expected.status().message();
      EXPECT_EQ(reply.status, 200) << request;
      EXPECT_EQ(reply.body, *expected) << request;
      EXPECT_EQ(reply.header("cache-control"), "no-store");
    }
  }
}

TEST(Server, tells_the_file_that_was_opened) {
  const std::string opened = R"({"name":"a.json","request":{"example":"bank"}})";
  const RunningServer with(Limits(), opened), without;
  EXPECT_EQ(Client(with.port()).ask(get(with, "/api/opened")).body, opened);
  EXPECT_EQ(Client(without.port()).ask(get(without, "/api/opened")).body, "null");
}

TEST(Server, a_mistake_in_a_request_is_told_and_the_connection_goes_on) {
  const RunningServer server;
  Client client(server.port());
  for (const char* bad : {"", "{", "[1,2", "{\"q\":[[1]]}", "{\"nonsense\":1}", "\xff\xfe", "{\"op\":\"fly\"}"}) {
    const Reply reply = client.ask(post(server, bad));
    EXPECT_EQ(reply.status, 400) << bad;
    EXPECT_EQ(message_of(reply), explain(bad).status().message());
  }
  EXPECT_EQ(client.ask(post(server, kSmall)).status, 200);
}

TEST(Server, a_request_that_needs_too_much_gets_413_and_a_message) {
  const RunningServer server;
  std::string column = "[[1]";
  for (int i = 1; i < 2100; ++i) column += ",[1]";  // 2100² weights are more than four million
  column += "]";
  Client client(server.port());
  const Reply reply = client.ask(post(server, "{\"q\":" + column + ",\"k\":" + column + ",\"v\":" + column + "}"));
  EXPECT_EQ(reply.status, 413);
  EXPECT_NE(message_of(reply).find("at most 4000000"), std::string::npos) << message_of(reply);
  expect_well(server);
}

TEST(Server, a_body_over_the_limit_gets_413_though_it_is_still_being_sent) {
  Limits limits = impatient();
  limits.body_bytes = 1000;
  const RunningServer server(limits);
  Client client(server.port());
  const Reply reply = client.ask(post(server, std::string(300'000, ' ')));
  EXPECT_EQ(reply.status, 413);
  EXPECT_NE(message_of(reply).find("at most 1000 are taken"), std::string::npos) << message_of(reply);
  EXPECT_EQ(Client(server.port()).ask(post(server, "{}", "Content-Length: 99999999999999999999\r\n")).status, 400);
  expect_well(server);
}

TEST(Server, large_bodies_share_a_sum_and_small_ones_are_always_taken) {
  Limits limits;
  limits.small_body_bytes = 1000;
  limits.shared_body_bytes = 5000;
  limits.body_bytes = 5000;
  const RunningServer server(limits);
  const std::string large = post(server, std::string(4000, ' '));
  Client first(server.port()), second(server.port());
  first.send(large.substr(0, large.size() - 1));
  std::this_thread::sleep_for(100ms);  // its header is in
  EXPECT_EQ(second.ask(large).status, 503);
  expect_well(server);
  EXPECT_EQ(first.ask(" ").status, 400);  // its turn goes on: blanks are no JSON
  EXPECT_EQ(Client(server.port()).ask(large).status, 400);
}

TEST(Server, only_this_machine_is_a_host) {
  const RunningServer server;
  const std::string port = ":" + std::to_string(server.port());
  for (const std::string& host : {"127.0.0.1" + port, "localhost" + port, "LOCALHOST" + port, "[::1]" + port})
    EXPECT_EQ(Client(server.port()).ask("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n").status, 200) << host;
  for (const std::string& host : {"evil.example" + port, std::string("127.0.0.1"), std::string("127.0.0.1:1"),
                                  std::string(), "127.0.0.1" + port + ".evil.example", "localhost." + port})
    EXPECT_EQ(Client(server.port()).ask("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n").status, 421) << host;
  EXPECT_EQ(Client(server.port()).ask("GET / HTTP/1.1\r\n\r\n").status, 400);
  EXPECT_EQ(Client(server.port()).ask("GET / HTTP/1.0\r\n\r\n").status, 400);
  EXPECT_EQ(Client(server.port()).ask(get(server, "/", "Host: evil.example\r\n")).status, 400);
}

TEST(Server, another_site_is_refused) {
  const RunningServer server;
  const auto status = [&](const std::string& fields) {
    return Client(server.port()).ask(post(server, kSmall, fields)).status;
  };
  EXPECT_EQ(status("Origin: http://" + server.host() + "\r\nSec-Fetch-Site: same-origin\r\n"), 200);
  EXPECT_EQ(status("Origin: http://evil.example\r\n"), 403);
  EXPECT_EQ(status("Origin: null\r\n"), 403);
  EXPECT_EQ(status("Origin: http://127.0.0.1:1\r\n"), 403);
  EXPECT_EQ(status("Sec-Fetch-Site: cross-site\r\n"), 403);
  EXPECT_EQ(status("Sec-Fetch-Site: same-site\r\n"), 403);
  const std::string link = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: ";
  EXPECT_EQ(Client(server.port()).ask(get(server, "/", link + "document\r\n")).status, 200);
  EXPECT_EQ(Client(server.port()).ask(get(server, "/", link + "iframe\r\n")).status, 403);
  EXPECT_EQ(Client(server.port()).ask(get(server, "/api/opened", link + "document\r\n")).status, 403);
}

TEST(Server, no_path_leaves_the_page) {
  const RunningServer server;
  for (const char* path :
       {"/../etc/passwd", "/assets/../../etc/passwd", "/%2e%2e/etc/passwd", "/..%2fetc%2fpasswd", "//etc/passwd",
        "/assets/%00", "/index.html/", "/assets", "/.", "/api", "/api/", "/api/x", "/index%2ehtml", "/\\..\\..\\etc"}) {
    const Reply reply = Client(server.port()).ask(get(server, path));
    EXPECT_EQ(reply.status, 404) << path;
    EXPECT_NE(message_of(reply).find("there is nothing at "), std::string::npos) << path;
  }
  for (const char* target : {"http://127.0.0.1/", "*", "etc"})
    EXPECT_EQ(Client(server.port()).ask(get(server, target)).status, 400) << target;
}

TEST(Server, a_wrong_method_is_told_the_right_ones) {
  const RunningServer server;
  const auto ask = [&](const std::string& method, const std::string& path) {
    return Client(server.port()).ask(method + " " + path + " HTTP/1.1\r\nHost: " + server.host() + "\r\n\r\n");
  };
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"}) {
    const Reply reply = ask(method, "/");
    EXPECT_EQ(reply.status, 405) << method;
    EXPECT_EQ(reply.header("allow"), "GET, HEAD");
    EXPECT_EQ(ask(method, "/api/opened").status, 405);
  }
  for (const char* method : {"GET", "PUT", "OPTIONS"}) {
    EXPECT_EQ(ask(method, "/api/explain").status, 405) << method;
    EXPECT_EQ(ask(method, "/api/explain").header("allow"), "POST");
  }
  EXPECT_EQ(ask("DELETE", "/nowhere").status, 404);
}

TEST(Server, a_body_must_be_json_with_a_length) {
  const RunningServer server;
  const std::string start = "POST /api/explain HTTP/1.1\r\nHost: " + server.host() + "\r\n";
  const auto ask = [&](const std::string& rest) { return Client(server.port()).ask(start + rest); };
  EXPECT_EQ(ask("Content-Length: 2\r\n\r\n{}").status, 415);
  EXPECT_EQ(ask("Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}").status, 415);
  EXPECT_EQ(ask("Content-Type: application/jsonp\r\nContent-Length: 2\r\n\r\n{}").status, 415);
  EXPECT_EQ(ask("Content-Type: Application/JSON; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}").status, 400);
  EXPECT_EQ(ask("Content-Type: application/json\r\n\r\n").status, 411);
  EXPECT_EQ(ask("Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n").status,
            411);
  EXPECT_EQ(ask("Content-Type: application/json\r\nContent-Length: -1\r\n\r\n").status, 400);
  EXPECT_EQ(ask("Content-Type: application/json\r\nContent-Length: 2\r\nContent-Length: 9\r\n\r\n{}").status, 400);
  expect_well(server);
}

TEST(Server, a_header_over_the_limit_gets_431) {
  const RunningServer server(impatient());
  EXPECT_EQ(Client(server.port()).ask(get(server, "/", "X: " + std::string(20'000, 'x') + "\r\n")).status, 431);
  EXPECT_EQ(Client(server.port()).ask("GET /" + std::string(200'000, 'x')).status, 431);
  EXPECT_EQ(Client(server.port()).ask(get(server, "/", "X: " + std::string(10'000, 'x') + "\r\n")).status, 200);
}

TEST(Server, rubbish_gets_400) {
  const RunningServer server(impatient());
  for (const std::string& rubbish :
       {std::string("\r\n\r\n\r\n"), std::string("GET\r\n\r\n"), std::string("GET / HTTP/9.9\r\n\r\n"),
        std::string("\x16\x03\x01\x02\x00\x01\x00\x01", 8) + "\r\n\r\n",
        std::string("GET / HTTP/1.1\r\nno colon\r\n\r\n")})
    EXPECT_EQ(Client(server.port()).ask(rubbish).status, 400) << rubbish;
  expect_well(server);
}

TEST(Server, head_tells_what_get_would_and_a_known_tag_saves_the_body) {
  const RunningServer server;
  Client client(server.port());
  client.send("HEAD / HTTP/1.1\r\nHost: " + server.host() + "\r\n\r\n");
  const Reply head = client.receive(true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("content-length"), std::to_string(small_page()[0].bytes.size()));
  client.send("HEAD /nowhere HTTP/1.1\r\nHost: " + server.host() + "\r\n\r\n");
  EXPECT_EQ(client.receive(true).status, 404);
  const Reply known = client.ask(get(server, "/", "If-None-Match: W/\"x\", " + head.header("etag") + "\r\n"));
  EXPECT_EQ(known.status, 304);
  EXPECT_EQ(known.body, "");
  EXPECT_EQ(client.ask(get(server, "/", "If-None-Match: \"other\"\r\n")).status, 200);  // and nothing was out of step
}

TEST(Server, requests_may_follow_one_another_unanswered) {
  const RunningServer server;
  Client client(server.port());
  std::string all;
  for (int i = 0; i < 20; ++i) all += post(server, kSmall) + get(server, "/");
  client.send(all);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(client.receive().body, *explain(kSmall));
    EXPECT_EQ(client.receive().body, small_page()[0].bytes);
  }
  EXPECT_EQ(client.ask(get(server, "/", "Connection: close\r\n")).header("connection"), "close");
  EXPECT_TRUE(client.is_closed());
}

TEST(Server, says_continue_to_a_client_that_waits_for_it) {
  const RunningServer server;
  Client client(server.port());
  const std::string request = post(server, kSmall, "Expect: 100-continue\r\n");
  const std::size_t body = request.size() - std::string(kSmall).size();
  EXPECT_EQ(client.ask(request.substr(0, body)).status, 100);
  EXPECT_EQ(client.ask(request.substr(body)).status, 200);
}

TEST(Server, a_client_that_trickles_is_cut_off_at_the_deadline) {
  const RunningServer server(impatient());
  const std::string request = post(server, kSmall + std::string(200, ' '));
  const std::size_t body = request.find("\r\n\r\n") + 4;
  Client silent(server.port()), in_header(server.port()), in_body(server.port());
  in_body.send(request.substr(0, body));
  for (int i = 0; i < 20; ++i) {  // a byte each 50 ms would take ten seconds
    in_header.send(request.substr(static_cast<std::size_t>(i), 1));
    in_body.send(request.substr(body + static_cast<std::size_t>(i), 1));
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_TRUE(silent.is_closed());
  EXPECT_TRUE(in_header.is_closed());
  EXPECT_TRUE(in_body.is_closed());
  expect_well(server);
}

TEST(Server, a_request_cut_short_harms_nobody) {
  const RunningServer server;
  const std::string request = post(server, kSmall);
  for (std::size_t length = 0; length < request.size(); length += 7)
    Client(server.port()).send(request.substr(0, length));
  expect_well(server);
}

TEST(Server, a_client_that_does_not_read_is_cut_off) {
  Limits limits = impatient();
  limits.write = 300ms;
  const RunningServer server(limits, std::string(64U << 20U, 'x'));
  Client client(server.port());
  client.send(get(server, "/api/opened"));
  std::this_thread::sleep_for(1s);
  EXPECT_LT(client.receive().body.size(), 64U << 20U);
  expect_well(server);
}

TEST(Server, two_hundred_clients_at_once_are_served_though_half_of_them_stall) {
  const RunningServer server;
  const std::string expected = *explain(kSmall), request = post(server, kSmall);
  std::vector<std::unique_ptr<Client>> stalled, good;
  for (std::size_t i = 0; i < 100; ++i) {
    stalled.push_back(std::make_unique<Client>(server.port()));
    stalled.back()->send(request.substr(0, i * request.size() / 100));
    good.push_back(std::make_unique<Client>(server.port()));
  }
  for (int round = 0; round < 3; ++round) {
    for (const auto& client : good) client->send(request);
    for (const auto& client : good) EXPECT_EQ(client->receive().body, expected);
  }
}

TEST(Server, a_client_too_many_is_told_so) {
  Limits limits;
  limits.connections = 3;
  const RunningServer server(limits);
  std::vector<std::unique_ptr<Client>> taken;
  for (int i = 0; i < 3; ++i) {
    taken.push_back(std::make_unique<Client>(server.port()));
    EXPECT_EQ(taken.back()->ask(get(server, "/")).status, 200);
  }
  Client client(server.port());
  const Reply reply = client.ask(get(server, "/"));
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.header("retry-after"), "1");
  EXPECT_NE(message_of(reply).find("all 3 connections"), std::string::npos);
  taken.clear();
  std::this_thread::sleep_for(100ms);
  expect_well(server);
}

TEST(Server, stops_while_clients_wait_and_work_is_under_way) {
  RunningServer server;
  std::string row = "[1";
  for (int i = 1; i < 64; ++i) row += ",1";
  std::string matrix = "[" + row + "]";
  for (int i = 1; i < 300; ++i) matrix += "," + row + "]";
  const std::string request = post(server, "{\"q\":[" + matrix + "],\"k\":[" + matrix + "],\"v\":[" + matrix + "]}");
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<Client>(server.port()));
    clients.back()->send(i % 2 == 0 ? request : request.substr(0, 100));
  }
  server.stop();
  for (const auto& client : clients) client->receive();  // whatever came; nothing hangs
}

TEST(Server, a_port_that_is_taken_is_named_with_what_to_do) {
  const RunningServer server;
  const Result<std::unique_ptr<Server>> second = Server::listen(Site(small_page()), server.port());
  ASSERT_FALSE(second.is_ok());
  EXPECT_EQ(second.status().message(), "port " + std::to_string(server.port()) +
                                           " of 127.0.0.1 is in use, perhaps by another qkv explore; give another one "
                                           "with --port, or --port 0 for any that is free");
}

}  // namespace
}  // namespace qkv::server
