# Run by the build: writes OUT, a C++ source that holds every file under PAGE. The assembler reads the bytes (.incbin),
# which takes no time however many there are.
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE files RELATIVE ${PAGE} ${PAGE}/*)
list(FILTER files EXCLUDE REGEX "\\.map$")
list(SORT files)
if(NOT "index.html" IN_LIST files)
  message(FATAL_ERROR "${PAGE} has no index.html")
endif()

set(bytes "")
set(declarations "")
set(rows "")
set(number 0)
foreach(file IN LISTS files)
  file(SHA256 ${PAGE}/${file} tag)
  string(SUBSTRING ${tag} 0 16 tag)
  string(APPEND bytes "    \"qkv_page_${number}:\\n.incbin \\\"${PAGE}/${file}\\\"\\nqkv_page_${number}_end:\\n.byte 0\\n\"\n")
  string(APPEND declarations "extern const char qkv_page_${number}[], qkv_page_${number}_end[];\n")
  string(APPEND rows "      asset(\"/${file}\", qkv_page_${number}, qkv_page_${number}_end, \"${tag}\"),\n")
  math(EXPR number "${number} + 1")
endforeach()

file(WRITE ${OUT} "// Generated from the built page by cmake/write_embedded_page.cmake.
#include \"apps/server/embedded_page.h\"

asm(\".pushsection .rodata\\n\"
${bytes}    \".popsection\\n\");

extern \"C\" {
${declarations}}

namespace qkv::server {
namespace {

Asset asset(const char* path, const char* begin, const char* end, const char* tag) {
  return {path, {begin, static_cast<std::size_t>(end - begin)}, tag};
}

}  // namespace

const Page& embedded_page() {
  static const Page page = {
${rows}  };
  return page;
}

}  // namespace qkv::server
")
