#pragma once
// A checkpoint folder: config.json and model.safetensors, or config.json and the shards that
// model.safetensors.index.json lists.

#include <atomic>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/config.h"
#include "common/model/safetensors.h"

namespace octavo::model {

// Keeps its files mapped. Movable; views live as long as the checkpoint, wherever it moves.
class Checkpoint {
 public:
  // Reads the config, maps every weight file and checks each (Safetensors::open). Throws Error when
  // the folder or one of its files is missing or bad, or when index and shards do not name exactly
  // the same tensors in the same files.
  static Checkpoint open(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  const ModelConfig& config() const { return config_; }

  bool contains(std::string_view name) const { return tensors_.find(name) != tensors_.end(); }
  // The tensor of this name, whatever its shape. Throws Error when there is none.
  const TensorView& tensor(std::string_view name) const;
  // The tensor of this name. Throws Error when there is none or its shape is not the wanted one,
  // naming both.
  const TensorView& tensor(std::string_view name, std::span<const std::int64_t> shape) const;
  const TensorView& tensor(std::string_view name, std::initializer_list<std::int64_t> shape) const {
    return tensor(name, std::span(shape.begin(), shape.size()));
  }
  std::vector<std::string> names() const;  // sorted
  // Those that nobody has asked `tensor` for, without the multi-token prediction modules that the
  // config announces: a model may run without these. Sorted.
  std::vector<std::string> unused() const;

 private:
  struct Entry {
    explicit Entry(const TensorView& of) : view(of) {}
    TensorView view;
    mutable std::atomic<bool> used = false;
  };

  void add_file(const std::filesystem::path& path);
  void add_shards(const std::filesystem::path& index);

  std::filesystem::path folder_;
  ModelConfig config_;
  std::vector<Safetensors> files_;
  std::map<std::string, Entry, std::less<>> tensors_;  // of all files
};

}  // namespace octavo::model
