# Functions that make every target of the project, so that a flag is written once.
#
#   octavo_library(NAME SOURCES ... DEPENDS ... [PRIVATE_DEPENDS ...])   static library NAME, alias octavo::NAME
#   octavo_program(NAME SOURCES ... DEPENDS ...)                          executable, checks its CPU before main
#   octavo_test(NAME LABELS ... SOURCES ... DEPENDS ...)                  GoogleTest program, discovered test by test
#   octavo_fuzz(NAME SOURCES ... DEPENDS ...)                             libFuzzer program, only with OCTAVO_FUZZ
#   octavo_chapter(DIR SOURCES ... [KERNELS a.cu ...] [TOPICS f] TESTS ... [DEMO f] [BENCH f] [PROFILE f]
#                  [PROFILE_TEST f] DEPENDS ...)
#       chNN, chNN_test, chNN_demo, chNN_bench, chNN_profile and chNN_profile_test; TOPICS is what tests, benchmark and
#       profile share

# The flags of all our own code. No -ffast-math, and no contraction: two inlined copies of one formula must round alike.
function(octavo_flags target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wshadow -Wconversion -Werror -ffp-contract=off -march=${OCTAVO_MARCH})
  target_include_directories(${target} PUBLIC "${CMAKE_SOURCE_DIR}")
  if(OCTAVO_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${OCTAVO_SANITIZE} -fno-omit-frame-pointer)
    if(OCTAVO_SANITIZE MATCHES undefined)
      target_compile_options(${target} PUBLIC -fno-sanitize-recover=undefined)
    endif()
    target_link_options(${target} PUBLIC -fsanitize=${OCTAVO_SANITIZE})
  endif()
  if(OCTAVO_FUZZ)
    target_compile_options(${target} PUBLIC -fsanitize=fuzzer-no-link)
  endif()
endfunction()

function(octavo_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(octavo_${name} STATIC ${ARG_SOURCES})
  add_library(octavo::${name} ALIAS octavo_${name})
  target_link_libraries(octavo_${name} PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
  octavo_flags(octavo_${name})
endfunction()

function(octavo_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES} $<TARGET_OBJECTS:octavo_cpu_check>)
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
  octavo_flags(${name})
endfunction()

function(octavo_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LABELS" ${ARGN})
  octavo_program(${name} SOURCES ${ARG_SOURCES} DEPENDS ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE OCTAVO_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  if("unit" IN_LIST ARG_LABELS)  # contract tests name their backend first: common/testing/contract.h
    octavo_discover(${name} "-*/simt_*:*/cuda_*" ${ARG_LABELS})
    octavo_discover(${name} "*/simt_*" simt)
    octavo_discover(${name} "*/cuda_*" gpu)
  else()
    octavo_discover(${name} "*" ${ARG_LABELS})
  endif()
endfunction()

# Makes a ctest test of each test of a GoogleTest program that the filter lets through.
function(octavo_discover name filter)
  set(properties TIMEOUT 300)
  foreach(label IN LISTS ARGN)  # a list in one LABELS property is lost on the way; repeating the key keeps all
    list(APPEND properties LABELS ${label})
  endforeach()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 TEST_FILTER "${filter}" PROPERTIES ${properties})
endfunction()

function(octavo_fuzz name)
  if(NOT OCTAVO_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  octavo_program(${name} SOURCES ${ARG_SOURCES} DEPENDS ${ARG_DEPENDS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()

function(octavo_chapter dir)
  cmake_parse_arguments(ARG "" "DEMO;BENCH;PROFILE;PROFILE_TEST;TOPICS" "SOURCES;KERNELS;TESTS;DEPENDS" ${ARGN})
  string(SUBSTRING "${dir}" 0 2 number)
  set(chapter ch${number})
  octavo_library(${chapter} SOURCES ${ARG_SOURCES} DEPENDS ${ARG_DEPENDS})
  if(ARG_KERNELS)
    octavo_kernels(octavo_${chapter} SOURCES ${ARG_KERNELS})
  endif()
  set(shared octavo::${chapter} octavo::testing)
  if(ARG_TOPICS)
    octavo_library(${chapter}_topics SOURCES ${ARG_TOPICS} DEPENDS ${shared})
    list(APPEND shared octavo::${chapter}_topics)
  endif()
  if(ARG_TESTS)
    octavo_test(${chapter}_test LABELS unit SOURCES ${ARG_TESTS} DEPENDS ${shared})
  endif()
  if(ARG_DEMO)
    octavo_program(${chapter}_demo SOURCES ${ARG_DEMO} DEPENDS ${shared})
  endif()
  if(ARG_BENCH)
    octavo_program(${chapter}_bench SOURCES ${ARG_BENCH} DEPENDS ${shared} octavo::bench)
  endif()
  if((ARG_PROFILE OR ARG_PROFILE_TEST) AND NOT OCTAVO_SANITIZE)
    add_library(octavo_${chapter}_profiled OBJECT)  # compiled once for the program and its test
    target_link_libraries(octavo_${chapter}_profiled PUBLIC ${shared})
    octavo_flags(octavo_${chapter}_profiled)
    octavo_profiled_kernels(octavo_${chapter}_profiled SOURCES ${ARG_KERNELS})
    set(shared octavo_${chapter}_profiled ${shared})
    if(ARG_PROFILE)
      octavo_program(${chapter}_profile SOURCES ${ARG_PROFILE} DEPENDS ${shared})
    endif()
    if(ARG_PROFILE_TEST)
      octavo_test(${chapter}_profile_test LABELS simt SOURCES ${ARG_PROFILE_TEST} DEPENDS ${shared})
    endif()
  endif()
endfunction()
