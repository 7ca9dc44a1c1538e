// What balancing does: a layer trained in several ways, and what its load looks like.

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "03_switch_deepseek_routing/balancing.h"
#include "03_switch_deepseek_routing/demo.h"
#include "common/base/error.h"
#include "common/base/output_file.h"
#include "common/base/threads.h"

namespace octavo::switch_routing {
namespace {

struct Arm {
  const char* name;
  LabSettings settings;
};

std::vector<Arm> arms() {
  constexpr auto kSigmoid = GateScore::kSigmoid;
  std::vector<Arm> all = {{"softmax, nothing", {}},
                          {"softmax, loss 0.01", {.alpha = 0.01}},
                          {"softmax, loss 0.1", {.alpha = 0.1}},
                          {"sigmoid, bias 0.001", {.score = kSigmoid, .gamma = 1e-3f}},
                          {"sigmoid, bias 0.01", {.score = kSigmoid, .gamma = 1e-2f}}};
  const std::size_t n = all.size();
  for (std::size_t i = 0; i < n; ++i) {
    all.push_back(all[i]);
    all.back().settings.shifted = true;
  }
  return all;
}

}  // namespace

void show_balancing(const std::string& data_path) {
  const std::vector<Arm> all = arms();
  const LabSettings dense{.score = GateScore::kSigmoid, .experts = 1};
  std::vector<LabResult> results(all.size() + 1);
  ThreadPool threads(ThreadPool::default_size());
  threads.parallel_for(std::ssize(results), [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    results[at] = train_lab(at < all.size() ? all[at].settings : dense);
  });
  fmt::print("\n4. A layer of {} experts trained for {} steps\n", kLabExperts,
             all[0].settings.steps);
  nlohmann::json data = nlohmann::json::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const LabResult& r = results[i];
    require(r.finite, "the run '{}' diverged", all[i].name);
    if (i % (all.size() / 2) == 0) {
      fmt::print("\n{}\n{:<22}{:>10}{:>16}{:>16}{:>12}{:>8}\n",
                 all[i].settings.shifted ? "inputs with a common mean, a router of strong opinions"
                                         : "centred inputs",
                 "", "effective", "MaxVio, batch", "MaxVio, global", "top expert", "MSE");
    }
    fmt::print("{:<22}{:>10.2f}{:>16.2f}{:>16.2f}{:>10.0f} %{:>8.3f}\n", all[i].name,
               r.effective_experts, r.max_vio_batch, r.max_vio_global, 100 * r.share[0], r.mse);
    data.push_back({{"name", all[i].name},
                    {"shifted", all[i].settings.shifted},
                    {"share", r.share},
                    {"history", r.history},
                    {"mse", r.mse}});
  }
  require(results.back().finite, "the dense run diverged");
  fmt::print(
      "\nMSE at equal FLOPs on centred inputs: {:.3f} with one expert for all tokens,\n"
      "{:.3f} with one of {} for each.\n",
      results.back().mse, results[3].mse, kLabExperts);
  if (data_path.empty()) return;
  const nlohmann::json runs{{"experts", kLabExperts}, {"runs", data}};
  write_file(data_path, runs.dump(1) + '\n');
}

}  // namespace octavo::switch_routing
