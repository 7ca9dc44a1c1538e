#include "common/model/safetensors.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "common/base/philox.h"
#include "common/model/test_files.h"

namespace octavo::model {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json entry(const std::string& dtype, const json& shape, const json& begin, const json& end) {
  return {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {begin, end}}};
}

std::string error_of_header(const std::string& header, std::size_t block_bytes) {
  const TempFolder folder;
  const auto path = folder.write("m.safetensors", safetensors_bytes(header, block_bytes));
  return error_of([&] { Safetensors::open(path); });
}
std::string error_of_header(const json& header, std::size_t block_bytes) {
  return error_of_header(header.dump(), block_bytes);
}
std::string error_of_bytes(const std::string& bytes) {
  const TempFolder folder;
  const auto path = folder.write("m.safetensors", bytes);
  return error_of([&] { Safetensors::open(path); });
}

TEST(Safetensors, ReadsEveryDtypeInPlace) {
  const TempFolder folder;
  const json header = {{"__metadata__", {{"format", "pt"}}},
                       {"a", entry("F32", {2, 3}, 0, 24)},
                       {"b", entry("BF16", {4}, 24, 32)},
                       {"c", entry("F16", json::array(), 32, 34)},
                       {"d", entry("F16", {3, 0}, 34, 34)}};
  const auto file =
      Safetensors::open(folder.write("m.safetensors", safetensors_bytes(header.dump(), 34)));
  ASSERT_EQ(file.tensors().size(), 4u);
  const TensorView& a = file.tensors().at("a");
  EXPECT_EQ(a.dtype, DType::kF32);
  EXPECT_THAT(a.shape, ElementsAre(2, 3));
  EXPECT_EQ(std::to_integer<int>(a.data[23]), 23);
  EXPECT_EQ(std::to_integer<int>(file.tensors().at("b").data[0]), 24);
  EXPECT_EQ(file.tensors().at("c").elements(), 1);
  EXPECT_EQ(file.tensors().at("d").elements(), 0);
  EXPECT_TRUE(to_float(file.tensors().at("d")).empty());
}

TEST(Safetensors, ToFloatIsExact) {
  const float values[] = {1.5f, -0.0f, INFINITY, 65504.f};
  std::vector<half> halves;
  std::vector<bf16> bf16s;
  for (const float v : values) {
    halves.emplace_back(v);
    bf16s.emplace_back(v);
  }
  const auto view = [](DType dtype, const void* data) {
    return TensorView{dtype, {2, 2}, static_cast<const std::byte*>(data)};
  };
  EXPECT_THAT(to_float(view(DType::kF32, values)), ElementsAre(1.5f, -0.0f, INFINITY, 65504.f));
  EXPECT_THAT(to_float(view(DType::kF16, halves.data())),
              ElementsAre(1.5f, -0.0f, INFINITY, 65504.f));
  EXPECT_THAT(to_float(view(DType::kBF16, bf16s.data())),
              ElementsAre(1.5f, -0.0f, INFINITY, 65536.f));
}

TEST(Safetensors, ViewsSurviveAMove) {
  const TempFolder folder;
  const json header = {{"a", entry("F16", {2}, 0, 4)}};
  auto first =
      Safetensors::open(folder.write("m.safetensors", safetensors_bytes(header.dump(), 4)));
  const TensorView* const view = &first.tensors().at("a");
  const Safetensors second = std::move(first);
  EXPECT_EQ(view, &second.tensors().at("a"));
  EXPECT_EQ(std::to_integer<int>(view->data[3]), 3);
}

TEST(Safetensors, TheHeadersLengthIsCheckedFirst) {
  EXPECT_THAT(error_of_bytes(""), HasSubstr("0 bytes, a safetensors file has at least 8"));
  EXPECT_THAT(error_of_bytes(std::string(7, '\0')), HasSubstr("7 bytes"));
  EXPECT_THAT(error_of_bytes(std::string(8, '\0')), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of_bytes(std::string(8, '\xff')),
              HasSubstr("length is 18446744073709551615, at most 100000000"));
  EXPECT_THAT(error_of_bytes(std::string("\x01\xe1\xf5\x05\0\0\0\0", 8)),
              HasSubstr("100000001, at most 100000000"));
  EXPECT_THAT(error_of_bytes(std::string("\x03\0\0\0\0\0\0\0{}", 10)),
              HasSubstr("length is 3, but the file has 10 bytes"));
  const TempFolder folder;
  EXPECT_THAT(error_of([&] { Safetensors::open(folder.path()); }),
              HasSubstr("is not a regular file"));
}

