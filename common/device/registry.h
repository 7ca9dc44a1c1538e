#pragma once
// The registry of versions. Chapters export `append_versions(Registry&)`; tests,
// benchmarks, demos and the engine build a Registry from the chapters they stand on and take every
// version from it.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

#include "common/device/version.h"

namespace octavo {

// What a listing shows of a version.
struct VersionInfo {
  std::string topic = {};
  std::string_view name = {};
  Backend backend = Backend::kCpu;
  DTypeSet dtypes = {};
  bool batch_invariant = false;
};

class Registry {
 public:
  Registry() = default;
  Registry(Registry&&) = default;
  Registry& operator=(Registry&&) = default;

  // Adds a version to a topic. A topic's versions go from the plain one (v1) to the best. Throws
  // Error for a second version of one name and backend, one without name, run or types, or a topic
  // used with another Args.
  template <class Args>
  void add(std::string_view topic, const Version<Args>& version);

  // All versions of a topic in the order they were added. Throws Error for an unknown topic, naming
  // those there are.
  template <class Args>
  std::span<const Version<Args>> versions(std::string_view topic) const;

  // The version of that name and backend. Throws Error naming those there are.
  template <class Args>
  const Version<Args>& find(std::string_view topic, Backend backend, std::string_view name) const;

  // The version the engine uses: the override if there is one, else the last added that is
  // batch-invariant and takes the shape. Ask once for each weight, with the largest batch: a choice
  // that followed the batch would undo what batch-invariance gives. Throws Error when nothing fits,
  // or when the override does not.
  template <class Args>
  const Version<Args>& pick(std::string_view topic, const Args& shape, const Device& device,
                            DType compute) const;

  // Takes "topic=name" from a command line. Throws Error when there is no such topic or version, or
  // when none of the versions of that name is batch-invariant. A later override of the same topic
  // replaces the earlier.
  void override_version(std::string_view assignment);

  // The overrides, "topic=name", whose topic nobody has picked from so far: they had no effect.
  std::vector<std::string> unused_overrides() const;

  // Every version, by topic in alphabetical order, then in the order they were added.
  std::vector<VersionInfo> list() const;

 private:
  struct Topic {
    explicit Topic(std::type_index t) : args(t) {}
    std::type_index args;
    std::vector<VersionInfo> infos;
    std::shared_ptr<void> versions;            // a std::vector<Version<Args>>, in step with infos
    std::string chosen;                        // of override_version; empty for none
    mutable std::atomic<bool> picked = false;  // layers pick in threads of their own
  };

  const Topic& topic_of(std::string_view name) const;
  const Topic& typed_topic(std::string_view name, std::type_index args) const;
  Topic& topic_to_add(const VersionInfo& info, bool runs, std::type_index args);
  [[noreturn]] static void no_version(const Topic& topic, const VersionInfo& wanted);
  [[noreturn]] static void nothing_fits(std::string_view topic, std::string_view chosen,
                                        const Device& device, DType compute);

  std::map<std::string, Topic, std::less<>> topics_;
};

template <class Args>
void Registry::add(std::string_view topic, const Version<Args>& v) {
  const VersionInfo info = {std::string(topic), v.name, v.backend, v.dtypes, v.batch_invariant};
  Topic& t = topic_to_add(info, v.run != nullptr, typeid(Args));
  if (t.versions == nullptr) t.versions = std::make_shared<std::vector<Version<Args>>>();
  static_cast<std::vector<Version<Args>>*>(t.versions.get())->push_back(v);
  t.infos.push_back(info);
}

template <class Args>
std::span<const Version<Args>> Registry::versions(std::string_view topic) const {
  return *static_cast<const std::vector<Version<Args>>*>(
      typed_topic(topic, typeid(Args)).versions.get());
}

template <class Args>
const Version<Args>& Registry::find(std::string_view topic, Backend backend,
                                    std::string_view name) const {
  for (const Version<Args>& v : versions<Args>(topic)) {
    if (v.name == name && v.backend == backend) return v;
  }
  no_version(topic_of(topic), {.topic = std::string(topic), .name = name, .backend = backend});
}

template <class Args>
const Version<Args>& Registry::pick(std::string_view topic, const Args& shape, const Device& device,
                                    DType compute) const {
  const Topic& asked = typed_topic(topic, typeid(Args));
  asked.picked.store(true, std::memory_order_relaxed);
  const std::string& chosen = asked.chosen;
  const Version<Args>* best = nullptr;
  for (const Version<Args>& v : versions<Args>(topic)) {
    const bool wanted = chosen.empty() || v.name == chosen;
    if (wanted && v.batch_invariant && v.takes(shape, device, compute)) best = &v;
  }
  if (best == nullptr) nothing_fits(topic, chosen, device, compute);
  return *best;
}

// A registry of the versions that these functions add: registry_of(sparse_moe::append_versions).
template <class... Append>
std::shared_ptr<const Registry> registry_of(Append... append) {
  auto registry = std::make_shared<Registry>();
  (append(*registry), ...);
  return registry;
}

}  // namespace octavo
