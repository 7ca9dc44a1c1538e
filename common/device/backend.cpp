#include "common/device/backend.h"

#include "common/base/error.h"

namespace octavo {

std::string_view name_of(Backend backend) {
  switch (backend) {
    case Backend::kCpu:
      return "cpu";
    case Backend::kCuda:
      return "cuda";
    case Backend::kSimt:
      return "simt";
  }
  return "?";
}

Backend backend_from(std::string_view name) {
  for (Backend backend : {Backend::kCpu, Backend::kCuda, Backend::kSimt}) {
    if (name == name_of(backend)) return backend;
  }
  fail("no backend is named '{}': there are cpu, cuda and simt", name);
}

std::string names_of(DTypeSet types) {
  std::string names;
  for (unsigned i = 0; i < 32; ++i) {
    const DType type = static_cast<DType>(i);
    if (!types.contains(type)) continue;
    if (!names.empty()) names += ' ';
    names += name_of(type);
  }
  return names;
}

}  // namespace octavo
