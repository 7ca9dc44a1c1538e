#include "common/model/config.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "common/model/test_files.h"

namespace octavo::model {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::filesystem::path kConfigs =
    std::filesystem::path(OCTAVO_SOURCE_DIR) / "common/model/configs";

// Small configs of the three architectures, to be spoilt one field at a time.
json llama() {
  return json::parse(R"({
    "architectures": ["LlamaForCausalLM"], "vocab_size": 100, "hidden_size": 64, "intermediate_size": 96,
    "num_hidden_layers": 3, "num_attention_heads": 8, "num_key_value_heads": 2, "max_position_embeddings": 128,
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": true, "hidden_act": "silu",
    "torch_dtype": "float16", "bos_token_id": 0, "eos_token_id": [1, 2]})");
}
json mixtral() {
  json config = llama();
  config["architectures"] = {"MixtralForCausalLM"};
  config["num_local_experts"] = 8;
  config["num_experts_per_tok"] = 2;
  return config;
}
json deepseek() {
  json config = llama();
  config.update(json::parse(R"({
    "architectures": ["DeepseekV3ForCausalLM"], "num_key_value_heads": 8, "q_lora_rank": null, "kv_lora_rank": 16,
    "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 12, "n_routed_experts": 16, "num_experts_per_tok": 4,
    "moe_intermediate_size": 32, "n_shared_experts": 1, "first_k_dense_replace": 1, "norm_topk_prob": true,
    "routed_scaling_factor": 2.5, "n_group": 4, "topk_group": 2})"));
  return config;
}

ModelConfig parse(const json& config) { return parse_config(config.dump(), "config.json"); }
std::string error_with(json config, const std::string& field, const json& value) {
  config[field] = value;
  return error_of([&] { parse(config); });
}

TEST(Config, Llama) {
  const ModelConfig c = parse(llama());
  EXPECT_EQ(c.architecture, Architecture::kLlama);
  EXPECT_EQ(c.vocab, 100);
  EXPECT_EQ(c.width, 64);
  EXPECT_EQ(c.layers, 3);
  EXPECT_EQ(c.ffn_width, 96);
  EXPECT_EQ(c.heads, 8);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.head_width, 8);
  EXPECT_EQ(c.max_context, 128);
  EXPECT_EQ(c.rms_eps, 1e-5);
  EXPECT_EQ(c.rope_theta, 10000);
  EXPECT_TRUE(c.tied_embeddings);
  EXPECT_EQ(c.bos, 0);
  EXPECT_THAT(c.eos, ElementsAre(1, 2));
  EXPECT_EQ(c.dtype, DType::kF16);
  EXPECT_FALSE(c.moe || c.mla || c.rope_scaling);
  EXPECT_FALSE(c.is_moe_layer(2));
  EXPECT_EQ(name_of(c.architecture), "LlamaForCausalLM");
}

TEST(Config, Mixtral) {
  const ModelConfig c = parse(mixtral());
  EXPECT_EQ(c.ffn_width, 0);
  ASSERT_TRUE(c.moe);
  EXPECT_EQ(c.moe->experts, 8);
  EXPECT_EQ(c.moe->top_k, 2);
  EXPECT_EQ(c.moe->width, 96);
  EXPECT_EQ(c.moe->shared_experts, 0);
  EXPECT_EQ(c.moe->scoring, Scoring::kSoftmax);
  EXPECT_TRUE(c.moe->normalize);
  EXPECT_EQ(c.moe->scaling, 1);
  EXPECT_FALSE(c.moe->selection_bias);
  EXPECT_TRUE(c.is_moe_layer(0));
}

