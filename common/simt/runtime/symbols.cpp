// A kernel's name from its address: the program's own ELF symbol table, read from disk. Kernels
// mostly have internal linkage, which the dynamic symbol table, and so dladdr, does not list.

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "common/simt/runtime/state.h"

namespace octavo::simt::cpu {
namespace {

// Where the program itself was loaded: the first object that the loader lists.
std::uintptr_t load_base() {
  std::uintptr_t base = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<std::uintptr_t*>(out) = info->dlpi_addr;
        return 1;
      },
      &base);
  return base;
}

template <class T>
T read_at(const std::string& image, std::size_t offset) {
  T value{};
  if (offset + sizeof(T) <= image.size()) std::memcpy(&value, image.data() + offset, sizeof(T));
  return value;
}

// The mangled name of the function that holds `address`, counted from the load base.
std::string find_symbol(const std::string& image, std::uintptr_t address) {
  const auto header = read_at<Elf64_Ehdr>(image, 0);
  for (int s = 0; s < header.e_shnum; ++s) {
    const auto at = [&](unsigned section) {
      return read_at<Elf64_Shdr>(image, header.e_shoff + std::size_t{section} * header.e_shentsize);
    };
    const Elf64_Shdr table = at(static_cast<unsigned>(s));
    if (table.sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr names = at(table.sh_link);
    for (std::size_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
      const auto symbol = read_at<Elf64_Sym>(image, table.sh_offset + i * sizeof(Elf64_Sym));
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      if (address < symbol.st_value || address >= symbol.st_value + symbol.st_size) continue;
      const std::size_t name = names.sh_offset + symbol.st_name;
      return name < image.size() ? std::string(image.data() + name) : std::string();
    }
  }
  return {};
}

}  // namespace

std::uintptr_t offset_in_program(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) - load_base();
}

std::string function_name(const void* address) {
  static const std::string image = [] {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  if (image.size() < sizeof(Elf64_Ehdr) || std::memcmp(image.data(), ELFMAG, SELFMAG) != 0)
    return {};
  const std::string mangled = find_symbol(image, offset_in_program(address));
  int status = 0;
  char* demangled = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  const std::string name = status == 0 && demangled != nullptr ? demangled : mangled;
  std::free(demangled);
  return name;
}

}  // namespace octavo::simt::cpu
