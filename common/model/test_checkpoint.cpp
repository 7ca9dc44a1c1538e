#include "common/model/checkpoint.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "common/model/test_files.h"

namespace octavo::model {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kConfig = R"({
    "architectures": ["LlamaForCausalLM"], "vocab_size": 100, "hidden_size": 64, "intermediate_size": 96,
    "num_hidden_layers": 3, "num_attention_heads": 8, "num_key_value_heads": 2, "max_position_embeddings": 128,
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": true, "hidden_act": "silu",
    "torch_dtype": "bfloat16"})";

// One F32 tensor a name, [1, 2] each.
std::string shard(const std::vector<std::string>& names) {
  json header = json::object();
  std::size_t end = 0;
  for (const auto& name : names) {
    header[name] = {{"dtype", "F32"}, {"shape", {1, 2}}, {"data_offsets", {end, end + 8}}};
    end += 8;
  }
  return safetensors_bytes(header.dump(), end);
}

struct ShardedFolder {
  explicit ShardedFolder(const json& weight_map) {
    folder.write("config.json", kConfig);
    folder.write("one.safetensors", shard({"a", "b"}));
    folder.write("two.safetensors", shard({"c"}));
    folder.write("model.safetensors.index.json",
                 json{{"metadata", {{"total_size", 24}}}, {"weight_map", weight_map}}.dump());
  }
  std::string error() const {
    return error_of([&] { Checkpoint::open(folder.path()); });
  }
  TempFolder folder;
};

TEST(Checkpoint, OneFile) {
  const TempFolder folder;
  folder.write("config.json", kConfig);
  folder.write("model.safetensors", shard({"a", "b"}));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_EQ(checkpoint.config().width, 64);
  EXPECT_THAT(checkpoint.names(), ElementsAre("a", "b"));
  EXPECT_TRUE(checkpoint.contains("a"));
  EXPECT_FALSE(checkpoint.contains("c"));
  EXPECT_EQ(checkpoint.tensor("b", {1, 2}).elements(), 2);
  EXPECT_THAT(error_of([&] {
                checkpoint.tensor("c", {1, 2});
              }),
              HasSubstr("tensor 'c' is missing"));
  EXPECT_THAT(error_of([&] {
                checkpoint.tensor("a", {2, 1});
              }),
              HasSubstr("tensor 'a' has shape [1, 2], wanted [2, 1]"));
  EXPECT_THAT(error_of([&] { checkpoint.tensor("a", {1, 2, 1}); }), HasSubstr("wanted [1, 2, 1]"));
}

TEST(Checkpoint, KnowsWhatNobodyAskedFor) {
  const TempFolder folder;
  folder.write("config.json", kConfig);
  folder.write("model.safetensors", shard({"a", "b", "model.layers.2.norm"}));
  Checkpoint first = Checkpoint::open(folder.path());
  first.tensor("b");
  const Checkpoint checkpoint = std::move(first);
  EXPECT_TRUE(checkpoint.contains("a"));
  EXPECT_THAT(checkpoint.unused(), ElementsAre("a", "model.layers.2.norm"));
  checkpoint.tensor("a", {1, 2});
  EXPECT_THAT(checkpoint.unused(), ElementsAre("model.layers.2.norm"));
}

TEST(Checkpoint, ShardsAndAMove) {
  const ShardedFolder sharded(
      {{"a", "one.safetensors"}, {"b", "one.safetensors"}, {"c", "two.safetensors"}});
  Checkpoint first = Checkpoint::open(sharded.folder.path());
  const TensorView* const c = &first.tensor("c", {1, 2});
  const Checkpoint checkpoint = std::move(first);
  EXPECT_THAT(checkpoint.names(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(c, &checkpoint.tensor("c", {1, 2}));
  EXPECT_EQ(std::to_integer<int>(c->data[7]), 7);
  EXPECT_EQ(std::to_integer<int>(checkpoint.tensor("b", {1, 2}).data[0]), 8);
}

TEST(Checkpoint, IndexAndShardsNameTheSameTensors) {
  const json good = {{"a", "one.safetensors"}, {"b", "one.safetensors"}, {"c", "two.safetensors"}};
  const auto with = [&](const std::string& name, const json& file) {
    json map = good;
    map[name] = file;
    return ShardedFolder(map).error();
  };
  EXPECT_THAT(with("d", "two.safetensors"),
              HasSubstr("tensor 'd' is missing from two.safetensors"));
  EXPECT_THAT(with("c", "one.safetensors"),
              HasSubstr("tensor 'c' is missing from one.safetensors"));
  json less = good;
  less.erase("b");
  EXPECT_THAT(ShardedFolder(less).error(),
              HasSubstr("one.safetensors holds tensor 'b', which the index does not put there"));
  EXPECT_THAT(with("c", "three.safetensors"), HasSubstr("three.safetensors: cannot open"));
  EXPECT_THAT(with("c", 3), HasSubstr("tensor 'c' is in 3, must be a file's name"));
  for (const char* name :
       {"", "..", ".", "../two.safetensors", "/etc/passwd", "sub/two.safetensors"}) {
    EXPECT_THAT(with("c", name), HasSubstr("must be the name of a file in the same folder"))
        << name;
  }
  EXPECT_THAT(with("c", std::string("two.safetensors\0x", 17)),
              HasSubstr("must be the name of a file"));
  EXPECT_THAT(ShardedFolder(json::array()).error(),
              HasSubstr("weight_map: [] is not a JSON object"));
}

TEST(Checkpoint, TwoShardsMustNotHoldOneTensor) {
  ShardedFolder sharded(
      {{"a", "one.safetensors"}, {"b", "one.safetensors"}, {"c", "two.safetensors"}});
  sharded.folder.write("two.safetensors", shard({"b", "c"}));
  EXPECT_THAT(sharded.error(), HasSubstr("two.safetensors holds tensor 'b'"));
}

TEST(Checkpoint, MissingPartsAreNamed) {
  const TempFolder folder;
  EXPECT_THAT(error_of([&] { Checkpoint::open(folder.path() / "none"); }),
              HasSubstr("none: is not a folder"));
  EXPECT_THAT(error_of([&] { Checkpoint::open(folder.path()); }),
              HasSubstr("config.json: cannot open"));
  folder.write("config.json", kConfig);
  EXPECT_THAT(error_of([&] { Checkpoint::open(folder.path()); }),
              HasSubstr("neither model.safetensors nor model.safetensors.index.json is there"));
}

}  // namespace
}  // namespace octavo::model
