// Any bytes as a config.json. Whatever is accepted must have sizes that can be computed.
#include "common/base/error.h"
#include "common/model/size.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace octavo::model;
  try {
    const ModelConfig config =
        parse_config({reinterpret_cast<const char*>(data), size}, "config.json");
    const ModelSize s = size_of(config);
    if (s.active.total() > s.parameters.total() || s.weight_bytes <= 0 || s.mtp_bytes < 0 ||
        s.kv_bytes_full_context <= 0) {
      __builtin_trap();
    }
  } catch (const octavo::Error&) {
  }
  return 0;
}
