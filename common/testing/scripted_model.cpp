#include "common/testing/scripted_model.h"

#include <array>
#include <bitset>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/base/error.h"
#include "common/model/byte_level.h"

namespace octavo::testing {
namespace {

constexpr std::int64_t kVocab = 257;  // the bytes, those of the text first, and <|end|> after these

void write(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  require(file.good(), "{} cannot be written", path.string());
}

// fp32 tensors one after the other, and the header that says where.
class TensorFile {
 public:
  void add(const std::string& name, const std::vector<std::int64_t>& extents,
           const std::vector<float>& values) {
    const std::size_t begin = values_.size() * sizeof(float);
    values_.insert(values_.end(), values.begin(), values.end());
    header_[name] = {{"dtype", "F32"},
                     {"shape", extents},
                     {"data_offsets", {begin, values_.size() * sizeof(float)}}};
  }
  void write_to(const std::filesystem::path& path) const {
    std::string header = header_.dump();
    header.append((8 - header.size() % 8) % 8, ' ');
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>((header.size() >> (8 * i)) & 0xff);
    bytes += header;
    bytes.append(reinterpret_cast<const char*>(values_.data()), values_.size() * sizeof(float));
    write(path, bytes);
  }

 private:
  nlohmann::json header_;
  std::vector<float> values_;
};

// Attention and feed-forward add nothing, since their last weights are zero: the residual stream is
// the embedding, one-hot, and the head's row v looks at the token before v. Tokens from `spoken` on
// are zero in both.
void write_weights(const std::filesystem::path& path, std::int64_t spoken, std::int64_t width) {
  TensorFile file;
  const auto n = static_cast<std::size_t>(width);
  const std::vector<float> zeros(n * n), ones(n, 1);
  std::vector<float> embedding(static_cast<std::size_t>(kVocab * width)), head(embedding);
  for (std::int64_t v = 0; v < spoken; ++v) {
    embedding[static_cast<std::size_t>(v * width + v)] = 1;
    head[static_cast<std::size_t>(v * width + (v + spoken - 1) % spoken)] = 1;
  }
  file.add("model.embed_tokens.weight", {kVocab, width}, embedding);
  file.add("lm_head.weight", {kVocab, width}, head);
  file.add("model.norm.weight", {width}, ones);
  const std::string layer = "model.layers.0.";
  for (const char* norm : {"input_layernorm", "post_attention_layernorm"})
    file.add(layer + norm + ".weight", {width}, ones);
  for (const char* matrix : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                             "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"})
    file.add(layer + matrix + ".weight", {width, width}, zeros);
  file.write_to(path);
}

nlohmann::json tokenizer_json(const ScriptedModel& model) {
  nlohmann::json vocab = nlohmann::json::object();
  for (std::size_t i = 0; i < model.text.size(); ++i)
    vocab[model::byte_level_alphabet()[static_cast<unsigned char>(model.text[i])]] = i;
  int next = model.end() + 1;  // a tokenizer wants all bytes
  for (const std::string& letter : model::byte_level_alphabet())
    if (!vocab.contains(letter)) vocab[letter] = next++;
  const nlohmann::json byte_level = {{"type", "ByteLevel"},
                                     {"add_prefix_space", false},
                                     {"trim_offsets", true},
                                     {"use_regex", true}};
  const nlohmann::json end = {{"id", model.end()}, {"content", "<|end|>"}, {"single_word", false},
                              {"lstrip", false},   {"rstrip", false},      {"normalized", false},
                              {"special", true}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", {end}},
          {"normalizer", nullptr},
          {"pre_tokenizer", byte_level},
          {"post_processor", nullptr},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"vocab", vocab},
            {"merges", nlohmann::json::array()}}}};
}

}  // namespace

void write_scripted_model(const std::filesystem::path& folder, const ScriptedModel& model) {
  std::bitset<256> seen;
  for (const char c : model.text) {
    const auto byte = static_cast<unsigned char>(c);
    require(!seen[byte], "the text of a scripted model has byte 0x{:02x} twice", byte);
    seen.set(byte);
  }
  const std::int64_t spoken = model.end() + 1, width = spoken + spoken % 2;  // even, for RoPE
  const nlohmann::json config = {{"architectures", {"LlamaForCausalLM"}},
                                 {"model_type", "llama"},
                                 {"hidden_act", "silu"},
                                 {"hidden_size", width},
                                 {"intermediate_size", width},
                                 {"max_position_embeddings", model.context},
                                 {"num_attention_heads", 1},
                                 {"num_hidden_layers", 1},
                                 {"num_key_value_heads", 1},
                                 {"rms_norm_eps", 1e-6},
                                 {"rope_theta", 10000.0},
                                 {"tie_word_embeddings", false},
                                 {"torch_dtype", "float32"},
                                 {"vocab_size", kVocab}};
  write(folder / "config.json", config.dump(1));
  write(folder / "tokenizer.json", tokenizer_json(model).dump(1));
  write_weights(folder / "model.safetensors", spoken, width);
}

}  // namespace octavo::testing
