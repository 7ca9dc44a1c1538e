#pragma once
// JSON that nobody vouches for: parsed only after one pass has bounded its depth and refused
// repeated keys, and read field by field with errors that name the file, the field, its value and
// the limit.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::model {

constexpr int kMaxJsonDepth = 64;  // objects and arrays inside one another

// Parses one JSON document. `origin` (a path, say) starts every message. Throws Error for a syntax
// error, nesting deeper than kMaxJsonDepth, a key that an object holds twice and numbers beyond a
// double; the check of the depth never recurses, so it holds for any input.
nlohmann::json parse_json(std::string_view text, std::string_view origin);

// A value as it may stand in a message: its JSON, cut after 60 bytes.
std::string shown(const nlohmann::json& value);

// Typed access to the fields of one object; every getter throws Error when the field is missing or
// not as wanted. It borrows the object.
class Fields {
 public:
  // Throws Error unless `object` is an object.
  Fields(const nlohmann::json& object, std::string origin);

  const std::string& origin() const { return origin_; }
  const nlohmann::json& object() const { return object_; }

  // True when the field is there and not null.
  bool has(const std::string& name) const;
  // The field as it may stand in a message; "missing" when it is not there.
  std::string shown(const std::string& name) const;
  // The field, whatever it holds, null included.
  const nlohmann::json& at(const std::string& name) const;
  // A whole number from `min` to `max`.
  std::int64_t whole(const std::string& name, std::int64_t min, std::int64_t max) const;
  // A finite number from `min` to `max`.
  double number(const std::string& name, double min, double max) const;
  bool flag(const std::string& name) const;
  std::string text(const std::string& name) const;
  // One of `choices`; returns its index.
  int choice(const std::string& name, const std::vector<std::string_view>& choices) const;
  // An object inside; its origin is "<origin>: <name>".
  Fields inner(const std::string& name) const;

 private:
  const nlohmann::json& object_;
  std::string origin_;
};

}  // namespace octavo::model
