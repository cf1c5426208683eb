// What the weights say in words: where a query looks, what a sink takes, and who looks at whom.
#ifndef QKV_APPS_CLI_EXPLAIN_READING_H_
#define QKV_APPS_CLI_EXPLAIN_READING_H_

#include <cstdint>

#include "apps/cli/page_writer.h"

namespace qkv::cli {

// "bank looks at river most, with 0.62; then ...", of the row and the head that the document looks at.
void write_reading(PageWriter& page);

// "The sink takes the rest, 0.77 ...", of the row that is looked at; nothing where there is no sink.
void write_sink(PageWriter& page, std::int64_t head);

// For every query the keys with the largest weights, of the head that the document looks at.
void write_who_looks_at_whom(PageWriter& page);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_EXPLAIN_READING_H_
