# What holds for every target: language level, options, packages. Flags are set per target in OctavoTargets.cmake.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

set(OCTAVO_MARCH "native" CACHE STRING "-march of the host code; a binary checks at start that its CPU has these instructions")
set(OCTAVO_SANITIZE "" CACHE STRING "value of -fsanitize for everything that is ours: address,undefined or thread")
if(OCTAVO_SANITIZE)  # light optimization: g++ takes minutes over some kernels at -O2; and View's assertions stay on
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
endif()
option(OCTAVO_FUZZ "build the libFuzzer targets (clang only)" OFF)
option(OCTAVO_CUDA "also build the kernels with nvcc" OFF)

find_package(Threads REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_path(PCRE2_INCLUDE_DIR pcre2.h REQUIRED)  # not through pkg-config, which a machine may lack
find_library(PCRE2_LIBRARY pcre2-8 REQUIRED)
add_library(PCRE2::PCRE2 UNKNOWN IMPORTED)
set_target_properties(PCRE2::PCRE2 PROPERTIES
  IMPORTED_LOCATION "${PCRE2_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${PCRE2_INCLUDE_DIR}")
find_package(rapidcheck QUIET)
include(GoogleTest)

message(STATUS "Octavo: ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, -march=${OCTAVO_MARCH}, ${CMAKE_BUILD_TYPE}")
