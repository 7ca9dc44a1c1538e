#include "common/model/json.h"

#include <cmath>
#include <unordered_set>

#include "common/base/error.h"

namespace octavo::model {
namespace {

using nlohmann::json;

std::string cut(std::string text) {
  if (text.size() > 60) {
    text.resize(60);
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0u) == 0x80u)
      text.pop_back();
    if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xc0u) text.pop_back();
    text += "...";
  }
  return text;
}

// Walks the events of the parser, which keeps its own stack and does not recurse, and builds
// nothing.
class Checker : public nlohmann::json_sax<json> {
 public:
  explicit Checker(std::string_view origin) : origin_(origin) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    keys_.emplace_back();
    return deeper();
  }
  bool key(string_t& name) override {
    require(keys_.back().insert(name).second, "{}: the key '{}' stands twice in one object",
            origin_, cut(name));
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override { return deeper(); }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception&) override {
    fail("{}: not valid JSON at byte {}, near '{}'", origin_, position, cut(token));
  }

 private:
  bool deeper() {
    require(++depth_ <= kMaxJsonDepth, "{}: JSON nested deeper than {} levels", origin_,
            kMaxJsonDepth);
    return true;
  }

  std::string_view origin_;
  int depth_ = 0;
  std::vector<std::unordered_set<std::string>> keys_;  // of the objects that are open
};

}  // namespace

json parse_json(std::string_view text, std::string_view origin) {
  Checker checker(origin);
  json::sax_parse(text, &checker);
  return json::parse(text);
}

std::string shown(const json& value) {
  return cut(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

Fields::Fields(const json& object, std::string origin)
    : object_(object), origin_(std::move(origin)) {
  if (!object_.is_object()) fail("{}: {} is not a JSON object", origin_, model::shown(object_));
}

std::string Fields::shown(const std::string& name) const {
  const auto found = object_.find(name);
  return found == object_.end() ? "missing" : model::shown(*found);
}

bool Fields::has(const std::string& name) const {
  const auto found = object_.find(name);
  return found != object_.end() && !found->is_null();
}

const json& Fields::at(const std::string& name) const {
  const auto found = object_.find(name);
  require(found != object_.end(), "{}: {} is missing", origin_, name);
  return *found;
}

std::int64_t Fields::whole(const std::string& name, std::int64_t min, std::int64_t max) const {
  const json& value = at(name);
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() ||
                     value.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX));
  require(fits && value.get<std::int64_t>() >= min && value.get<std::int64_t>() <= max,
          "{}: {} is {}, must be a whole number from {} to {}", origin_, name, model::shown(value),
          min, max);
  return value.get<std::int64_t>();
}

double Fields::number(const std::string& name, double min, double max) const {
  const json& value = at(name);
  const double x = value.is_number() ? value.get<double>() : std::nan("");
  require(x >= min && x <= max, "{}: {} is {}, must be a number from {} to {}", origin_, name,
          model::shown(value), min, max);
  return x;
}

bool Fields::flag(const std::string& name) const {
  const json& value = at(name);
  require(value.is_boolean(), "{}: {} is {}, must be true or false", origin_, name,
          model::shown(value));
  return value.get<bool>();
}

std::string Fields::text(const std::string& name) const {
  const json& value = at(name);
  require(value.is_string(), "{}: {} is {}, must be a string", origin_, name, model::shown(value));
  return value.get<std::string>();
}

int Fields::choice(const std::string& name, const std::vector<std::string_view>& choices) const {
  const json& value = at(name);
  std::string list;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (value.is_string() && value.get_ref<const std::string&>() == choices[i])
      return static_cast<int>(i);
    list += (i == 0 ? "" : ", ") + std::string(choices[i]);
  }
  fail("{}: {} is {}, supported: {}", origin_, name, model::shown(value), list);
}

Fields Fields::inner(const std::string& name) const {
  return Fields(at(name), origin_ + ": " + name);
}

}  // namespace octavo::model
