# Kernel sources: one .cu file, compiled twice.
#
#   octavo_kernels(TARGET SOURCES a.cu b.cu ...)
#       adds the files to TARGET for the executor, through a generated one-line .cpp each (CMake gives a file one language
#       a directory); with OCTAVO_CUDA also through nvcc. Both halves end up in TARGET: the .cu wraps its host entry points
#       in `namespace SIMT_BACKEND`, so the two objects share no symbol (common/simt/backend.h).
#   octavo_profiled_kernels(TARGET SOURCES a.cu b.cu ...)
#       adds the files to an executable, compiled so that each access reports to common/simt/profile; they take the place
#       of the same kernels in the libraries it links
#   octavo_profile(NAME KERNELS a.cu ... SOURCES main.cpp ... DEPENDS ...)
#       program with profiled kernels. There are no profiles in a sanitizer build.
#
# OCTAVO_CUDA: nvcc from the path or from /usr/local/cuda, sm_80 and sm_90 unless CMAKE_CUDA_ARCHITECTURES says otherwise.

find_path(OCTAVO_CUDA_INCLUDE cuda_bf16.h HINTS "$ENV{CUDA_PATH}/include" /usr/local/cuda/include
  DOC "CUDA headers; without them the executor has its own 8- and 16-bit types, of the same bits")
option(OCTAVO_SIMT_CUDA_HEADERS "let the executor use CUDA's own number types when the headers are found" ON)

if(OCTAVO_CUDA)
  if(OCTAVO_SANITIZE)
    message(FATAL_ERROR "OCTAVO_CUDA and OCTAVO_SANITIZE exclude each other")
  endif()
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(CMAKE_CUDA_COMPILER nvcc HINTS "$ENV{CUDA_PATH}/bin" /usr/local/cuda/bin)
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real CACHE STRING "the GPUs that nvcc compiles for")
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 knows C++20 for no nvcc
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
endif()

# Sets `out` to one generated .cpp for each .cu, below kernels/`folder` of the build directory.
function(octavo_simt_wrappers out folder)
  set(wrappers "")
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(GET path STEM LAST_ONLY stem)
    set(wrapper "${CMAKE_CURRENT_BINARY_DIR}/kernels/${folder}/${stem}.cpp")
    file(CONFIGURE OUTPUT "${wrapper}" CONTENT "#include \"${path}\"\n")
    list(APPEND wrappers "${wrapper}")
  endforeach()
  # threadIdx.x is unsigned and a loop's i is not: -Wconversion would want a cast on most lines of a kernel.
  set_source_files_properties(${wrappers} PROPERTIES COMPILE_OPTIONS "-Wno-sign-conversion")
  set(${out} "${wrappers}" PARENT_SCOPE)
endfunction()

# The nvcc half, as objects that become part of `target`. Warnings, register spills included, are errors.
function(octavo_cuda_objects target)
  add_library(${target}_cuda OBJECT ${ARGN})
  target_include_directories(${target}_cuda PRIVATE
    "${CMAKE_SOURCE_DIR}" $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
  target_compile_definitions(${target}_cuda PRIVATE $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
  target_compile_options(${target}_cuda PRIVATE
    -Werror=all-warnings -lineinfo "SHELL:-Xptxas -warn-spills" "SHELL:-Xptxas -Werror"
    -Xcompiler=-Wall,-Wextra,-Wshadow,-Werror,-ffp-contract=off)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set_target_properties(${target}_cuda PROPERTIES  # keeps ptxas's report for common/tools/kernel_resources.py
    CUDA_COMPILER_LAUNCHER "${Python3_EXECUTABLE};-B;${CMAKE_SOURCE_DIR}/common/tools/ptxas_log.py")
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_cuda>)
  target_link_libraries(${target} PUBLIC CUDA::cudart_static)
endfunction()

function(octavo_kernels target)
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  octavo_simt_wrappers(wrappers "simt_${target}" ${ARG_SOURCES})
  target_sources(${target} PRIVATE ${wrappers})
  target_link_libraries(${target} PUBLIC octavo::simt)
  if(OCTAVO_CUDA)
    octavo_cuda_objects(${target} ${ARG_SOURCES})
  endif()
endfunction()

# The compiler's hooks for the thread sanitizer without its library: common/simt/profile/hooks.cpp defines them. Optimised
# only so far that one access of the source stays one access of the program.
# Lines are told in DWARF 4: of version 5, Debian 12's addr2line takes the first lines of an inlined function for lines of
# the file that it is inlined into.
function(octavo_profiled_kernels target)
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  octavo_simt_wrappers(wrappers "profile_${target}" ${ARG_SOURCES})
  set_source_files_properties(${wrappers} PROPERTIES
    COMPILE_OPTIONS "-Wno-sign-conversion;-O1;-g;-gdwarf-4;-fsanitize=thread;-DOCTAVO_SIMT_PROFILE=1")
  target_sources(${target} PRIVATE ${wrappers})
  target_link_libraries(${target} PRIVATE octavo::simt_profile)
endfunction()

function(octavo_profile name)
  if(OCTAVO_SANITIZE)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "KERNELS;SOURCES;DEPENDS" ${ARGN})
  octavo_program(${name} SOURCES ${ARG_SOURCES} DEPENDS ${ARG_DEPENDS})
  octavo_profiled_kernels(${name} SOURCES ${ARG_KERNELS})
endfunction()
