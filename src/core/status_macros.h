// Early return on error, the two forms that the rest of the code uses.
#ifndef QKV_SRC_CORE_STATUS_MACROS_H_
#define QKV_SRC_CORE_STATUS_MACROS_H_

#include <utility>

#include "qkv/status.h"

#define QKV_CONCAT_INNER(a, b) a##b
#define QKV_CONCAT(a, b) QKV_CONCAT_INNER(a, b)

// QKV_RETURN_IF_ERROR(status_expression);
#define QKV_RETURN_IF_ERROR(expression)                                                                                \
  do {                                                                                                                 \
    if (::qkv::Status status_of_expression = (expression); !status_of_expression.is_ok()) return status_of_expression; \
  } while (false)

// QKV_ASSIGN_OR_RETURN(auto value, result_expression);
#define QKV_ASSIGN_OR_RETURN(declaration, expression) \
  QKV_ASSIGN_OR_RETURN_IMPL(QKV_CONCAT(qkv_result_, __LINE__), declaration, expression)
// NOLINTBEGIN(bugprone-macro-parentheses): a declaration cannot stand in parentheses
#define QKV_ASSIGN_OR_RETURN_IMPL(result, declaration, expression) \
  auto result = (expression);                                      \
  if (!result.is_ok()) return result.status();                     \
  declaration = std::move(result).value()
// NOLINTEND(bugprone-macro-parentheses)

#endif  // QKV_SRC_CORE_STATUS_MACROS_H_
