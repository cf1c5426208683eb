# Run by the build: writes OUT, a C++ source that holds the file REPORT, as write_embedded_page.cmake holds the page's.
cmake_minimum_required(VERSION 3.25)
file(WRITE ${OUT} "// Generated from the built report by cmake/write_embedded_report.cmake.
#include \"apps/server/embedded_page.h\"

asm(\".pushsection .rodata\\n\"
    \"qkv_report:\\n.incbin \\\"${REPORT}\\\"\\nqkv_report_end:\\n.byte 0\\n\"
    \".popsection\\n\");

extern \"C\" {
extern const char qkv_report[], qkv_report_end[];
}

namespace qkv::server {

std::string_view embedded_report() { return {qkv_report, static_cast<std::size_t>(qkv_report_end - qkv_report)}; }

}  // namespace qkv::server
")
