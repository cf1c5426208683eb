# `cmake --install`: the headers, the library, the tool.
include(GNUInstallDirs)
if(NOT QKV_BUILD_PYTHON)
  install(DIRECTORY include/qkv DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(TARGETS qkv ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  if(QKV_BUILD_CLI)
    install(TARGETS qkv_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endif()