TEST(Safetensors, ATruncatedFileIsRefusedWhenItIsOpened) {
  const TempFolder folder;
  const json header = {{"a", entry("F32", {4}, 0, 16)}};
  const std::string bytes = safetensors_bytes(header.dump(), 16);
  EXPECT_NO_THROW(Safetensors::open(folder.write("whole", bytes)));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto path = folder.write("cut", bytes.substr(0, size));
    EXPECT_THROW(Safetensors::open(path), Error) << size;
  }
  EXPECT_THAT(error_of_bytes(bytes.substr(0, bytes.size() - 1)),
              HasSubstr("stay within the 15 bytes"));
  EXPECT_THAT(error_of_bytes(bytes + 'x'),
              HasSubstr("the tensors end at byte 16, but 17 bytes follow the header"));
}

TEST(Safetensors, TheHeaderIsOneObjectOfEntries) {
  EXPECT_THAT(error_of_header(std::string("[]"), 0),
              HasSubstr("the header is [], must be a JSON object"));
  EXPECT_THAT(error_of_header(std::string("{\"a\": 1}"), 0),
              HasSubstr("tensor 'a': 1 is not a JSON object"));
  EXPECT_THAT(error_of_header(std::string("{} x"), 0), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of_header(json{{"__metadata__", {{"n", 1}}}}, 0),
              HasSubstr("'n' is 1, must be a string"));
  EXPECT_THAT(error_of_header(std::string(R"({"a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]},
                                              "a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}})"),
                              2),
              HasSubstr("the key 'a' stands twice"));
  EXPECT_THAT(
      error_of_header(
          std::string(R"({"a":{"dtype":"F16","dtype":"F32","shape":[1],"data_offsets":[0,2]}})"),
          2),
      HasSubstr("the key 'dtype' stands twice"));
  EXPECT_THAT(error_of_header("{\"a\":" + std::string(1'000'000, '[') + "}", 0),
              HasSubstr("deeper than 64"));
}

TEST(Safetensors, EntriesAreCheckedFieldByField) {
  for (const char* field : {"dtype", "shape", "data_offsets"}) {
    json e = entry("F16", {1}, 0, 2);
    e.erase(field);
    EXPECT_THAT(error_of_header(json{{"a", e}}, 2),
                HasSubstr(std::string("tensor 'a': ") + field + " is missing"));
  }
  EXPECT_THAT(error_of_header(json{{"a", entry("F8_E4M3", {2}, 0, 2)}}, 2),
              HasSubstr("tensor 'a': dtype is \"F8_E4M3\", supported: F32, F16, BF16"));
  EXPECT_THAT(error_of_header(json{{"a", entry("F16", {-1}, 0, 2)}}, 2),
              HasSubstr("shape is [-1], every extent"));
  EXPECT_THAT(error_of_header(json{{"a", entry("F16", {1.0}, 0, 2)}}, 2),
              HasSubstr("every extent"));
  EXPECT_THAT(error_of_header(json{{"a", entry("F16", {1ull << 63}, 0, 2)}}, 2),
              HasSubstr("every extent"));
  EXPECT_THAT(error_of_header(json{{"a", entry("F16", 1, 0, 2)}}, 2),
              HasSubstr("must be a list of at most 8"));
  EXPECT_THAT(error_of_header(json{{"a", entry("F16", std::vector<int>(9, 1), 0, 2)}}, 2),
              HasSubstr("at most 8"));
  EXPECT_THAT(error_of_header(json{{"a", entry("F16", {1}, -2, 0)}}, 2),
              HasSubstr("must be two whole numbers"));
  EXPECT_THAT(error_of_header(json{{"a", entry("F16", {1}, "0", 2)}}, 2),
              HasSubstr("must be two whole numbers"));
  EXPECT_THAT(error_of_header(json{{"a", entry("F16", {1}, 2, 0)}}, 2), HasSubstr("must rise"));
  EXPECT_THAT(error_of_header(json{{"a", entry("F16", {2}, 0, 4)}}, 2),
              HasSubstr("stay within the 2 bytes"));
  EXPECT_THAT(error_of_header(json{{"a", entry("F16", {1}, 0, ~0ull)}}, 2),
              HasSubstr("stay within the 2 bytes"));
}

