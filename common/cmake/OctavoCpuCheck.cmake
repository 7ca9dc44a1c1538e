# Writes octavo_cpu_features.h: the instruction sets that -march=${OCTAVO_MARCH} lets the compiler use, as names that
# __builtin_cpu_supports knows.
execute_process(
  COMMAND ${CMAKE_CXX_COMPILER} -march=${OCTAVO_MARCH} -dM -E -x c++ /dev/null
  OUTPUT_VARIABLE macros RESULT_VARIABLE result ERROR_VARIABLE error)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "the compiler does not take -march=${OCTAVO_MARCH}: ${error}")
endif()
set(features "")
foreach(pair "__SSE4_2__=sse4.2" "__AVX__=avx" "__AVX2__=avx2" "__FMA__=fma" "__BMI2__=bmi2" "__AVX512F__=avx512f"
             "__AVX512BW__=avx512bw" "__AVX512VL__=avx512vl" "__AVX512DQ__=avx512dq")
  string(REPLACE "=" ";" pair "${pair}")
  list(GET pair 0 macro)
  list(GET pair 1 feature)
  if(macros MATCHES "#define ${macro} ")
    string(APPEND features " X(\"${feature}\")")
  endif()
endforeach()
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/octavo_cpu_features.h" CONTENT
"#pragma once
#define OCTAVO_BUILT_FOR \"${OCTAVO_MARCH}\"
#define OCTAVO_CPU_FEATURES(X)${features}
")
add_library(octavo_cpu_check OBJECT "${CMAKE_SOURCE_DIR}/common/base/cpu_check.cpp")
target_include_directories(octavo_cpu_check PRIVATE "${CMAKE_BINARY_DIR}/generated")
