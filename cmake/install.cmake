# What `cmake --install` makes of the build: a tree that may be moved, and found by CMake and by pkg-config. It has two
# components: `runtime` is libtessera with tsr, `compiler` all else.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

foreach(folder BINDIR LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
    message(FATAL_ERROR "CMAKE_INSTALL_${folder} must be relative, so that the installed tree may be moved")
  endif()
endforeach()
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Tessera)
# LLVM need not be where the loader looks.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

# tessera_install_programs(component targets...): programs that find the libraries beside them.
function(tessera_install_programs component)
  file(RELATIVE_PATH libraries /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
  set_target_properties(${ARGN} PROPERTIES INSTALL_RPATH "$ORIGIN/${libraries}")
  install(TARGETS ${ARGN} COMPONENT ${component})
endfunction()

# tessera_install_library(target NAME name COMPONENT component DESCRIPTION text): a shared library with its public
# headers, which are in include/. Here and in the CMake package it is Tessera::<name>; pkg-config knows its file's name.
function(tessera_install_library target)
  cmake_parse_arguments(LIBRARY "" "NAME;COMPONENT;DESCRIPTION" "" ${ARGN})
  add_library(Tessera::${LIBRARY_NAME} ALIAS ${target})
  target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${LIBRARY_NAME})
  install(TARGETS ${target} EXPORT ${target} COMPONENT ${LIBRARY_COMPONENT}
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT ${target} FILE Tessera-${LIBRARY_COMPONENT}.cmake NAMESPACE Tessera:: DESTINATION ${package_folder}
          COMPONENT ${LIBRARY_COMPONENT})

  get_target_property(library ${target} OUTPUT_NAME)
  if(NOT library)
    set(library ${target})
  endif()
  string(REGEX REPLACE "[^/]+" ".." prefix ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/library.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${library}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT ${LIBRARY_COMPONENT})
endfunction()

# What a version promises: docs/stability.md.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatible SameMinorVersion)
else()
  set(compatible SameMajorVersion)
endif()
set(package ${CMAKE_BINARY_DIR}/TesseraConfig.cmake)
set(package_version ${CMAKE_BINARY_DIR}/TesseraConfigVersion.cmake)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/TesseraConfig.cmake.in ${package}
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${package_version} COMPATIBILITY ${compatible})
foreach(component runtime compiler)  # each may be installed alone
  install(FILES ${package} ${package_version} DESTINATION ${package_folder} COMPONENT ${component})
  install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT ${component})
endforeach()