TEST(Config, Deepseek) {
  json config = deepseek();
  config["num_nextn_predict_layers"] = 1;
  config["rope_interleave"] = false;
  const ModelConfig c = parse(config);
  ASSERT_TRUE(c.moe && c.mla);
  EXPECT_EQ(c.moe->experts, 16);
  EXPECT_EQ(c.moe->top_k, 4);
  EXPECT_EQ(c.moe->width, 32);
  EXPECT_EQ(c.moe->shared_experts, 1);
  EXPECT_EQ(c.moe->scaling, 2.5);
  EXPECT_EQ(c.moe->scoring, Scoring::kSigmoid);
  EXPECT_EQ(c.moe->groups, 4);
  EXPECT_EQ(c.moe->top_groups, 2);
  EXPECT_TRUE(c.moe->selection_bias && c.moe->normalize);
  EXPECT_FALSE(c.is_moe_layer(0));
  EXPECT_TRUE(c.is_moe_layer(1));
  EXPECT_EQ(c.mtp_layers, 1);
  EXPECT_EQ(c.mla->q_rank, 0);
  EXPECT_EQ(c.mla->kv_rank, 16);
  EXPECT_EQ(c.mla->v, 12);
  EXPECT_FALSE(c.mla->rope_interleaved);
  EXPECT_EQ(c.head_width, 12);
  EXPECT_EQ(c.ffn_width, 96);
}

TEST(Config, EveryRequiredFieldIsMissedByName) {
  const std::vector<std::string> of_all = {
      "architectures",           "vocab_size",          "hidden_size",
      "num_hidden_layers",       "num_attention_heads", "num_key_value_heads",
      "max_position_embeddings", "rms_norm_eps",        "rope_theta",
      "tie_word_embeddings",     "hidden_act",          "intermediate_size"};
  const std::vector<std::string> of_mixtral = {"num_local_experts", "num_experts_per_tok"};
  const std::vector<std::string> of_deepseek = {"q_lora_rank",
                                                "kv_lora_rank",
                                                "qk_nope_head_dim",
                                                "qk_rope_head_dim",
                                                "v_head_dim",
                                                "n_routed_experts",
                                                "num_experts_per_tok",
                                                "moe_intermediate_size",
                                                "n_shared_experts",
                                                "first_k_dense_replace",
                                                "norm_topk_prob",
                                                "routed_scaling_factor",
                                                "n_group",
                                                "topk_group"};
  const auto check = [](const json& config, const std::vector<std::string>& fields) {
    for (const std::string& field : fields) {
      json without = config;
      ASSERT_EQ(without.erase(field), 1u) << field;
      EXPECT_EQ(error_of([&] { parse(without); }), "config.json: " + field + " is missing");
    }
  };
  for (const json& config : {llama(), mixtral(), deepseek()}) check(config, of_all);
  check(mixtral(), of_mixtral);
  check(deepseek(), of_deepseek);
  json without = llama();
  without.erase("torch_dtype");
  EXPECT_EQ(error_of([&] { parse(without); }), "config.json: dtype (or torch_dtype) is missing");
}

TEST(Config, UnknownArchitecturesAreRefusedWithTheListOfKnownOnes) {
  EXPECT_EQ(error_with(llama(), "architectures", {"GPT2LMHeadModel"}),
            "config.json: architectures is [\"GPT2LMHeadModel\"], supported: LlamaForCausalLM, "
            "MixtralForCausalLM, "
            "DeepseekV3ForCausalLM");
  EXPECT_THAT(error_with(llama(), "architectures", "LlamaForCausalLM"),
              HasSubstr("must be a list of one name"));
  EXPECT_THAT(error_with(llama(), "architectures", json::array()),
              HasSubstr("must be a list of one name"));
}

TEST(Config, SizesHaveLimits) {
  EXPECT_EQ(error_with(llama(), "hidden_size", 65537),
            "config.json: hidden_size is 65537, must be a whole number from 1 to 65536");
  for (const char* field :
       {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "max_position_embeddings", "intermediate_size"}) {
    for (const json& value :
         {json(0), json(-1), json(1.5), json("8"), json(nullptr), json(1ull << 63), json(1e18)}) {
      EXPECT_THAT(error_with(llama(), field, value),
                  StartsWith(std::string("config.json: ") + field + " is " + value.dump()));
    }
  }
  EXPECT_THAT(error_with(deepseek(), "n_routed_experts", 4097),
              HasSubstr("n_routed_experts is 4097"));
  EXPECT_THAT(error_with(deepseek(), "routed_scaling_factor", 0),
              HasSubstr("routed_scaling_factor is 0"));
  EXPECT_THAT(error_with(llama(), "rms_norm_eps", 0), HasSubstr("rms_norm_eps is 0"));
  EXPECT_THAT(error_with(llama(), "rms_norm_eps", "1e-5"), HasSubstr("must be a number"));
  EXPECT_THAT(error_with(llama(), "rope_theta", 0.5), HasSubstr("rope_theta is 0.5"));
  EXPECT_THAT(error_with(llama(), "eos_token_id", 100),
              HasSubstr("eos_token_id holds 100, must be a token id below"));
  EXPECT_THAT(error_with(llama(), "eos_token_id", {1, -2}), HasSubstr("eos_token_id holds -2"));
  EXPECT_THAT(error_with(llama(), "bos_token_id", "a"), HasSubstr("bos_token_id holds \"a\""));
}

