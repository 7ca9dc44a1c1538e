#include "common/testing/contract.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "common/base/counted.h"
#include "common/base/threads.h"
#include "common/simt/executor.h"
#include "common/testing/gpu.h"

namespace octavo::testing {
namespace {

using Complaints = std::vector<std::string>;

struct Errors {
  double max = 0;
  double frobenius = 0;
  double max_want = 0;
};

Errors errors_of(const std::vector<double>& got, const std::vector<double>& want) {
  Errors e;
  double error2 = 0, want2 = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (!std::isfinite(want[i])) continue;
    const double d = std::abs(got[i] - want[i]);
    e.max = std::max(e.max, d);
    e.max_want = std::max(e.max_want, std::abs(want[i]));
    error2 += d * d;
    want2 += want[i] * want[i];
  }
  e.frobenius = want2 > 0 ? std::sqrt(error2 / want2) : std::sqrt(error2);
  return e;
}

// One subject on one device while its breaches are collected.
class Check {
 public:
  Check(const Subject& subject, const Device& device) : s_(subject), device_(device) {}

  Complaints all() {
    launches();
    plain();
    if (complaints_.empty()) again();
    if (complaints_.empty() && s_.smallest) nonfinite();
    if (complaints_.empty() && s_.batch_invariant) rows_alone();
    if (complaints_.empty() && s_.smallest && s_.backend == Backend::kSimt) schedules();
    if (complaints_.empty() && s_.smallest && s_.run_in_less) less_scratch();
    return complaints_;
  }

  Complaints orders() {
    if (s_.backend != Backend::kSimt) return {};
    Operands operands(settings());
    if (!run(operands, "")) return {};
    remember(operands);
    complaints_.clear();
    schedules();
    return complaints_;
  }

 private:
  OperandSettings settings() const {
    OperandSettings settings;
    settings.device = device_;
    settings.compute = s_.compute;
    return settings;
  }

  void complain(const std::string& what, const Complaints& more) {
    for (const std::string& m : more) complaints_.push_back(what + m);
  }

  // Runs and reports what the run itself broke. False when it threw.
  bool run(Operands& operands, const std::string& what) {
    try {
      complain(what, s_.run(operands));
    } catch (const std::exception& e) {
      complaints_.push_back(what + "threw: " + e.what());
      return false;
    } catch (...) {
      complaints_.push_back(what + "threw: something that is no std::exception");
      return false;
    }
    complain(what, operands.damage());
    return true;
  }

  void against_reference(Operands& operands, const Values& want, const std::string& what) {
    for (const std::string& name : operands.outputs()) {
      const auto found = want.find(name);
      if (found == want.end() ||
          static_cast<std::int64_t>(found->second.size()) != operands.size_of(name)) {
        complaints_.push_back(
            fmt::format("{}the reference does not give all of output {}", what, name));
        continue;
      }
      const std::vector<double> got = operands.result(name);
      const std::vector<float> g(got.begin(), got.end()),
          w(found->second.begin(), found->second.end());
      const Comparison c =
          compare(g.data(), w.data(), static_cast<std::int64_t>(g.size()), s_.tolerance);
      if (!c.ok) complaints_.push_back(what + name + ": " + c.message);
    }
  }

  void launches() {
    if (!s_.launches) return;
    for (const Device& device : {kA100.device(), kH100.device(), device_}) {
      if (is_host(device.backend) && device.shared_bytes == 0) continue;
      try {
        for (const LaunchConfig& launch : s_.launches(device)) check_launch(launch, device);
      } catch (const std::exception& e) {
        complaints_.push_back(fmt::format("on {}: {}", device.name, e.what()));
      }
    }
  }

  void plain() {
    Operands operands(settings());
    if (!run(operands, "")) return;
    const Values want = s_.reference(operands);
    against_reference(operands, want, "");
    remember(operands);
    if (!complaints_.empty() || s_.compute == DType::kF32 || !s_.run_first) return;
    Operands first(settings());
    s_.run_first(first);
    for (const std::string& name : operands.outputs()) {
      // Where the first version happens to be exact, one rounding of a 16-bit output is still
      // allowed; of an fp32 one four: with wider vectors its chains of sums get shorter.
      const double unit = operands.unit_roundoff(name), spare = unit < 1e-6 ? 4 * unit : unit;
      const Errors ours = errors_of(operands.result(name), want.at(name));
      const Errors theirs = errors_of(first.result(name), want.at(name));
      if (!(ours.max <= 2 * theirs.max + spare * ours.max_want) ||
          !(ours.frobenius <= 2 * theirs.frobenius + spare)) {
        complaints_.push_back(
            fmt::format("{}: more than twice the error of the first version: largest {:.3g} "
                        "against {:.3g}, relative Frobenius "
                        "{:.3g} against {:.3g}",
                        name, ours.max, theirs.max, ours.frobenius, theirs.frobenius));
      }
    }
  }

