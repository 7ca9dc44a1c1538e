#include "common/base/error.h"
#include "common/device/cuda_backend.h"

namespace octavo::cuda {
namespace {

[[noreturn]] void absent(const char* what) {
  fail("{}: this build has no CUDA; configure with the preset 'cuda'", what);
}

}  // namespace

bool available() { return false; }
std::vector<Device> list_devices() { return {}; }

void* allocate(int, std::size_t) { absent("device memory"); }
void release(int, void*) noexcept {}
void fill(void*, int, std::size_t, void*) { absent("fill"); }
void copy(void*, const void*, std::size_t, void*) { absent("copy"); }

void* make_stream(int) { absent("stream"); }
void destroy_stream(int, void*) noexcept {}
void synchronize(void*) { absent("stream"); }

void* make_event(int) { absent("event"); }
void destroy_event(int, void*) noexcept {}
void record(void*, void*) { absent("event"); }
void wait(void*, void*) { absent("event"); }
void synchronize_event(void*) { absent("event"); }
double seconds_between(void*, void*) { absent("event"); }

}  // namespace octavo::cuda
