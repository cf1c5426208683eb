# What the browser's build takes from the host: header-only libraries, linked one by one, since the folder that they lie
# in holds the host's C library too.
set(qkv_wasm_headers ${PROJECT_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${qkv_wasm_headers})

function(qkv_borrow name folder header package)
  find_path(QKV_${name}_INCLUDE ${folder}/${header} PATHS /usr/include /usr/local/include NO_CMAKE_FIND_ROOT_PATH)
  if(NOT QKV_${name}_INCLUDE)
    message(FATAL_ERROR "qkv needs ${name} (${folder}/${header} was not found). On Debian or Ubuntu: apt-get install "
                        "${package}; elsewhere install ${name} and set QKV_${name}_INCLUDE to its folder.")
  endif()
  file(CREATE_LINK ${QKV_${name}_INCLUDE}/${folder} ${qkv_wasm_headers}/${folder} SYMBOLIC)
  add_library(qkv_${name} INTERFACE)
  target_include_directories(qkv_${name} SYSTEM INTERFACE ${qkv_wasm_headers})
endfunction()

qkv_borrow(highway hwy highway.h libhwy-dev)
qkv_borrow(json nlohmann json.hpp nlohmann-json3-dev)
# The module has one target, so nothing of libhwy is needed.
target_compile_definitions(qkv_highway INTERFACE HWY_COMPILE_ONLY_STATIC)

add_library(qkv_threads INTERFACE)
if(NOT QKV_THREADS STREQUAL "serial")
  message(FATAL_ERROR "QKV_THREADS is '${QKV_THREADS}'; WebAssembly has serial only")
endif()