TEST(Safetensors, ShapeAndBytesAgreeWithoutOverflow) {
  EXPECT_THAT(error_of_header(json{{"a", entry("F16", {3}, 0, 4)}}, 4),
              HasSubstr("[0,4] span 4 bytes, but [3] elements of 2"));
  EXPECT_THAT(error_of_header(json{{"a", entry("F32", {1}, 0, 2)}}, 2), HasSubstr("span 2 bytes"));
  EXPECT_THAT(error_of_header(json{{"a", entry("F16", {1}, 0, 3)}}, 3), HasSubstr("span 3 bytes"));
  // 2^31 * 2^31 * 4 = 2^64 elements: a product that wraps is 0, which the empty range would match.
  EXPECT_THAT(error_of_header(json{{"a", entry("F16", {1ll << 31, 1ll << 31, 4}, 0, 0)}}, 0),
              HasSubstr("[2147483648, 2147483648, 4] has more than 2^63 elements"));
  // 2^62 elements of 4 bytes: the bytes wrap, the elements do not.
  EXPECT_THAT(error_of_header(json{{"a", entry("F32", {1ll << 62}, 0, 0)}}, 0),
              HasSubstr("span 0 bytes"));
}

TEST(Safetensors, BytesAreNeitherSharedNorLeftOver) {
  EXPECT_THAT(
      error_of_header(json{{"a", entry("F16", {2}, 0, 4)}, {"b", entry("F16", {2}, 2, 6)}}, 6),
      HasSubstr("tensors 'a' and 'b' overlap: one ends at byte 4, the other starts at 2"));
  EXPECT_THAT(
      error_of_header(json{{"a", entry("F16", {1}, 0, 2)}, {"b", entry("F16", {1}, 0, 2)}}, 2),
      HasSubstr("tensors 'a' and 'b' overlap"));
  EXPECT_THAT(
      error_of_header(json{{"a", entry("F16", {2}, 0, 4)}, {"b", entry("F16", {0}, 2, 2)}}, 4),
      HasSubstr("overlap"));
  EXPECT_THAT(
      error_of_header(json{{"a", entry("F16", {1}, 0, 2)}, {"b", entry("F16", {1}, 4, 6)}}, 6),
      HasSubstr("bytes 2 to 4 before tensor 'b' belong to no tensor"));
  EXPECT_THAT(error_of_header(json{{"a", entry("F16", {1}, 2, 4)}}, 4),
              HasSubstr("bytes 0 to 2 before tensor 'a'"));
  EXPECT_THAT(error_of_header(json{{"a", entry("F16", {1}, 0, 2)}}, 4),
              HasSubstr("end at byte 2, but 4 bytes follow"));
  EXPECT_THAT(error_of_header(json::object(), 1), HasSubstr("end at byte 0, but 1 byte follows"));
}

TEST(Safetensors, ElementsAreAligned) {
  EXPECT_THAT(
      error_of_header(json{{"a", entry("F16", {1}, 0, 2)}, {"b", entry("F32", {1}, 2, 6)}}, 6),
      HasSubstr("tensor 'b': starts at byte"));
}

// Any tiling of the block by shuffled tensors opens, and reads back the bytes it was given; any one
// number of it changed does not.
TEST(Safetensors, RandomTilingsOpenAndSpoiltOnesDoNot) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::uint64_t at = 0;
    const auto below = [&](int n) {
      return static_cast<int>(uniform(seed, 0, at++, Purpose::kTest) * static_cast<float>(n));
    };
    json header;
    std::uint64_t end = 0;
    const int tensors = 1 + below(8);
    for (int i = 0; i < tensors; ++i) {
      const std::vector<int> shape = {1 + below(3), below(4)};
      const std::uint64_t bytes = static_cast<std::uint64_t>(4 * shape[0] * shape[1]);
      header[std::string(1, static_cast<char>('z' - below(20))) + std::to_string(i)] =
          entry("F32", shape, end, end + bytes);
      end += bytes;
    }
    const auto entries = parse_header(header.dump(), 64, end, "f");
    ASSERT_EQ(entries.size(), header.size());
    for (const auto& [name, e] : entries) {
      EXPECT_EQ(e.begin, header[name]["data_offsets"][0]);
      EXPECT_EQ(e.end, header[name]["data_offsets"][1]);
    }
    auto victim = header.begin();
    std::advance(victim, below(tensors));
    json& number = (*victim)["data_offsets"][static_cast<std::size_t>(below(2))];
    number = number.get<std::uint64_t>() + static_cast<std::uint64_t>(4 * (1 + below(2)));
    EXPECT_THROW(parse_header(header.dump(), 64, end, "f"), Error) << header;
  }
}

}  // namespace
}  // namespace octavo::model
