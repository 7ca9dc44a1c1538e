#include "common/base/error.h"

#include <string_view>

namespace octavo::detail {

std::string substitute(const char* format, const std::string* values, int count) {
  std::string result;
  std::string_view rest(format);
  for (int i = 0; i < count; ++i) {
    const std::size_t at = rest.find("{}");
    if (at == std::string_view::npos) break;
    result.append(rest.substr(0, at)).append(values[i]);
    rest.remove_prefix(at + 2);
  }
  return result.append(rest);
}

}  // namespace octavo::detail