  void remember(Operands& operands) {
    for (const std::string& name : operands.outputs())
      first_bytes_[name] = operands.result_bytes(name);
  }

  void same_bits(Operands& operands, const std::string& what) {
    for (const auto& [name, bytes] : first_bytes_) {
      if (operands.result_bytes(name) != bytes)
        complaints_.push_back(what + name + ": other bits than in the first run");
    }
  }

  void again() {
    Operands operands(settings());
    if (run(operands, "second run: ")) same_bits(operands, "second run: ");
  }

  void nonfinite() {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    Operands sizes(settings());
    (void)s_.run(sizes);
    for (const std::string& name : s_.nonfinite_inputs) {
      for (double value : {std::numeric_limits<double>::quiet_NaN(), kInf, -kInf}) {
        OperandSettings planted = settings();
        planted.plant = Plant{name, sizes.size_of(name) / 2, value};
        Operands operands(planted);
        const std::string what = fmt::format("with {} in {}: ", value, name);
        if (run(operands, what)) against_reference(operands, s_.reference(operands), what);
      }
    }
  }

  void rows_alone() {
    if (s_.rows < 2) return;
    std::vector<RowWindow> windows = {{0, 1}, {s_.rows / 2, 1}, {s_.rows - 1, 1}};
    if (s_.rows > 2) windows.push_back({1, s_.rows - 1});
    for (const RowWindow& window : windows) {
      OperandSettings part = settings();
      part.rows = window;
      Operands operands(part);
      const std::string what =
          fmt::format("rows {} to {} alone: ", window.first, window.first + window.count - 1);
      if (!run(operands, what)) continue;
      for (const std::string& name : operands.row_outputs()) {
        const std::vector<std::byte>& batch = first_bytes_.at(name);
        const std::vector<std::byte> alone = operands.result_bytes(name);
        const std::size_t row = batch.size() / static_cast<std::size_t>(s_.rows);
        const std::byte* const in_batch =
            batch.data() + row * static_cast<std::size_t>(window.first);
        if (std::memcmp(alone.data(), in_batch, alone.size()) != 0) {
          complaints_.push_back(what + name + ": other bits than in the batch");
        }
      }
    }
  }

  void schedules() {
    for (const simt::Options& options : simt::covering_schedules()) {
      simt::ScopedOptions scope(options);
      Operands operands(settings());
      const std::string what =
          fmt::format("schedule {} {}: ", simt::name_of(options.schedule), options.seed);
      if (run(operands, what)) same_bits(operands, what);
    }
  }

  void less_scratch() {
    const std::string what = "in less scratch than it declares: ";
    Operands operands(settings());
    try {
      s_.run_in_less(operands);
      complaints_.push_back(what + "it did not throw Error");
    } catch (const Error&) {
    }
    complain(what, operands.damage());
    for (const std::string& name : operands.outputs()) {
      if (!operands.is_untouched(name)) complaints_.push_back(what + name + ": was written");
    }
  }

  const Subject& s_;
  const Device& device_;
  Complaints complaints_;
  std::map<std::string, std::vector<std::byte>> first_bytes_;  // outputs of the plain run
};

}  // namespace

Complaints breaches(const Subject& subject, const Device& device) {
  return Check(subject, device).all();
}

Complaints order_shows(const Subject& subject, const Device& device) {
  return Check(subject, device).orders();
}

std::string name_of_subject(const ::testing::TestParamInfo<Subject>& info) {
  std::string name = info.param.label;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

void ContractTest::check() {
  const Subject& subject = GetParam();
  if (subject.backend == Backend::kCuda) {
    if (!gpu_or_skip()) GTEST_SKIP() << kNoGpu;
  }
  const Device device = device_of(subject.backend);
  if (!subject.supported(device))
    GTEST_SKIP() << subject.label << " is not supported by " << device.name;
  for (const std::string& breach : breaches(subject, device)) ADD_FAILURE() << breach;
}

Complaints detail::run_in_guarded_scratch(const Device& device, DType compute, std::int64_t bytes,
                                          const std::function<void(Exec&)>& body) {
  static ThreadPool pool(2);  // two, so that a version's split over threads is exercised
  Operands scratch({.device = device, .compute = compute, .rows = {}, .plant = {}});
  const View<std::uint8_t, 1> memory = scratch.output<std::uint8_t>("workspace", {bytes});
  Exec exec(device, compute, pool,
            Workspace(View<std::byte, 1>(reinterpret_cast<std::byte*>(memory.data()), {bytes})));
  fill_bytes(memory.data(), 0xff, static_cast<std::size_t>(bytes),
             exec.stream);  // NaN, not the bytes' own poison
  body(exec);
  exec.stream.synchronize();
  Complaints found = scratch.damage();
  if (exec.workspace.used() != 0) {
    found.push_back(fmt::format("{} of the workspace {} not given back",
                                counted(exec.workspace.used(), "byte"),
                                exec.workspace.used() == 1 ? "was" : "were"));
  }
  return found;
}

}  // namespace octavo::testing
