include(CMakePackageConfigHelpers)
install(TARGETS wisp_shared wisp_static EXPORT wisp-targets)
install(TARGETS wisp_tool)
if(WISP_BLAS)
  install(TARGETS wisp_blas DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/wisp)
endif()
# The static library's private dependencies are named in its export; the shared one hides them.
install(TARGETS wisp_deps wisp_flags EXPORT wisp-targets)
if(NOT WISP_HAVE_MPI)
  set(without_mpi PATTERN mpi.h EXCLUDE)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/wisp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} ${without_mpi})
install(FILES ${PROJECT_SOURCE_DIR}/docs/wisp.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/wisp)
install(EXPORT wisp-targets NAMESPACE wisp:: DESTINATION ${cmake_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/wisp-config.cmake.in wisp-config.cmake
                              INSTALL_DESTINATION ${cmake_dir})
write_basic_package_version_file(wisp-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/wisp-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/wisp-config-version.cmake
        DESTINATION ${cmake_dir})
# Found from where it lies, so that an installation can be moved.
file(RELATIVE_PATH WISP_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${PROJECT_SOURCE_DIR}/cmake/wisp.pc.in wisp.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/wisp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