TEST(Config, SizesFitEachOther) {
  EXPECT_THAT(error_with(llama(), "num_key_value_heads", 3),
              HasSubstr("num_attention_heads is 8, must be a multiple of num_key_value_heads, 3"));
  EXPECT_THAT(error_with(llama(), "num_key_value_heads", 16),
              HasSubstr("num_key_value_heads is 16"));
  EXPECT_THAT(error_with(llama(), "hidden_size", 60),
              HasSubstr("hidden_size is 60, must be a multiple of"));
  EXPECT_THAT(error_with(llama(), "head_dim", 7), HasSubstr("is 7, must be even"));
  EXPECT_EQ(parse([] {
              json c = llama();
              c["head_dim"] = 20;
              return c;
            }())
                .head_width,
            20);
  EXPECT_THAT(error_with(mixtral(), "num_experts_per_tok", 9),
              HasSubstr("num_experts_per_tok is 9"));
  EXPECT_THAT(error_with(deepseek(), "n_group", 3),
              HasSubstr("n_routed_experts is 16, must be a multiple of n_group"));
  EXPECT_THAT(error_with(deepseek(), "n_group", 16), HasSubstr("leaves 1 expert a group"));
  EXPECT_THAT(error_with(deepseek(), "topk_group", 5), HasSubstr("topk_group is 5"));
  EXPECT_THAT(error_with(deepseek(), "num_experts_per_tok", 9),
              HasSubstr("is 9, of only 8 experts in 2 groups (topk_group)"));
  EXPECT_THAT(error_with(deepseek(), "first_k_dense_replace", 4),
              HasSubstr("first_k_dense_replace is 4"));
  EXPECT_THAT(error_with(deepseek(), "num_key_value_heads", 4),
              HasSubstr("must equal num_attention_heads, 8"));
  EXPECT_THAT(error_with(deepseek(), "qk_rope_head_dim", 5),
              HasSubstr("qk_rope_head_dim is 5, must be even"));
}

TEST(Config, WhatIsNotComputedIsRefused) {
  EXPECT_EQ(error_with(llama(), "hidden_act", "gelu"),
            "config.json: hidden_act is \"gelu\", supported: silu");
  EXPECT_THAT(error_with(llama(), "attention_bias", true), HasSubstr("attention_bias is true"));
  EXPECT_THAT(error_with(llama(), "mlp_bias", true), HasSubstr("mlp_bias is true"));
  EXPECT_THAT(error_with(mixtral(), "sliding_window", 4096), HasSubstr("sliding_window is 4096"));
  EXPECT_THAT(error_with(mixtral(), "expert_capacity", 64),
              HasSubstr("expert_capacity is 64; a capacity makes a token's experts depend on"));
  EXPECT_THAT(error_with(mixtral(), "capacity_factor", 2), HasSubstr("capacity_factor is 2; a"));
  EXPECT_THAT(error_with(deepseek(), "scoring_func", "softmax"),
              HasSubstr("scoring_func is \"softmax\", supported: sigmoid"));
  EXPECT_THAT(error_with(deepseek(), "topk_method", "greedy"),
              HasSubstr("topk_method is \"greedy\""));
  EXPECT_THAT(error_with(deepseek(), "moe_layer_freq", 2), HasSubstr("moe_layer_freq is 2"));
  EXPECT_THAT(error_with(llama(), "torch_dtype", "float8_e4m3fn"),
              HasSubstr("supported: float32, float16, bfloat16"));
  EXPECT_THAT(error_with(llama(), "dtype", "float32"),
              HasSubstr("dtype is \"float32\", but torch_dtype is \"float16\""));
}

