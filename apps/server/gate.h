// Keeps other sites out: a page from elsewhere that the reader's browser shows must not talk to this server.
#ifndef QKV_APPS_SERVER_GATE_H_
#define QKV_APPS_SERVER_GATE_H_

#include <cstdint>
#include <optional>

#include "apps/server/answer.h"
#include "apps/server/request_head.h"

namespace qkv::server {

// The refusal of a request, absent for one that may come in.
//   400: no Host, or several.
//   421: a Host that is not this machine at `port`. A site whose name was made to point at 127.0.0.1 ("DNS rebinding")
//        has its own name there.
//   403: an Origin other than this server, or a browser that says that another site asks. Following a link to the page
//        from elsewhere is let in: nobody else can read what is shown.
std::optional<Answer> refuse_foreign(const RequestHead& head, std::uint16_t port);

}  // namespace qkv::server

#endif  // QKV_APPS_SERVER_GATE_H_
