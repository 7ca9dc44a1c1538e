#pragma once
// The few calls of the CUDA runtime that common/device makes, behind plain types, so that no header
// of ours needs CUDA's. cuda_backend.cpp implements them on the runtime; cuda_absent.cpp stands in
// where the build has no CUDA: it lists no devices, and every other call throws Error.

#include <cstddef>
#include <vector>

#include "common/device/device.h"

namespace octavo::cuda {

bool available();
std::vector<Device> list_devices();

void* allocate(int device, std::size_t bytes);  // at least 256-byte aligned
void release(int device, void* memory) noexcept;
void fill(void* memory, int byte, std::size_t bytes, void* stream);
void copy(void* to, const void* from, std::size_t bytes,
          void* stream);  // direction from the addresses

void* make_stream(int device);  // does not synchronise with the legacy default stream
void destroy_stream(int device, void* stream) noexcept;
void synchronize(void* stream);

void* make_event(int device);
void destroy_event(int device, void* event) noexcept;
void record(void* event, void* stream);
void wait(void* stream, void* event);
void synchronize_event(void* event);
double seconds_between(void* begin, void* end);

}  // namespace octavo::cuda