TEST(Config, RopeInItsOldAndNewSpelling) {
  json config = llama();
  config["rope_scaling"] = {{"type", "linear"}, {"factor", 4}};
  EXPECT_EQ(parse(config).rope_scaling->factor, 4);
  config = llama();
  config.erase("rope_theta");
  config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 5e5}};
  EXPECT_EQ(parse(config).rope_theta, 5e5);
  EXPECT_FALSE(parse(config).rope_scaling);
  config["rope_theta"] = 1e4;
  EXPECT_THAT(error_of([&] { parse(config); }),
              HasSubstr("rope_theta is 10000.0, but rope_parameters says 500000"));
  config["rope_theta"] = 5e5;
  config["rope_scaling"] = {{"type", "linear"}, {"factor", 4}};
  EXPECT_THAT(error_of([&] { parse(config); }), HasSubstr("both rope_parameters and rope_scaling"));
  config.erase("rope_scaling");
  config["rope_parameters"] = {{"rope_type", "llama3"},
                               {"rope_theta", 5e5},
                               {"factor", 8},
                               {"original_max_position_embeddings", 8192},
                               {"low_freq_factor", 1}};
  EXPECT_EQ(error_of([&] { parse(config); }),
            "config.json: rope_parameters: high_freq_factor is missing");
  config["rope_parameters"]["high_freq_factor"] = 4;
  EXPECT_EQ(parse(config).rope_scaling->kind, RopeScaling::Kind::kLlama3);
  EXPECT_EQ(parse(config).rope_scaling->high_frequency, 4);
  config["rope_parameters"]["high_freq_factor"] = 1;
  EXPECT_THAT(error_of([&] { parse(config); }), HasSubstr("low_freq_factor is 1, must be below"));
  EXPECT_THAT(
      error_with(llama(), "rope_scaling", {{"type", "dynamic"}, {"factor", 2}}),
      HasSubstr("rope_scaling: type is \"dynamic\", supported: default, linear, llama3, yarn"));
  EXPECT_THAT(error_with(llama(), "rope_scaling", {{"factor", 2}}),
              HasSubstr("rope_scaling: type is missing"));
}

TEST(Config, PublishedFiles) {
  const ModelConfig llama70 = load_config(kConfigs / "llama-3-70b.json");
  EXPECT_EQ(llama70.head_width, 128);
  EXPECT_EQ(llama70.eos, std::vector<int>{128001});
  const ModelConfig v3 = load_config(kConfigs / "deepseek-v3.json");
  EXPECT_EQ(v3.mla->q_rank, 1536);
  EXPECT_EQ(v3.head_width, 192);
  EXPECT_TRUE(v3.mla->rope_interleaved);
  EXPECT_EQ(v3.rope_scaling->kind, RopeScaling::Kind::kYarn);
  EXPECT_EQ(v3.rope_scaling->original_context, 4096);
  EXPECT_EQ(v3.rope_scaling->mscale_all_dimensions, 1);
  EXPECT_EQ(v3.quantization, "fp8");
  EXPECT_FALSE(v3.is_moe_layer(2));
  EXPECT_TRUE(v3.is_moe_layer(3));
  const ModelConfig mixtral87 = load_config(kConfigs / "mixtral-8x7b.json");
  EXPECT_EQ(mixtral87.moe->experts, 8);
  EXPECT_EQ(mixtral87.max_context, 32768);
}

TEST(Config, TheFileIsNamedInTheMessage) {
  const TempFolder folder;
  EXPECT_THAT(error_of([&] { load_config(folder.write("config.json", "[]")); }),
              HasSubstr("config.json: [] is not a JSON object"));
  EXPECT_THAT(error_of([&] { load_config(folder.path() / "none.json"); }),
              HasSubstr("none.json: cannot open"));
}

}  // namespace
}  // namespace octavo::model
