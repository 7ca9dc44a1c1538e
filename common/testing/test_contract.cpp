// The contract suite on a small topic, y[T, N] = x[T, K] w[N, K]^T: honest versions pass, and each
// version with one planted fault is found for what it is.

#include "common/testing/contract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "common/simt/executor.h"
#include "common/testing/example_topic.h"

namespace octavo::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using namespace example;

using Body = void (*)(Exec&, const Args&, const Prepared&);

Version<Args> version(std::string_view name, Body run) {
  return {.name = name,
          .backend = Backend::kCpu,
          .dtypes = {DType::kF32, DType::kBF16},
          .batch_invariant = true,
          .run = run};
}

// What the suite says about this version on all shapes, beside an honest v1.
std::vector<std::string> verdict(Version<Args> v) {
  auto registry = std::make_shared<Registry>();
  Version<Args> first = version("v1_naive", naive);
  first.backend = v.backend;
  registry->add("matmul", first);
  registry->add("matmul", v);
  std::vector<std::string> all;
  for (const Subject& s : subjects(matmul_topic(), registry)) {
    if (s.label.find(v.name) == std::string::npos) continue;
    for (const std::string& b : breaches(s, device_of(v.backend))) all.push_back(s.label + " " + b);
  }
  return all;
}
std::vector<std::string> verdict(Body run) { return verdict(version("v2", run)); }

TEST(Contract, AnHonestVersionPasses) {
  EXPECT_THAT(verdict([](Exec& e, const Args& a, const Prepared& p) { naive(e, a, p); }),
              IsEmpty());
}

TEST(Contract, SubjectsAreEveryTypeAndShape) {
  auto registry = std::make_shared<Registry>();
  Version<Args> even = version("v1", naive);
  even.supports = [](const Args& a, const Device&) { return a.x.extent(1) % 2 == 0; };
  registry->add("matmul", even);
  registry->add("matmul", version("v2", naive));
  const std::vector<Subject> all = subjects(matmul_topic(), registry);
  EXPECT_EQ(all.size(), 2u * 1 + 2u * 3);
  EXPECT_EQ(all.back().label, "cpu/matmul/v2/BF16/T:4/N:16/K:64");
  EXPECT_FALSE(all.back().smallest);
}

TEST(Contract, FindsAWritePastTheEnd) {
  const auto found = verdict([](Exec& e, const Args& a, const Prepared& p) {
    naive(e, a, p);
    a.y.data()[a.y.size()] = 0;
  });
  EXPECT_THAT(found, Contains(HasSubstr("y: the memory 0 bytes past its end was written")));
}

TEST(Contract, FindsAWriteBeforeTheBeginning) {
  const auto found = verdict([](Exec& e, const Args& a, const Prepared& p) {
    naive(e, a, p);
    a.y.data()[-1] = 0;
  });
  EXPECT_THAT(found, Contains(HasSubstr("y: the memory 4 bytes before it was written")));
}

TEST(Contract, FindsAnElementLeftUnwritten) {
  const auto found = verdict([](Exec&, const Args& a, const Prepared&) {
    for (std::int64_t i = 0; i + 1 < a.y.size(); ++i)
      a.y.data()[i] = dot(a, i / a.y.extent(1), i % a.y.extent(1));
  });
  EXPECT_THAT(found, Contains(AllOf(HasSubstr("y: element 14: got"), HasSubstr("nan, want"))));
}

TEST(Contract, FindsAReadPastTheEndThatIsUsed) {
  const auto found = verdict([](Exec& e, const Args& a, const Prepared& p) {
    naive(e, a, p);
    a.y(0, 0) += a.x.data()[a.x.size()];
  });
  EXPECT_THAT(found, Contains(AllOf(HasSubstr("y: element 0: got"), HasSubstr("nan, want"))));
}

TEST(Contract, FindsAWrongElement) {
  const auto found = verdict([](Exec& e, const Args& a, const Prepared& p) {
    naive(e, a, p);
    a.y(0, 0) *= 1.01f;
  });
  EXPECT_THAT(found, Contains(HasSubstr("worst element 0")));
}

TEST(Contract, FindsAWrittenInput) {
  const auto found = verdict([](Exec& e, const Args& a, const Prepared& p) {
    naive(e, a, p);
    const_cast<float*>(a.x.data())[0] = 0;
  });
  EXPECT_THAT(found, Contains(HasSubstr("x: an input was written")));
}

