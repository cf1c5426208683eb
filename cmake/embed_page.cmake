# Builds the explorer's page and the report of a check from web/ and makes a source of each: what
# apps/server/embedded_page.h declares. The panel for notebooks stays a file, qkv_widget_file, by the target qkv_widget.
find_program(QKV_NPM npm)
find_program(QKV_NODE node)
if(NOT QKV_NPM OR NOT QKV_NODE)
  message(FATAL_ERROR "qkv explore needs its page, which is built by node and npm; they were not found. On Debian or "
                      "Ubuntu: apt-get install nodejs npm; or leave the page out with -DQKV_EMBED_PAGE=OFF.")
endif()

file(GLOB_RECURSE page_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/src/* ${PROJECT_SOURCE_DIR}/web/public/*)
file(GLOB page_settings CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/*.html ${PROJECT_SOURCE_DIR}/web/*.json
     ${PROJECT_SOURCE_DIR}/web/vite*.ts ${PROJECT_SOURCE_DIR}/examples/*.json ${PROJECT_SOURCE_DIR}/examples/lesson/*)
set(qkv_embedded_page ${PROJECT_BINARY_DIR}/generated/embedded_page.cc)
add_custom_command(
  OUTPUT ${qkv_embedded_page}
  COMMAND ${PROJECT_SOURCE_DIR}/scripts/page.sh http ${PROJECT_BINARY_DIR}/page
  COMMAND ${CMAKE_COMMAND} -DPAGE=${PROJECT_BINARY_DIR}/page -DOUT=${qkv_embedded_page}
          -P ${CMAKE_CURRENT_LIST_DIR}/write_embedded_page.cmake
  DEPENDS ${page_sources} ${page_settings} ${PROJECT_SOURCE_DIR}/scripts/page.sh
          ${CMAKE_CURRENT_LIST_DIR}/write_embedded_page.cmake
  COMMENT "Building the explorer's page" USES_TERMINAL VERBATIM)

# After the page: both install what they are built with into the same folder.
set(qkv_embedded_report ${PROJECT_BINARY_DIR}/generated/embedded_report.cc)
add_custom_command(
  OUTPUT ${qkv_embedded_report}
  COMMAND ${PROJECT_SOURCE_DIR}/scripts/page.sh report ${PROJECT_BINARY_DIR}/report
  COMMAND ${CMAKE_COMMAND} -DREPORT=${PROJECT_BINARY_DIR}/report/report.html -DOUT=${qkv_embedded_report}
          -P ${CMAKE_CURRENT_LIST_DIR}/write_embedded_report.cmake
  DEPENDS ${qkv_embedded_page} ${CMAKE_CURRENT_LIST_DIR}/write_embedded_report.cmake
  COMMENT "Building the report of a check" USES_TERMINAL VERBATIM)

set(qkv_widget_file ${PROJECT_BINARY_DIR}/widget/widget.js)
add_custom_command(
  OUTPUT ${qkv_widget_file}
  COMMAND ${PROJECT_SOURCE_DIR}/scripts/page.sh widget ${PROJECT_BINARY_DIR}/widget
  DEPENDS ${qkv_embedded_report}
  COMMENT "Building the panel for notebooks" USES_TERMINAL VERBATIM)
add_custom_target(qkv_widget DEPENDS ${qkv_widget_file})
