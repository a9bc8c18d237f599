# Headers that nearly every source of a room reads, compiled once (TESSERA_PRECOMPILE; bench/NOTES.md
# has what it saves). A set has what seldom changes: an edit of one of its headers compiles all of its
# readers anew. The presets for checks go without; `clang` finds a source that forgets an include.

set(standard_headers <algorithm> <array> <charconv> <cstdint> <functional> <map> <memory> <numeric>
    <optional> <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>)
set(ir_headers <ir/core/builder.h> <ir/core/dim_facts.h> <ir/core/module.h> <support/check.h>
    <support/diagnostic.h>)

# tessera_header_set(name [HIDDEN] LINK libraries... HEADERS headers...): a set that libraries share;
# HIDDEN where their symbols are.
function(tessera_header_set name)
  cmake_parse_arguments(SET "HIDDEN" "" "LINK;HEADERS" ${ARGN})
  if(NOT TESSERA_PRECOMPILE)
    return()
  endif()
  set(empty ${CMAKE_BINARY_DIR}/empty.cc)
  file(CONFIGURE OUTPUT ${empty} CONTENT "")
  add_library(${name} OBJECT ${empty})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${SET_LINK})
  target_precompile_headers(${name} PRIVATE ${SET_HEADERS})
  # ccache may give the set of headers as they were: it is compiled anew.
  set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER "")
  if(SET_HIDDEN)
    set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endif()
endfunction()

# tessera_precompiled(set targets...): the targets read the set.
function(tessera_precompiled set)
  if(NOT TESSERA_PRECOMPILE)
    return()
  endif()
  foreach(target ${ARGN})
    target_precompile_headers(${target} REUSE_FROM ${set})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      target_compile_options(${target} PRIVATE -fPIC)  # as the set is compiled
    endif()
  endforeach()
endfunction()

if(TESSERA_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # What -Wno-restrict is for (CMakeLists.txt): a header that is precompiled is no system header to these.
  foreach(warning array-bounds stringop-overflow stringop-overread)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-${warning}>)
  endforeach()
endif()
if(TESSERA_PRECOMPILE AND CCACHE)
  # What ccache asks for before it keeps objects that read precompiled headers.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  else()
    # The set is the same whenever its headers were written.
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endif()

tessera_header_set(headers_standard LINK fmt::fmt HEADERS ${standard_headers} <fmt/format.h>)
tessera_header_set(headers_ir LINK fmt::fmt HEADERS ${standard_headers} <fmt/format.h> ${ir_headers})
tessera_header_set(headers_frontend LINK fmt::fmt
                   HEADERS ${standard_headers} <fmt/format.h> ${ir_headers} <frontend/evaluate/evaluate.h>)
tessera_header_set(headers_command_line LINK fmt::fmt CLI11::CLI11
                   HEADERS ${standard_headers} <fmt/format.h> <CLI/CLI.hpp>)
tessera_header_set(headers_tools LINK fmt::fmt CLI11::CLI11
                   HEADERS ${standard_headers} <fmt/format.h> ${ir_headers} <CLI/CLI.hpp>)