TEST(Contract, FindsNanWhereTheReferenceIsFiniteAndTheOtherWayRound) {
  const auto makes_nan = verdict([](Exec& e, const Args& a, const Prepared& p) {
    naive(e, a, p);
    if (std::abs(a.y(0, 0)) > 0) a.y(0, 0) = std::log(-1.f);
  });
  EXPECT_THAT(makes_nan, Contains(AllOf(HasSubstr("y: element 0: got"), HasSubstr("nan, want"))));
  const auto loses_nan = verdict([](Exec& e, const Args& a, const Prepared& p) {
    naive(e, a, p);
    for (std::int64_t i = 0; i < a.y.size(); ++i) {
      if (std::isnan(a.y.data()[i])) a.y.data()[i] = 0;
    }
  });
  EXPECT_THAT(loses_nan, Contains(HasSubstr("with nan in x: y: element 5: got 0, want")));
}

TEST(Contract, FindsInfinityClippedToTheLargestNumber) {
  const auto found = verdict([](Exec& e, const Args& a, const Prepared& p) {
    naive(e, a, p);
    for (std::int64_t i = 0; i < a.y.size(); ++i) a.y.data()[i] = std::max(a.y.data()[i], -3.4e38f);
  });
  EXPECT_THAT(found, Contains(HasSubstr("with -inf in x")));
}

TEST(Contract, FindsDependenceOnTheBatch) {
  const Body splits_by_batch = [](Exec&, const Args& a,
                                  const Prepared&) {  // sums from the end when T > 1
    each(a, [&](auto t, auto n) {
      if (a.y.extent(0) == 1) return dot(a, t, n);
      float sum = 0;
      for (std::int64_t k = a.x.extent(1) - 1; k >= 0; --k)
        sum += a.x(t, k) * weight(a.w, n * a.x.extent(1) + k);
      return sum;
    });
  };
  EXPECT_THAT(verdict(splits_by_batch),
              Contains(HasSubstr("rows 0 to 0 alone: y: other bits than in the batch")));
  Version<Args> admitted = version("v2", splits_by_batch);
  admitted.batch_invariant = false;
  EXPECT_THAT(verdict(admitted), IsEmpty());
}

TEST(Contract, FindsAnErrorOfMoreThanTwiceTheFirstVersions) {
  const auto found = verdict([](Exec& e, const Args& a, const Prepared& p) {
    naive(e, a, p);
    if (e.compute == DType::kBF16) {  // within the tolerance, but a rounding that v1 does not make
      for (std::int64_t i = 0; i < a.y.size(); ++i)
        a.y.data()[i] = static_cast<float>(bf16(a.y.data()[i]));
    }
  });
  EXPECT_THAT(found, Contains(HasSubstr("more than twice the error of the first version")));
}

TEST(Contract, FindsASecondRunThatDiffers) {
  const auto found = verdict([](Exec& e, const Args& a, const Prepared& p) {
    static int runs = 0;
    naive(e, a, p);
    a.y(0, 0) += 1e-6f * static_cast<float>(++runs % 7);
  });
  EXPECT_THAT(found, Contains(HasSubstr("second run: y: other bits")));
}

TEST(Contract, FindsScratchBeyondWhatWasDeclared) {
  Version<Args> greedy = version("v2", [](Exec& e, const Args& a, const Prepared& p) {
    Workspace::Scope scope(e.workspace);
    e.workspace.take<float>(a.y.size() + 64);
    naive(e, a, p);
  });
  greedy.workspace = [](const Args& a, const Device&) {
    return Workspace::bytes_for<float>(a.y.size());
  };
  EXPECT_THAT(verdict(greedy), Contains(HasSubstr("threw: the workspace has")));
  greedy.run = [](Exec& e, const Args& a, const Prepared& p) {
    Workspace::Scope scope(e.workspace);
    e.workspace.take<float>(a.y.size()).data()[e.workspace.size() / 4] = 0;
    naive(e, a, p);
  };
  EXPECT_THAT(verdict(greedy), Contains(HasSubstr("workspace: the memory 0 bytes past its end")));
  greedy.run = [](Exec& e, const Args& a, const Prepared& p) {
    e.workspace.take<float>(a.y.size());
    naive(e, a, p);
  };
  EXPECT_THAT(verdict(greedy), Contains(HasSubstr("bytes of the workspace were not given back")));
  greedy.run = [](Exec& e, const Args& a,
                  const Prepared& p) {  // believes that scratch starts as zeros
    Workspace::Scope scope(e.workspace);
    const float zero = e.workspace.take<float>(a.y.size())(0);
    naive(e, a, p);
    a.y(0, 0) += zero;
  };
  EXPECT_THAT(verdict(greedy), Contains(HasSubstr("y: element 0: got")));
}

