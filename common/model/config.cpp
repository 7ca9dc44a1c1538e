#include "common/model/config.h"

#include "common/base/counted.h"
#include "common/base/error.h"
#include "common/model/file.h"
#include "common/model/json.h"

namespace octavo::model {
namespace {

// Far above any published model, and small enough that no product of them leaves 63 bits (size.cpp
// relies on it).
constexpr std::int64_t kMaxVocab = 1 << 20;
constexpr std::int64_t kMaxWidth = 1 << 16;
constexpr std::int64_t kMaxLayers = 1 << 10;
constexpr std::int64_t kMaxFfnWidth = 1 << 20;
constexpr std::int64_t kMaxHeads = 1 << 10;
constexpr std::int64_t kMaxHeadWidth = 1 << 10;
constexpr std::int64_t kMaxContext = 1 << 24;
constexpr std::int64_t kMaxExperts = 1 << 12;
constexpr std::int64_t kMaxSharedExperts = 64;
constexpr std::int64_t kMaxMtpLayers = 16;
constexpr std::size_t kMaxConfigBytes = 1 << 20;

constexpr std::string_view kArchitectures[] = {"LlamaForCausalLM", "MixtralForCausalLM",
                                               "DeepseekV3ForCausalLM"};

Architecture read_architecture(const Fields& f) {
  const nlohmann::json& list = f.at("architectures");
  require(list.is_array() && list.size() == 1 && list[0].is_string(),
          "{}: architectures is {}, must be a list of one name", f.origin(), shown(list));
  for (int i = 0; i < 3; ++i) {
    if (list[0].get_ref<const std::string&>() == kArchitectures[i])
      return static_cast<Architecture>(i);
  }
  fail("{}: architectures is {}, supported: {}, {}, {}", f.origin(), shown(list), kArchitectures[0],
       kArchitectures[1], kArchitectures[2]);
}

// "dtype" is the newer name of "torch_dtype"; a file may hold both.
DType read_dtype(const Fields& f) {
  const bool newer = f.has("dtype"), older = f.has("torch_dtype");
  require(newer || older, "{}: dtype (or torch_dtype) is missing", f.origin());
  require(!newer || !older || f.at("dtype") == f.at("torch_dtype"),
          "{}: dtype is {}, but torch_dtype is {}", f.origin(), f.shown("dtype"),
          f.shown("torch_dtype"));
  constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16};
  return kTypes[f.choice(newer ? "dtype" : "torch_dtype", {"float32", "float16", "bfloat16"})];
}

std::optional<RopeScaling> read_scaling(const Fields& f) {
  const int kind =
      f.choice(f.has("rope_type") ? "rope_type" : "type", {"default", "linear", "llama3", "yarn"});
  if (kind == 0) return std::nullopt;
  RopeScaling s;
  s.kind = static_cast<RopeScaling::Kind>(kind - 1);
  s.factor = f.number("factor", 1, 1e6);
  if (s.kind != RopeScaling::Kind::kLinear) {
    s.original_context = f.whole("original_max_position_embeddings", 1, kMaxContext);
  }
  if (s.kind == RopeScaling::Kind::kLlama3) {
    s.low_frequency = f.number("low_freq_factor", 1e-6, 1e6);
    s.high_frequency = f.number("high_freq_factor", 1e-6, 1e6);
    require(s.low_frequency < s.high_frequency,
            "{}: low_freq_factor is {}, must be below high_freq_factor, {}", f.origin(),
            s.low_frequency, s.high_frequency);
  }
  if (s.kind == RopeScaling::Kind::kYarn) {
    s.beta_fast = f.number("beta_fast", 1e-6, 1e6);
    s.beta_slow = f.number("beta_slow", 1e-6, 1e6);
    s.mscale = f.number("mscale", 0, 1e6);
    s.mscale_all_dimensions = f.number("mscale_all_dim", 0, 1e6);
  }
  return s;
}

// Newer files keep base and scaling together in rope_parameters, older ones in rope_theta and
// rope_scaling.
void read_rope(const Fields& f, ModelConfig& c) {
  constexpr double kMaxTheta = 1e12;
  if (f.has("rope_parameters")) {
    const Fields rope = f.inner("rope_parameters");
    c.rope_theta = rope.number("rope_theta", 1, kMaxTheta);
    require(!f.has("rope_theta") || f.number("rope_theta", 1, kMaxTheta) == c.rope_theta,
            "{}: rope_theta is {}, but rope_parameters says {}", f.origin(), f.shown("rope_theta"),
            c.rope_theta);
    require(!f.has("rope_scaling"), "{}: both rope_parameters and rope_scaling are given",
            f.origin());
    c.rope_scaling = read_scaling(rope);
  } else {
    c.rope_theta = f.number("rope_theta", 1, kMaxTheta);
    if (f.has("rope_scaling")) c.rope_scaling = read_scaling(f.inner("rope_scaling"));
  }
}

void read_attention(const Fields& f, ModelConfig& c) {
  c.heads = f.whole("num_attention_heads", 1, kMaxHeads);
  c.kv_heads = f.whole("num_key_value_heads", 1, c.heads);
  require(c.heads % c.kv_heads == 0,
          "{}: num_attention_heads is {}, must be a multiple of num_key_value_heads, {}",
          f.origin(), c.heads, c.kv_heads);
  if (f.has("head_dim")) {
    c.head_width = f.whole("head_dim", 2, kMaxHeadWidth);
  } else {
    require(c.width % c.heads == 0,
            "{}: hidden_size is {}, must be a multiple of num_attention_heads, {}, or head_dim be "
            "given",
            f.origin(), c.width, c.heads);
    c.head_width = c.width / c.heads;
    require(c.head_width <= kMaxHeadWidth,
            "{}: head width hidden_size / num_attention_heads is {}, at most {}", f.origin(),
            c.head_width, kMaxHeadWidth);
  }
  require(c.head_width % 2 == 0,
          "{}: head width (head_dim) is {}, must be even for rotary positions", f.origin(),
          c.head_width);
}

void read_mla(const Fields& f, ModelConfig& c) {
  MlaConfig m;
  f.at("q_lora_rank");  // null says that queries are not compressed; silence says nothing
  m.q_rank = f.has("q_lora_rank") ? f.whole("q_lora_rank", 1, kMaxWidth) : 0;
  m.kv_rank = f.whole("kv_lora_rank", 1, kMaxWidth);
  m.nope = f.whole("qk_nope_head_dim", 1, kMaxHeadWidth);
  m.rope = f.whole("qk_rope_head_dim", 2, kMaxHeadWidth);
  m.v = f.whole("v_head_dim", 1, kMaxHeadWidth);
  require(m.rope % 2 == 0, "{}: qk_rope_head_dim is {}, must be even", f.origin(), m.rope);
  // The class's published checkpoints store neighbours and have no such field.
  m.rope_interleaved = !f.has("rope_interleave") || f.flag("rope_interleave");
  c.heads = f.whole("num_attention_heads", 1, kMaxHeads);
  c.kv_heads = f.whole("num_key_value_heads", 1, kMaxHeads);
  require(
      c.kv_heads == c.heads,
      "{}: num_key_value_heads is {}, must equal num_attention_heads, {}, with latent attention",
      f.origin(), c.kv_heads, c.heads);
  c.head_width = m.nope + m.rope;
  c.mla = m;
}

// Softmax over all experts, then the top_k weights over their sum: fixed by the class, no field
// says it.
MoeConfig read_mixtral_moe(const Fields& f) {
  MoeConfig m;
  m.experts = f.whole("num_local_experts", 1, kMaxExperts);
  m.top_k = f.whole("num_experts_per_tok", 1, m.experts);
  m.width = f.whole("intermediate_size", 1, kMaxFfnWidth);
  m.normalize = true;
  return m;
}

MoeConfig read_deepseek_moe(const Fields& f, const ModelConfig& c) {
  MoeConfig m;
  m.experts = f.whole("n_routed_experts", 1, kMaxExperts);
  m.top_k = f.whole("num_experts_per_tok", 1, m.experts);
  m.width = f.whole("moe_intermediate_size", 1, kMaxFfnWidth);
  m.shared_experts = f.whole("n_shared_experts", 0, kMaxSharedExperts);
  m.first_dense = f.whole("first_k_dense_replace", 0, c.layers);
  m.normalize = f.flag("norm_topk_prob");
  m.scaling = f.number("routed_scaling_factor", 1e-6, 1e6);
  // The class knows one rule, and its newer configs no longer spell it; a config that names another
  // is refused.
  if (f.has("scoring_func")) f.choice("scoring_func", {"sigmoid"});
  if (f.has("topk_method")) f.choice("topk_method", {"noaux_tc"});
  if (f.has("moe_layer_freq")) f.whole("moe_layer_freq", 1, 1);
  m.scoring = Scoring::kSigmoid;
  m.selection_bias = true;
  m.groups = f.whole("n_group", 1, m.experts);
  m.top_groups = f.whole("topk_group", 1, m.groups);
  require(m.experts % m.groups == 0,
          "{}: n_routed_experts is {}, must be a multiple of n_group, {}", f.origin(), m.experts,
          m.groups);
  const std::int64_t in_group = m.experts / m.groups;
  require(in_group >= 2,
          "{}: n_group is {}, which leaves {} expert a group; a group is scored by its best two",
          f.origin(), m.groups, in_group);
  require(m.top_k <= m.top_groups * in_group,
          "{}: num_experts_per_tok is {}, of only {} in {} (topk_group)", f.origin(), m.top_k,
          counted(m.top_groups * in_group, "expert"), counted(m.top_groups, "group"));
  return m;
}

int read_token(const Fields& f, const char* name, const nlohmann::json& value, std::int64_t vocab) {
  require(
      value.is_number_unsigned() && value.get<std::uint64_t>() < static_cast<std::uint64_t>(vocab),
      "{}: {} holds {}, must be a token id below vocab_size, {}", f.origin(), name, shown(value),
      vocab);
  return value.get<int>();
}

void read_tokens(const Fields& f, ModelConfig& c) {
  if (f.has("bos_token_id")) c.bos = read_token(f, "bos_token_id", f.at("bos_token_id"), c.vocab);
  if (!f.has("eos_token_id")) return;
  const nlohmann::json& eos = f.at("eos_token_id");
  if (!eos.is_array()) {
    c.eos.push_back(read_token(f, "eos_token_id", eos, c.vocab));
  } else {
    for (const auto& id : eos) c.eos.push_back(read_token(f, "eos_token_id", id, c.vocab));
  }
}

// What the three classes can express and this project does not compute.
void refuse_the_rest(const Fields& f) {
  f.choice("hidden_act", {"silu"});
  for (const char* bias : {"attention_bias", "mlp_bias"}) {
    require(!f.has(bias) || !f.flag(bias),
            "{}: {} is true, only projections without a bias are supported", f.origin(), bias);
  }
  require(!f.has("sliding_window"), "{}: sliding_window is {}, only null is supported", f.origin(),
          f.shown("sliding_window"));
  for (const char* limit : {"expert_capacity", "expert_capacity_factor", "capacity_factor",
                            "moe_capacity_factor", "moe_expert_capacity_factor"}) {
    require(!f.has(limit),
            "{}: {} is {}; a capacity makes a token's experts depend on the other tokens of a "
            "batch, and only routing without one is supported",
            f.origin(), limit, f.shown(limit));
  }
}

}  // namespace

