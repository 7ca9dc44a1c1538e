#pragma once
// The context block of a result file: on what, with what and from which source the rows were
// measured.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "common/bench/ceilings.h"

namespace octavo::bench {

// Machine, cores, memory, CPU flags, compiler, -march, the vectors it gives, git sha (with "-dirty"
// when files differ), GPUs and the ceilings. Fields that cannot be found out say "unknown".
nlohmann::json context(const Ceilings& ceilings);

// A folder's name for this machine: "amd-epyc-avx512-2-threads", with the vectors since virtual
// machines give one name to CPUs of several generations. OCTAVO_MACHINE replaces it.
std::string machine_name();

}  // namespace octavo::bench
