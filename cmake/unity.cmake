# Sources that are compiled together (TESSERA_UNITY; bench/NOTES.md has what it saves): up to twelve of one folder,
# of those that open the ops of the same level of IR (`using tile::OpKind;`). The preset `clang` compiles each by
# itself, so that a source that forgets an include is found.

# tessera_unity(target [ALONE files...]): the target's sources are compiled together; those files, whose names are
# others', by themselves.
function(tessera_unity target)
  cmake_parse_arguments(UNITY "" "" "ALONE" ${ARGN})
  if(NOT TESSERA_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    get_filename_component(folder ${source} DIRECTORY)
    get_filename_component(name ${source} NAME)
    if(NOT EXISTS ${source} OR name IN_LIST UNITY_ALONE)
      continue()
    endif()
    file(STRINGS ${source} level REGEX "^using [a-z]+::OpKind;" LIMIT_COUNT 1)
    string(MAKE_C_IDENTIFIER "${folder} ${level}" group)
    list(APPEND of_${group} ${source})
    list(LENGTH of_${group} count)
    math(EXPR part "(${count} - 1) / 12")
    string(SHA1 group "${group} ${part}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
endfunction()