TEST(Contract, FindsAVersionThatWritesBeforeItMissesItsScratch) {
  Version<Args> late = version("v2", [](Exec& e, const Args& a, const Prepared& p) {
    naive(e, a, p);
    const Workspace::Scope scope(e.workspace);
    (void)e.workspace.take<float>(a.y.size());
  });
  late.workspace = [](const Args& a, const Device&) {
    return Workspace::bytes_for<float>(a.y.size());
  };
  EXPECT_THAT(verdict(late),
              Contains(HasSubstr("in less scratch than it declares: y: was written")));
  late.run = naive;
  EXPECT_THAT(verdict(late),
              Contains(HasSubstr("in less scratch than it declares: it did not throw Error")));
  late.run = [](Exec& e, const Args& a, const Prepared& p) {
    const Workspace::Scope scope(e.workspace);
    (void)e.workspace.take<float>(a.y.size());
    naive(e, a, p);
  };
  EXPECT_THAT(verdict(late), IsEmpty());
}

TEST(Contract, ChecksWhatPrepareMade) {
  Version<Args> packed = version("v2", [](Exec&, const Args& a, const Prepared& p) {
    const auto& w = p.get<std::vector<float>>();
    each(a, [&](auto t, auto n) {
      float sum = 0;
      for (std::int64_t k = 0; k < a.x.extent(1); ++k) {
        sum += a.x(t, k) * w[static_cast<std::size_t>(k * a.y.extent(1) + n)];
      }
      return sum;
    });
  });
  packed.prepare = [](const WeightSet& weights, const Device&) {
    const TensorView& w = weights["w"];
    std::vector<float> transposed(static_cast<std::size_t>(w.size()));
    for (std::int64_t i = 0; i < w.size(); ++i) {
      transposed[static_cast<std::size_t>(i % w.extent(1) * w.extent(0) + i / w.extent(1))] =
          weight(w, i);
    }
    return Prepared::of(std::move(transposed));
  };
  EXPECT_THAT(verdict(packed), IsEmpty());
}

TEST(Contract, FindsAnIllegalLaunch) {
  Version<Args> v = version("v2", naive);
  v.backend = Backend::kSimt;
  v.launches = [](const Args& a, const Device&) -> std::vector<LaunchConfig> {
    return {{.kernel = "matmul", .grid = {a.y.extent(0), 1, 1}, .block = {2048, 1, 1}}};
  };
  EXPECT_THAT(verdict(v), Contains(HasSubstr("on H100: kernel matmul: 2048 threads along x")));
}

TEST(Contract, OnTheExecutorEveryScheduleIsRun) {
  Version<Args> v = version("v2", [](Exec& e, const Args& a, const Prepared& p) {
    naive(e, a, p);
    if (simt::options().schedule == simt::Schedule::kSkew) a.y(0, 0) += 1e-6f;
  });
  v.backend = Backend::kSimt;
  EXPECT_THAT(verdict(v),
              Contains(HasSubstr("schedule skew 1: y: other bits than in the first run")));
}

TEST(Contract, AnExceptionIsABreachNotACrash) {
  const auto found =
      verdict([](Exec&, const Args&, const Prepared&) { fail("K is {}, the limit is {}", 7, 8); });
  EXPECT_THAT(found, Contains(HasSubstr("threw: K is 7, the limit is 8")));
}

class MatmulContract : public ContractTest {};
TEST_P(MatmulContract, Holds) { check(); }

std::shared_ptr<const Registry> both_backends() {
  auto registry = std::make_shared<Registry>();
  registry->add("matmul", version("v1_naive", naive));
  Version<Args> simt = version("v1_naive", naive);
  simt.backend = Backend::kSimt;
  registry->add("matmul", simt);
  return registry;
}
INSTANTIATE_TEST_SUITE_P(All, MatmulContract,
                         ::testing::ValuesIn(subjects(matmul_topic(), both_backends())),
                         name_of_subject);

}  // namespace
}  // namespace octavo::testing
