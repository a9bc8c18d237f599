# What all tests have: a label for each family and a time limit.

# tessera_unit_entries(layer sources...): one test for each file with test cases of unit_<layer>, so
# that slow files are seen and run side by side. A file all of whose cases have a tag [shard-N], in their first line,
# has one for each N. A file whose case has a tag [files-FOLDER] has one for each tests/FOLDER/*.tsr, by which the case
# names its sections: FOLDER/NAME.
function(tessera_unit_entries layer)
  foreach(source ${ARGN})
    file(STRINGS ${source} cases REGEX "^TEST_CASE|^TEMPLATE_TEST_CASE")
    get_filename_component(stem ${source} NAME_WE)
    string(REGEX REPLACE "_test$" "" name ${stem})
    string(REGEX MATCHALL "\\[shard-[0-9]+\\]" shards "${cases}")
    list(LENGTH cases count)
    list(LENGTH shards in_shards)
    if(in_shards AND NOT in_shards EQUAL count)
      message(FATAL_ERROR "${source}: ${count} test cases, of which ${in_shards} have a shard")
    endif()
    list(REMOVE_DUPLICATES shards)
    # Catch2 gives each test case its file's name as a tag.
    foreach(shard ${shards})
      string(REGEX REPLACE "[^0-9]" "" number ${shard})
      add_test(NAME unit_${layer}/${name}_${number} COMMAND unit_${layer} --warn NoTests -\# "[#${stem}]${shard}")
    endforeach()
    if(cases MATCHES "\\[files-([a-z]+)\\]")
      set(folder ${CMAKE_MATCH_1})
      file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/*.tsr)
      foreach(file ${files})
        get_filename_component(each ${file} NAME_WE)
        add_test(NAME ${folder}/${each} COMMAND unit_${layer} --warn NoTests -\# "[#${stem}]" -c ${each})
      endforeach()
    elseif(cases AND NOT shards)
      add_test(NAME unit_${layer}/${name} COMMAND unit_${layer} --warn NoTests -\# "[#${stem}]")
    endif()
  endforeach()
endfunction()

# tessera_test_facts(seconds): the tests of this directory get the label of their family, which is
# the name up to the first `_` or `/` (`ctest -L e2e`), or `docs` where the name ends in `_docs`, this time limit
# where they have none, and a cache of machine code in the build folder.
function(tessera_test_facts seconds)
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test ${tests})
    string(REGEX REPLACE ".*_docs$" "docs" family ${test})
    string(REGEX REPLACE "[_/].*" "" family ${family})
    get_test_property(${test} TIMEOUT limit)
    if(NOT limit)
      set(limit ${seconds})
    endif()
    if(TESSERA_SANITIZE OR TESSERA_SANITIZE_THREADS)
      math(EXPR limit "6 * ${limit}")
    endif()
    set_tests_properties(${test} PROPERTIES TIMEOUT ${limit} LABELS ${family})
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT TESSERA_CACHE=${CMAKE_BINARY_DIR}/cache)
  endforeach()
endfunction()
