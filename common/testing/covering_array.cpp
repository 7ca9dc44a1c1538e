#include "common/testing/covering_array.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "common/base/error.h"
#include "common/base/philox.h"

namespace octavo::testing {
namespace {

// The combinations of one choice of axes that no row holds yet.
struct Group {
  std::vector<int> axes;
  std::vector<bool> covered;  // by the mixed-radix number of the levels
  std::int64_t left = 0;

  std::int64_t index(const std::vector<int>& row, const std::vector<int>& levels) const {
    std::int64_t i = 0;
    for (int a : axes)
      i = i * levels[static_cast<std::size_t>(a)] + row[static_cast<std::size_t>(a)];
    return i;
  }
};

std::vector<Group> all_groups(const std::vector<int>& levels, int strength) {
  const int axes = static_cast<int>(levels.size());
  std::vector<Group> groups;
  std::vector<int> pick(static_cast<std::size_t>(strength));
  std::iota(pick.begin(), pick.end(), 0);
  while (true) {
    Group g;
    g.axes = pick;
    g.left = 1;
    for (int a : pick) g.left *= levels[static_cast<std::size_t>(a)];
    g.covered.assign(static_cast<std::size_t>(g.left), false);
    groups.push_back(std::move(g));
    int i = strength - 1;
    while (i >= 0 && pick[static_cast<std::size_t>(i)] == axes - strength + i) --i;
    if (i < 0) return groups;
    ++pick[static_cast<std::size_t>(i)];
    for (int j = i + 1; j < strength; ++j) {
      pick[static_cast<std::size_t>(j)] = pick[static_cast<std::size_t>(j - 1)] + 1;
    }
  }
}

// How many uncovered combinations `row` would cover, counting the groups whose axes are all set.
std::int64_t gain(const std::vector<Group>& groups, const std::vector<int>& row,
                  const std::vector<int>& levels) {
  std::int64_t n = 0;
  for (const Group& g : groups) {
    const bool set = std::all_of(g.axes.begin(), g.axes.end(),
                                 [&](int a) { return row[static_cast<std::size_t>(a)] >= 0; });
    if (set && !g.covered[static_cast<std::size_t>(g.index(row, levels))]) ++n;
  }
  return n;
}

// Starts from the first uncovered combination of the group with most left; sets the other axes one
// by one, in an order drawn by `draw`, each to the level that covers most.
std::vector<int> greedy_row(const std::vector<Group>& groups, const std::vector<int>& levels,
                            std::uint32_t draw) {
  const Group& seed = *std::max_element(
      groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.left < b.left; });
  std::vector<int> row(levels.size(), -1);
  std::int64_t code =
      std::find(seed.covered.begin(), seed.covered.end(), false) - seed.covered.begin();
  for (auto a = seed.axes.rbegin(); a != seed.axes.rend(); ++a) {
    const int n = levels[static_cast<std::size_t>(*a)];
    row[static_cast<std::size_t>(*a)] = static_cast<int>(code % n);
    code /= n;
  }
  std::vector<std::size_t> order;
  for (std::size_t a = 0; a < row.size(); ++a) {
    if (row[a] < 0) order.push_back(a);
  }
  for (std::size_t i = order.size(); i > 1; --i) {
    const std::uint32_t r = philox({static_cast<std::uint32_t>(i), draw, 0, 0}, {1, 2})[0];
    std::swap(order[i - 1], order[r % i]);
  }
  for (std::size_t a : order) {
    int best = 0;
    std::int64_t best_gain = -1;
    for (int level = 0; level < levels[a]; ++level) {
      row[a] = level;
      const std::int64_t n = gain(groups, row, levels);
      if (n > best_gain) {
        best = level;
        best_gain = n;
      }
    }
    row[a] = best;
  }
  return row;
}

}  // namespace

std::vector<std::vector<int>> covering_array(const std::vector<int>& levels, int strength) {
  require(strength >= 1, "a covering array of strength {}: the limit is 1", strength);
  for (std::size_t a = 0; a < levels.size(); ++a) {
    require(levels[a] >= 1, "a covering array with {} levels on axis {}", levels[a], a);
  }
  std::vector<std::vector<int>> rows;
  if (levels.empty()) return rows;
  std::vector<Group> groups =
      all_groups(levels, std::min(strength, static_cast<int>(levels.size())));
  constexpr std::uint32_t kTries = 10;  // rows drawn for each one kept
  std::uint32_t draw = 0;
  while (std::any_of(groups.begin(), groups.end(), [](const Group& g) { return g.left > 0; })) {
    std::vector<int> best;
    std::int64_t best_gain = 0;
    for (std::uint32_t t = 0; t < kTries; ++t) {
      std::vector<int> row = greedy_row(groups, levels, draw++);
      const std::int64_t n = gain(groups, row, levels);
      if (n > best_gain) {
        best = std::move(row);
        best_gain = n;
      }
    }
    for (Group& g : groups) {
      const std::size_t i = static_cast<std::size_t>(g.index(best, levels));
      if (!g.covered[i]) --g.left;
      g.covered[i] = true;
    }
    rows.push_back(std::move(best));
  }
  return rows;
}

}  // namespace octavo::testing
