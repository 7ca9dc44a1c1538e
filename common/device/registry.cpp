#include "common/device/registry.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace octavo {
namespace {

std::string names_in(const std::vector<VersionInfo>& infos) {
  std::vector<std::string> names;
  for (const VersionInfo& i : infos)
    names.push_back(fmt::format("{} ({})", i.name, name_of(i.backend)));
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

const Registry::Topic& Registry::topic_of(std::string_view name) const {
  const auto found = topics_.find(name);
  if (found != topics_.end()) return found->second;
  std::vector<std::string_view> names;
  for (const auto& [topic, versions] : topics_) names.push_back(topic);
  fail("no topic is named '{}': there are {}", name, fmt::join(names, ", "));
}

const Registry::Topic& Registry::typed_topic(std::string_view name, std::type_index args) const {
  const Topic& topic = topic_of(name);
  require(topic.args == args, "topic '{}' is used with other arguments than it was registered with",
          name);
  return topic;
}

Registry::Topic& Registry::topic_to_add(const VersionInfo& info, bool runs, std::type_index args) {
  require(!info.topic.empty() && !info.name.empty(),
          "version '{}' of topic '{}': a name is missing", info.name, info.topic);
  require(runs && !info.dtypes.empty(), "version {} of topic {}: it has no {}", info.name,
          info.topic, runs ? "number types" : "run function");
  Topic& topic = topics_.try_emplace(info.topic, args).first->second;
  require(topic.args == args, "topic '{}' is registered with two kinds of arguments", info.topic);
  for (const VersionInfo& other : topic.infos) {
    require(other.name != info.name || other.backend != info.backend,
            "topic {} has two versions {} on {}", info.topic, info.name, name_of(info.backend));
  }
  return topic;
}

void Registry::no_version(const Topic& topic, const VersionInfo& wanted) {
  fail("topic {} has no version '{}' on {}: there are {}", wanted.topic, wanted.name,
       name_of(wanted.backend), names_in(topic.infos));
}

void Registry::nothing_fits(std::string_view topic, std::string_view chosen, const Device& device,
                            DType compute) {
  if (chosen.empty()) {
    fail("topic {}: no batch-invariant version takes this shape on {} with {}", topic,
         name_of(device.backend), name_of(compute));
  }
  fail(
      "topic {}: the version chosen, {}, does not take this shape on {} with {}, or is not "
      "batch-invariant there",
      topic, chosen, name_of(device.backend), name_of(compute));
}

void Registry::override_version(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  require(equals != std::string_view::npos && equals > 0 && equals + 1 < assignment.size(),
          "--version '{}': topic=name is wanted", assignment);
  const std::string_view name = assignment.substr(equals + 1);
  (void)topic_of(assignment.substr(0, equals));  // throws for an unknown topic
  Topic& topic = topics_.find(assignment.substr(0, equals))->second;
  const auto named = [&](const VersionInfo& i) { return i.name == name; };
  require(std::any_of(topic.infos.begin(), topic.infos.end(), named),
          "--version {}: no version is named '{}': there are {}", assignment, name,
          names_in(topic.infos));
  require(std::any_of(topic.infos.begin(), topic.infos.end(),
                      [&](const VersionInfo& i) { return named(i) && i.batch_invariant; }),
          "--version {}: that version is not batch-invariant, so the engine does not run it",
          assignment);
  topic.chosen = name;
}

std::vector<std::string> Registry::unused_overrides() const {
  std::vector<std::string> unused;
  for (const auto& [name, topic] : topics_) {
    if (!topic.chosen.empty() && !topic.picked) {
      unused.push_back(fmt::format("{}={}", name, topic.chosen));
    }
  }
  return unused;
}

std::vector<VersionInfo> Registry::list() const {
  std::vector<VersionInfo> all;
  for (const auto& [name, topic] : topics_)
    all.insert(all.end(), topic.infos.begin(), topic.infos.end());
  return all;
}

}  // namespace octavo
