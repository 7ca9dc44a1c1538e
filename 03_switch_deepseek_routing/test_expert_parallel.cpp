#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <set>

#include "02_sparse_moe/moe.h"
#include "03_switch_deepseek_routing/test_expert_parallel.h"
#include "common/base/error.h"
#include "common/base/threads.h"

namespace octavo::switch_routing {
namespace {

using ::testing::HasSubstr;

// Chapter 02's layer over the same experts.
class Experts : public LoopedExperts {
 public:
  explicit Experts(const SpreadLayer& layer) : run_(layer.run()) {}
  std::int64_t experts() const override { return SpreadLayer::E; }

 protected:
  std::int64_t expert_workspace(std::int64_t) const override { return 0; }
  void forward_expert(Exec&, std::int64_t e, View<const float, 2> x,
                      View<float, 2> y) const override {
    run_(e, x, y);
  }

 private:
  RunExpert run_;
};

std::vector<float> whole(const SpreadLayer& layer) {
  ThreadPool threads(1);
  Exec exec(cpu_device(), DType::kF32, threads, 0);
  std::vector<float> y(layer.x.size());
  Experts(layer).forward(exec, {layer.x.data(), {layer.T, SpreadLayer::D}}, layer.plan.id(),
                         layer.plan.weight(), {y.data(), {layer.T, SpreadLayer::D}});
  return y;
}

struct Spread {
  std::vector<float> y;
  std::int64_t bytes = 0;
};

Spread spread(const SpreadLayer& layer, const std::vector<std::int64_t>& cut) {
  std::vector<std::vector<float>> parts(cut.size() - 1);
  std::atomic<std::int64_t> bytes = 0;
  run_ranks(static_cast<int>(cut.size()) - 1, [&](Communicator& ranks) {
    parts[static_cast<std::size_t>(ranks.rank())] = layer.rank_output(ranks, cut);
    bytes += ranks.bytes_sent();
  });
  Spread all{.y = {}, .bytes = bytes};
  for (const std::vector<float>& part : parts) all.y.insert(all.y.end(), part.begin(), part.end());
  return all;
}

// Cuts: even, uneven, a rank without tokens first, in the middle and last.
TEST(ExpertParallel, AnyNumberOfRanksGivesTheSameBits) {
  const SpreadLayer layer(13);
  const std::vector<float> want = whole(layer);
  for (const std::vector<std::int64_t>& cut :
       std::vector<std::vector<std::int64_t>>{{0, 13},
                                              {0, 7, 13},
                                              {0, 0, 13},
                                              {0, 13, 13},
                                              {0, 3, 6, 9, 13},
                                              {0, 5, 5, 12, 13},
                                              {0, 0, 0, 0, 13},
                                              {0, 1, 2, 4, 5, 7, 9, 11, 13}}) {
    EXPECT_EQ(spread(layer, cut).y, want) << cut.size() - 1 << " ranks";
  }
}

TEST(ExpertParallel, NoTokensAnywhere) {
  EXPECT_TRUE(spread(SpreadLayer(0), {0, 0, 0, 0, 0}).y.empty());
}

// Every token on every rank to an expert of the last one: all rows travel there.
TEST(ExpertParallel, AllRowsMayGoToOneRank) {
  SpreadLayer layer(9);
  for (std::size_t s = 0; s < layer.plan.ids.size(); ++s) {
    layer.plan.ids[s] = s % 3 == 0 ? 6 : s % 3 == 1 ? 7 : -1;
  }
  sort_slots(layer.plan);
  EXPECT_EQ(spread(layer, {0, 3, 5, 7, 9}).y, whole(layer));
  std::set<std::int64_t> ran;
  run_ranks(1, [&](Communicator& one) {
    std::vector<float> y(layer.x.size());
    const auto run = [&](std::int64_t e, View<const float, 2>, View<float, 2>) { ran.insert(e); };
    expert_parallel_layer(one, layer.plan, run, {layer.x.data(), {9, SpreadLayer::D}},
                          {y.data(), {9, SpreadLayer::D}});
  });
  EXPECT_EQ(ran, (std::set<std::int64_t>{6, 7}));  // an expert without rows is not run
}

// Counts and rows of equation 16: exactly what crosses, and near the formula for even routing.
TEST(ExpertParallel, BytesAreThoseOfTheFormula) {
  constexpr std::int64_t R = 4, T = 400, D = SpreadLayer::D, E = SpreadLayer::E;
  const SpreadLayer layer(T);
  std::int64_t remote = 0;
  for (std::int64_t t = 0; t < T; ++t) {
    for (std::int64_t j = 0; j < SpreadLayer::k; ++j) {
      const int id = layer.plan.id()(t, j);
      remote += id >= 0 && id / (E / R) != t / (T / R) ? 1 : 0;
    }
  }
  const std::int64_t bytes = spread(layer, {0, 100, 200, 300, 400}).bytes;
  EXPECT_EQ(bytes, 2 * remote * D * 4 + R * (R - 1) * (E / R) * 4);
  const double formula = all_to_all_bytes(T, SpreadLayer::k, D, R, 4, 4);
  EXPECT_LT(std::abs(static_cast<double>(bytes) / formula - 1), 0.05);
  EXPECT_EQ(spread(layer, {0, T}).bytes, 0);
  // A node of 8 for DeepSeek-V3, one byte there and two back: 7 of 8 rows leave.
  EXPECT_EQ(all_to_all_bytes(4096, 8, 7168, 8, 1, 2), 4096.0 * 8 * 7168 * 3 * 7 / 8);
}

// Rank 0 sends a row to itself and three to rank 1, which sends it nothing.
TEST(Communicator, CountsTheBytesThatARankSends) {
  std::vector<float> received[2];
  std::int64_t bytes[2];
  run_ranks(2, [&](Communicator& ranks) {
    const auto me = static_cast<std::size_t>(ranks.rank());
    const std::vector<float> send = {1, 2, 3, 4, 5, 6, 7, 8};
    received[me] = me == 0 ? ranks.exchange_rows(send, {1, 3}, {1, 0}, 2)
                           : ranks.exchange_rows({}, {0, 0}, {3, 0}, 2);
    bytes[me] = ranks.bytes_sent();
  });
  EXPECT_EQ(received[0], (std::vector<float>{1, 2}));
  EXPECT_EQ(received[1], (std::vector<float>{3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(bytes[0], 3 * 2 * 4);
  EXPECT_EQ(bytes[1], 0);
}

TEST(ExpertParallel, TheFormulaTakesSizesWhoseProductOverflows) {
  constexpr std::int64_t kBig = std::int64_t{1} << 22;
  EXPECT_EQ(all_to_all_bytes(kBig, kBig, kBig, 2, 1, 1), 0x1p66);
  EXPECT_EQ(all_to_all_bytes(4096, 8, 7168, 1, 1, 2), 0);
  EXPECT_THROW(all_to_all_bytes(1, 1, 1, 0, 1, 1), Error);
  EXPECT_THROW(all_to_all_bytes(-1, 1, 1, 2, 1, 1), Error);
}

TEST(ExpertParallel, WhatIsNoPlanIsRefused) {
  const SpreadLayer layer(4);
  const auto run = [&](auto spoil) {
    RoutingPlan plan = layer.plan;
    spoil(plan);
    std::vector<float> y(layer.x.size());
    run_ranks(1, [&](Communicator& ranks) {
      expert_parallel_layer(ranks, plan, layer.run(), {layer.x.data(), {4, SpreadLayer::D}},
                            {y.data(), {4, SpreadLayer::D}});
    });
  };
  EXPECT_NO_THROW(run([](RoutingPlan&) {}));
  EXPECT_THROW(run([](RoutingPlan& p) { p.offsets.clear(); }), Error);
  EXPECT_THROW(run([](RoutingPlan& p) { p.order.pop_back(); }), Error);
  EXPECT_THROW(run([](RoutingPlan& p) { p.ids.pop_back(); }), Error);
  EXPECT_THROW(run([](RoutingPlan& p) { p.weights.pop_back(); }), Error);
}

// The others would wait for what never comes, or read what is no longer there.
TEST(Communicator, ARankThatLeavesEndsTheExchangesOfTheOthers) {
  for (const bool with_error : {true, false}) {
    for (const int before : {0, 2}) {
      const auto body = [&](Communicator& ranks) {
        for (int i = 0; i < 4; ++i) {
          if (ranks.rank() == 1 && i == before) {
            require(!with_error, "rank 1 had enough");
            return;
          }
          const std::vector<int> one(3, 1);
          (void)ranks.exchange_rows(std::vector<float>(6), one, one, 2);
          (void)ranks.exchange_counts({{1}, {2}, {3}});
        }
      };
      try {
        run_ranks(3, body);
        ADD_FAILURE() << "no error";
      } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find(with_error ? "had enough" : "has left"),
                  std::string::npos)
            << e.what();
      }
    }
  }
}

TEST(Communicator, RowsThatWereNotAnnouncedAreRefused) {
  const auto send = [](std::size_t elements, int rows) {
    run_ranks(1, [=](Communicator& ranks) {
      ranks.exchange_rows(std::vector<float>(elements), {rows}, {rows}, 2);
    });
  };
  EXPECT_NO_THROW(send(4, 2));
  EXPECT_THROW(send(3, 2), Error);
  EXPECT_THROW(send(0, -1), Error);
}

TEST(Communicator, AnExchangeThatMpiCannotCountIsRefused) {
  const auto error_of = [](const std::vector<int>& rows, std::int64_t width) {
    try {
      run_ranks(static_cast<int>(rows.size()),
                [&](Communicator& ranks) { ranks.exchange_rows({}, rows, rows, width); });
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(error_of({1}, std::int64_t{1} << 31), HasSubstr("in one exchange"));
  EXPECT_THAT(error_of({1, 1}, std::int64_t{1} << 30), HasSubstr("in one exchange"));  // together
  EXPECT_THROW(run_ranks(0, [](Communicator&) {}), Error);
}

TEST(ExpertParallel, RanksDivideTheExperts) {
  const SpreadLayer layer(6);
  EXPECT_THROW(spread(layer, {0, 2, 4, 6}), Error);
}

TEST(ExpertParallel, RowsAreThoseOfThePlan) {
  const SpreadLayer layer(6);
  std::vector<float> y(layer.x.size());
  const auto run = [&](std::int64_t rows_in, std::int64_t rows_out) {
    run_ranks(1, [&](Communicator& one) {
      expert_parallel_layer(one, layer.plan, layer.run(),
                            {layer.x.data(), {rows_in, SpreadLayer::D}},
                            {y.data(), {rows_out, SpreadLayer::D}});
    });
  };
  EXPECT_NO_THROW(run(6, 6));
  EXPECT_THROW(run(5, 5), Error);
  EXPECT_THROW(run(6, 5), Error);
}

}  // namespace
}  // namespace octavo::switch_routing
