#include "common/model/checkpoint.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "common/base/error.h"
#include "common/model/json.h"

namespace octavo::model {
namespace {

constexpr std::size_t kMaxIndexBytes = 100'000'000;

// Only a plain name: an index must not lead out of its folder.
std::string shard_name(const nlohmann::json& value, const std::string& tensor,
                       const std::string& origin) {
  require(value.is_string(), "{}: tensor '{}' is in {}, must be a file's name", origin, tensor,
          shown(value));
  std::string name = value.get<std::string>();
  require(!name.empty() && name.find('/') == std::string::npos &&
              name.find('\0') == std::string::npos && name != "." && name != "..",
          "{}: tensor '{}' is in {}, must be the name of a file in the same folder", origin, tensor,
          shown(value));
  return name;
}

}  // namespace

void Checkpoint::add_file(const std::filesystem::path& path) {
  files_.push_back(Safetensors::open(path));
  for (const auto& [name, view] : files_.back().tensors()) tensors_.emplace(name, view);
}

void Checkpoint::add_shards(const std::filesystem::path& index) {
  const nlohmann::json document = parse_json(read_text(index, kMaxIndexBytes), index.string());
  const Fields map = Fields(document, index.string()).inner("weight_map");
  std::map<std::string, std::set<std::string>> shards;  // file -> the tensors it must hold
  for (const auto& [tensor, file] : map.object().items()) {
    shards[shard_name(file, tensor, index.string())].insert(tensor);
  }
  for (const auto& [file, listed] : shards) {
    add_file(folder_ / file);
    const auto& held = files_.back().tensors();
    for (const std::string& name : listed) {
      require(held.find(name) != held.end(),
              "{}: tensor '{}' is missing from {}, where the index puts it", index.string(), name,
              file);
    }
    for (const auto& [name, view] : held) {
      require(listed.count(name) == 1,
              "{}: {} holds tensor '{}', which the index does not put there", index.string(), file,
              name);
    }
  }
}

Checkpoint Checkpoint::open(const std::filesystem::path& folder) {
  std::error_code ignored;  // a path that cannot be looked at is answered as one that is not there
  require(std::filesystem::is_directory(folder, ignored), "{}: is not a folder", folder.string());
  Checkpoint checkpoint;
  checkpoint.folder_ = folder;
  checkpoint.config_ = load_config(folder / "config.json");
  const auto single = folder / "model.safetensors", index = folder / "model.safetensors.index.json";
  if (std::filesystem::exists(single, ignored)) {
    checkpoint.add_file(single);
  } else {
    require(std::filesystem::exists(index, ignored),
            "{}: neither model.safetensors nor model.safetensors.index.json is there",
            folder.string());
    checkpoint.add_shards(index);
  }
  return checkpoint;
}

const TensorView& Checkpoint::tensor(std::string_view name) const {
  const auto found = tensors_.find(name);
  require(found != tensors_.end(), "{}: tensor '{}' is missing", folder_.string(), name);
  found->second.used = true;
  return found->second.view;
}

const TensorView& Checkpoint::tensor(std::string_view name,
                                     std::span<const std::int64_t> shape) const {
  const TensorView& view = tensor(name);
  require(std::equal(view.shape.begin(), view.shape.end(), shape.begin(), shape.end()),
          "{}: tensor '{}' has shape [{}], wanted [{}]", folder_.string(), name,
          fmt::join(view.shape, ", "), fmt::join(shape, ", "));
  return view;
}

std::vector<std::string> Checkpoint::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : tensors_) names.push_back(name);
  return names;
}

std::vector<std::string> Checkpoint::unused() const {
  std::vector<std::string> prediction;  // prefixes of its modules, stored behind the last layer
  for (std::int64_t i = 0; i < config_.mtp_layers; ++i)
    prediction.push_back(fmt::format("model.layers.{}.", config_.layers + i));
  const auto announced = [&](const std::string& name) {
    return std::ranges::any_of(prediction, [&](const auto& at) { return name.starts_with(at); });
  };
  std::vector<std::string> names;
  for (const auto& [name, entry] : tensors_) {
    if (!entry.used && !announced(name)) names.push_back(name);
  }
  return names;
}

}  // namespace octavo::model