std::string_view name_of(Architecture architecture) {
  return kArchitectures[static_cast<int>(architecture)];
}

ModelConfig parse_config(std::string_view json, std::string_view origin) {
  const nlohmann::json document = parse_json(json, origin);
  const Fields f(document, std::string(origin));
  ModelConfig c;
  c.architecture = read_architecture(f);
  c.vocab = f.whole("vocab_size", 1, kMaxVocab);
  c.width = f.whole("hidden_size", 1, kMaxWidth);
  c.layers = f.whole("num_hidden_layers", 1, kMaxLayers);
  c.max_context = f.whole("max_position_embeddings", 1, kMaxContext);
  c.rms_eps = f.number("rms_norm_eps", 1e-20, 1);
  c.tied_embeddings = f.flag("tie_word_embeddings");
  c.dtype = read_dtype(f);
  read_rope(f, c);
  if (c.architecture == Architecture::kDeepseekV3) {
    read_mla(f, c);
    c.moe = read_deepseek_moe(f, c);
    if (f.has("num_nextn_predict_layers")) {
      c.mtp_layers = f.whole("num_nextn_predict_layers", 0, kMaxMtpLayers);
    }
  } else {
    read_attention(f, c);
    if (c.architecture == Architecture::kMixtral) c.moe = read_mixtral_moe(f);
  }
  if (c.architecture != Architecture::kMixtral) {
    c.ffn_width = f.whole("intermediate_size", 1, kMaxFfnWidth);
  }
  read_tokens(f, c);
  refuse_the_rest(f);
  if (f.has("quantization_config")) {
    c.quantization = f.inner("quantization_config").text("quant_method");
  }
  return c;
}

ModelConfig load_config(const std::filesystem::path& config_json) {
  return parse_config(read_text(config_json, kMaxConfigBytes), config_json.string());
}

}  // namespace octavo::model
