# `cmake --install`: the headers, the libraries and how to find them (component development), the tool.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# What a static libqkv.a has to be linked with: its own dependencies exist as shared libraries only.
set(qkv_static_libraries hwy)
if(QKV_THREADS STREQUAL "tbb")
  list(APPEND qkv_static_libraries tbb)
elseif(QKV_THREADS STREQUAL "std")
  list(APPEND qkv_static_libraries pthread)
endif()
list(TRANSFORM qkv_static_libraries PREPEND -l OUTPUT_VARIABLE qkv_static_flags)
list(JOIN qkv_static_flags " " qkv_static_flags)
file(RELATIVE_PATH qkv_include_from_lib /${CMAKE_INSTALL_LIBDIR} /${CMAKE_INSTALL_INCLUDEDIR})

if(NOT QKV_BUILD_PYTHON)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/qkv)
  set(generated ${PROJECT_BINARY_DIR}/generated)
  configure_package_config_file(cmake/qkv-config.cmake.in ${generated}/qkv-config.cmake INSTALL_DESTINATION ${package}
                                PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
  write_basic_package_version_file(${generated}/qkv-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(DIRECTORY include/qkv DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
  install(FILES ${generated}/qkv-config.cmake ${generated}/qkv-config-version.cmake DESTINATION ${package}
          COMPONENT development)
  install(TARGETS qkv ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  if(QKV_BUILD_SHARED)
    install(TARGETS qkv_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
            NAMELINK_COMPONENT development)
  endif()
  foreach(name IN ITEMS qkv qkv-static)
    configure_file(cmake/${name}.pc.in ${generated}/${name}.pc @ONLY)
    install(FILES ${generated}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
  endforeach()
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
