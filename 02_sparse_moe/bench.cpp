// The benchmark of chapter 02: ./run bench 02. One layer of OLMoE's shape, 64 experts of width 1024
// of which a token uses 8, in bf16, the type of its checkpoint.
//
// For many tokens it stands beside a dense layer of one expert's widths with as many rows as the
// experts have together: the same FLOPs, and what grouping loses to it is the price of routing. For
// one token and for eight, reading the experts that are touched is the roof. Kernels are counted
// for other batches and spreads too.

#include "01_dense_ffn/topics.h"
#include "01_dense_ffn/versions.h"
#include "02_sparse_moe/topics.h"
#include "02_sparse_moe/versions.h"
#include "common/bench/suite.h"

namespace octavo::sparse_moe {
namespace {

// The versions of a topic that `wanted` lets through, in bf16 alone.
template <class Args, class Wanted>
std::shared_ptr<const Registry> in_bf16(const Registry& from, std::string_view topic,
                                        Wanted wanted) {
  auto some = std::make_shared<Registry>();
  for (Version<Args> v : from.versions<Args>(topic)) {
    if (!wanted(v) || !v.dtypes.contains(DType::kBF16)) continue;
    v.dtypes = {DType::kBF16};
    some->add(topic, v);
  }
  return some;
}

int run(int argc, char** argv) {
  const auto registry = registry_of(dense_ffn::append_versions, append_versions);
  const auto every = [](const auto&) { return true; };
  const auto host = [](const auto& v) { return v.backend == Backend::kCpu; };
  const auto kernels = [](const auto& v) { return v.backend != Backend::kCpu; };

  bench::Suite suite("ch02");
  const ExpertsShape olmoe{.T = 512, .k = 8, .E = 64, .D = 2048, .F = 1024};
  const auto batch = [&](std::int64_t T, Spread spread = Spread::kEven) {
    ExpertsShape s = olmoe;
    s.T = T;
    s.spread = spread;
    return s;
  };
  // One token needs 8 experts, whoever else is stored: with 16 of them, the sets of operands that
  // keep the caches cold fit in memory.
  ExpertsShape one = batch(1);
  one.E = 16;
  suite.add(experts_topic(), in_bf16<ExpertsArgs>(*registry, "experts", every),
            {olmoe, one, batch(8)});
  suite.add(dense_ffn::ffn_topic(), in_bf16<FfnArgs>(*registry, "ffn", host),
            {{.T = olmoe.T * olmoe.k, .D = olmoe.D, .F = olmoe.F}});
  suite.add(experts_topic(), in_bf16<ExpertsArgs>(*registry, "experts", kernels),
            {batch(1), batch(64), batch(64, Spread::kSkew), batch(64, Spread::kOne),
             batch(512, Spread::kSkew), batch(512, Spread::kOne)});
  suite.add(gating_topic(), registry, {{.T = 1, .E = 64, .k = 8}, {.T = 512, .E = 64, .k = 8}});
  suite.add(align_topic(), registry, {{.T = 1, .k = 8, .E = 64}, {.T = 512, .k = 8, .E = 64}});
  return suite.main(argc, argv);
}

}  // namespace
}  // namespace octavo::sparse_moe

int main(int argc, char** argv) {
  try {
    return octavo::sparse_moe::run(argc, argv);
  } catch (const octavo::Error& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
    return 2;
  }
}
