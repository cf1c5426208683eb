# `cmake --install`: the headers, the library, the tool.
include(GNUInstallDirs)
if(NOT QKV_BUILD_PYTHON)
  install(DIRECTORY include/qkv DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(TARGETS qkv ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  if(QKV_BUILD_CLI)
    install(TARGETS qkv_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endif()

# The manual page and the completions are the tool's own words, so the tool is asked for them when it is installed.
if(QKV_BUILD_CLI AND NOT QKV_BUILD_PYTHON AND NOT CMAKE_CROSSCOMPILING)
  function(qkv_install_document file folder)  # the rest: what the tool is called with
    install(CODE "
      execute_process(COMMAND $<TARGET_FILE:qkv_tool> ${ARGN}
                      OUTPUT_FILE ${PROJECT_BINARY_DIR}/generated/${file} COMMAND_ERROR_IS_FATAL ANY)")
    install(FILES ${PROJECT_BINARY_DIR}/generated/${file} DESTINATION ${folder})
  endfunction()
  qkv_install_document(qkv.1 ${CMAKE_INSTALL_MANDIR}/man1 man)
  qkv_install_document(qkv ${CMAKE_INSTALL_DATADIR}/bash-completion/completions completions bash)
  qkv_install_document(_qkv ${CMAKE_INSTALL_DATADIR}/zsh/site-functions completions zsh)
  qkv_install_document(qkv.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d completions fish)
endif()
