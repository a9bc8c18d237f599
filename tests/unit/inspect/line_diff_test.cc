#include "tools/inspect/line_diff.h"

#include <catch2/catch.hpp>
#include <random>
#include <string_view>

using namespace tessera::inspect;

namespace {

std::vector<Line> lines(std::string_view letters) {
  std::vector<Line> out;
  for (char letter : letters) out.push_back({uint32_t(letter), 0});
  return out;
}

std::vector<Line> apply(const std::vector<Line>& before, const std::vector<Line>& after,
                        const std::vector<Edit>& edits) {
  std::vector<Line> out;
  size_t at = 0;
  for (const Edit& edit : edits) {
    out.insert(out.end(), before.begin() + long(at), before.begin() + edit.at);
    out.insert(out.end(), after.begin() + edit.begin, after.begin() + edit.end);
    at = edit.at + edit.removed;
  }
  out.insert(out.end(), before.begin() + long(at), before.end());
  return out;
}

size_t removed(const std::vector<Edit>& edits) {
  size_t sum = 0;
  for (const Edit& edit : edits) sum += edit.removed;
  return sum;
}

std::vector<Edit> diff(std::string_view before, std::string_view after) {
  return diff_lines(lines(before), lines(after));
}

}  // namespace

TEST_CASE("Equal texts need no edit, and nothing becomes something by one") {
  CHECK(diff("abc", "abc").empty());
  CHECK(diff("", "").empty());
  CHECK(diff("", "abc").size() == 1);
  CHECK(diff("abc", "").size() == 1);
  CHECK(diff("abc", "xyz").size() == 1);
}

TEST_CASE("Lines that stay are kept") {
  CHECK(removed(diff("abcdef", "abXdef")) == 1);
  CHECK(removed(diff("abcdef", "acdf")) == 2);
  CHECK(removed(diff("abcdef", "fabcde")) == 1);
  // No line is there once only: the longest common subsequence decides.
  CHECK(removed(diff("ababab", "bababa")) == 1);
}

TEST_CASE("The place of a line is part of it") {
  std::vector<Line> before = lines("abc"), after = before;
  after[1].place = 7;
  std::vector<Edit> edits = diff_lines(before, after);
  REQUIRE(edits.size() == 1);
  CHECK(edits[0].at == 1);
  CHECK(edits[0].removed == 1);
}

TEST_CASE("Edits give the new text, in order and apart") {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    uint32_t kinds = 1 + random() % 40;
    std::vector<Line> before(random() % 60), after;
    for (Line& line : before) line.text = random() % kinds;
    for (const Line& line : before) {
      if (random() % 8 != 0) after.push_back(line);
      if (random() % 8 == 0) after.push_back({uint32_t(random() % kinds), 0});
    }
    std::vector<Edit> edits = diff_lines(before, after);
    REQUIRE(apply(before, after, edits) == after);
    for (size_t i = 1; i < edits.size(); ++i) REQUIRE(edits[i].at > edits[i - 1].at + edits[i - 1].removed);
  }
}

TEST_CASE("Long texts without a common line are replaced at once") {
  std::vector<Line> before(200'000), after(200'000);
  for (uint32_t i = 0; i < before.size(); ++i) {
    before[i].text = i % 1000;
    after[i].text = 1000 + i % 1000;
  }
  CHECK(diff_lines(before, after).size() == 1);
}
