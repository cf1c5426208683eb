// From Beast's parser to what the server looks at.
#ifndef QKV_APPS_SERVER_PARSED_HEAD_H_
#define QKV_APPS_SERVER_PARSED_HEAD_H_

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <optional>

#include "apps/server/request_head.h"

namespace qkv::server {

// The fields of a request whose header has been parsed. `length`: its Content-Length.
RequestHead head_of(const boost::beast::http::request<boost::beast::http::string_body>& request, bool is_chunked,
                    std::optional<std::uint64_t> length);

}  // namespace qkv::server

#endif  // QKV_APPS_SERVER_PARSED_HEAD_H_
