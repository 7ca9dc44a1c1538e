#pragma once
// Covering arrays: instead of the full product of several axes of values, a set of rows in which
// every combination of any `strength` axes appears. Most mistakes need no more than three settings
// together (Kuhn, Wallace, Gallo, "Software fault interactions and implications for software
// testing", IEEE TSE 2004).

#include <vector>

namespace octavo::testing {

// Rows of level indices, row[a] in [0, levels[a]). Every combination of levels of any min(strength,
// axes) axes occurs in at least one row. The same arguments give the same rows. Throws Error when
// an axis has no level or strength < 1. Greedy (Cohen, Dalal, Fredman, Patton, "The AETG system",
// IEEE TSE 1997): not the smallest array, but near it.
std::vector<std::vector<int>> covering_array(const std::vector<int>& levels, int strength = 3);

}  // namespace octavo::testing
