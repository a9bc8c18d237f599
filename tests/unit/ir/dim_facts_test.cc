// What follows from facts about sizes: compared with trying sizes one by one.

#include "ir/core/dim_facts.h"

#include <catch2/catch.hpp>
#include <random>

#include "ir/core/context.h"

using namespace tessera;

namespace {

struct Sizes {
  Context context;
  DimTable& dims = context.dims();
  std::vector<DimFact> facts;

  /// "H % 4 == 0", with one relation between blanks.
  DimFact fact(const std::string& text) {
    for (std::string_view relation : {"==", "!=", "<=", ">=", "<", ">"}) {
      size_t at = text.find(" " + std::string(relation) + " ");
      if (at == std::string::npos) continue;
      Dim left = dims.parse(text.substr(0, at)), right = dims.parse(text.substr(at + relation.size() + 2));
      REQUIRE((left && right));
      return {*parse_relation(relation), left, right};
    }
    FAIL("no relation in " << text);
    return {};
  }
  Sizes& where(const std::string& text) {
    facts.push_back(fact(text));
    return *this;
  }
  std::string decided(const std::string& asked) {
    std::optional<bool> truth = decide(dims, fact(asked), facts);
    return !truth ? "open" : *truth ? "yes" : "no";
  }
  std::string written(const std::string& dim) { return one_form(dims, dims.parse(dim), facts)->text; }
};

}  // namespace

TEST_CASE("divisions by constants in each other are one") {
  Sizes sizes;
  CHECK(sizes.decided("(H//2)//2 == H//4") == "yes");
  CHECK(sizes.decided("((H + 1)//2 + 1)//2 == (H + 3)//4") == "yes");
  CHECK(sizes.decided("(2*H + 1)//4 == H//2") == "yes");
  CHECK(sizes.decided("(H % 12) % 4 == H % 4") == "yes");
  CHECK(sizes.decided("(6*H + 5) % 4 == 2*(H % 2) + 1") == "yes");
  CHECK(sizes.decided("2*(H//2) + H % 2 == H") == "yes");
  CHECK(sizes.decided("2*(H//2) == H") == "open");
}

TEST_CASE("a residue of a symbol is exact") {
  Sizes sizes;
  sizes.where("H % 4 == 0").where("W % 3 == 1");
  CHECK(sizes.decided("2*(H//4) == H//2") == "yes");
  CHECK(sizes.decided("4*(H//4) == H") == "yes");
  CHECK(sizes.decided("(H//2) % 2 == 0") == "yes");
  CHECK(sizes.decided("(H//2) % 4 == 0") == "open");
  CHECK(sizes.decided("(H + 1) % 2 == 1") == "yes");
  CHECK(sizes.decided("3*(W//3) + 1 == W") == "yes");
  CHECK(sizes.decided("W != 0") == "yes");
  CHECK(sizes.decided("W == 2") == "no");
  CHECK(sizes.written("2*(H//4)") == "(H//2)");
  CHECK(sizes.written("3*(H//4)*B + (H//4)*B") == "B*H");
  CHECK(sizes.written("H//6") == sizes.written("(H//2)//3"));
  CHECK(sizes.written("H % 2 + B") == "B");
}

TEST_CASE("residues of one symbol join, also where one is hidden in a quotient") {
  Sizes sizes;
  sizes.where("H % 4 == 0").where("H % 6 == 0");
  CHECK(sizes.decided("H % 12 == 0") == "yes");
  CHECK(sizes.decided("H % 24 == 0") == "open");
  Sizes halves;
  halves.where("H % 2 == 0").where("(H//2) % 2 == 0");
  CHECK(halves.decided("4*(H//4) == H") == "yes");
  CHECK(halves.decided("H % 4 == 2") == "no");
}

TEST_CASE("multiples of products and of sizes that are divided") {
  Sizes sizes;
  sizes.where("(B*S) % 64 == 0").where("D % H == 0");
  CHECK(sizes.decided("64*((B*S)//64) == B*S") == "yes");
  CHECK(sizes.decided("2*((B*S)//64) == (B*S)//32") == "yes");
  CHECK(sizes.decided("H*(D//H) == D") == "yes");
  CHECK(sizes.decided("D//H == D") == "open");
}

TEST_CASE("what has a size as a factor is a multiple of it") {
  Sizes sizes;
  CHECK(sizes.decided("(64*H) % H == 0") == "yes");
  CHECK(sizes.decided("(A*H*H + 3*H) % (A*H + 3) == 0") == "yes");
  CHECK(sizes.decided("(64*H + A) % H == 0") == "open");
  CHECK(sizes.decided("B*H*((E*H)//H) == B*E*H") == "yes");
  CHECK(sizes.decided("(E*H)//H == E") == "open");  // of no H of 0
  CHECK(sizes.written("H*((E*H)//H)") == "E*H");
  sizes.where("H >= 1");
  CHECK(sizes.decided("(E*H)//H == E") == "yes");
  CHECK(sizes.written("(E*H)//H") == "E");
  CHECK(sizes.written("(E*H + A)//H") != "E");
}

TEST_CASE("an equality of any form rewrites") {
  Sizes sizes;
  sizes.where("2*(H//4) == H//2").where("A*B == 2*C");
  CHECK(sizes.decided("2*(H//4) == H//2") == "yes");
  CHECK(sizes.decided("H % 4 < 2") == "yes");
  CHECK(sizes.decided("A*B*D == 2*C*D + 1") == "no");
  Sizes whole;
  whole.where("4*(H//4) == H").where("W - 1 == 6*(W//6)");
  CHECK(whole.decided("H % 4 == 0") == "yes");
  CHECK(whole.decided("W % 3 == 1") == "yes");
  CHECK(whole.written("2*(H//4)") == "(H//2)");
  CHECK(sizes.written("H//2") == sizes.written("2*(H//4)"));
  CHECK(sizes.written("A*B + C") == "3*C");
}

TEST_CASE("bounds decide every comparison") {
  Sizes sizes;
  sizes.where("C >= 2").where("N <= 1024").where("K > C").where("S*B >= 1");
  for (const char* yes : {"C != 1", "C > 1", "1 < C", "C*C >= 4", "4*N <= 4096", "N*M <= 1024*M", "K >= 3", "B >= 1",
                          "min(C, K) >= 2", "max(C, 1) == C", "min(K, C) == C", "C*S >= 2*S", "S*B + S > 1"}) {
    INFO(yes);
    CHECK(sizes.decided(yes) == "yes");
  }
  for (const char* no : {"C == 1", "C <= 1", "C < 2", "N > 1024", "K == C", "N == 2048", "S == 0"}) {
    INFO(no);
    CHECK(sizes.decided(no) == "no");
  }
  for (const char* open : {"C == 2", "N < 1024", "K > 3", "C*N == 8", "S == 1"}) {
    INFO(open);
    CHECK(sizes.decided(open) == "open");
  }
}

TEST_CASE("what is large is left open in bounded time") {
  Sizes sizes;
  DimTable& dims = sizes.dims;
  Dim sum = dims.symbol("B"), nest = dims.symbol("A0"), seven = dims.constant(7);
  for (int i = 0; i < 100; ++i) {
    Dim each = dims.symbol("A" + std::to_string(i));
    sum = dims.add(sum, dims.mul(each, dims.floordiv(dims.add(each, sum), dims.symbol("B"))));
    if (sum->overflow) break;
    sizes.where("(A" + std::to_string(i) + " + B) % 7 == 0").where("A" + std::to_string(i) + " % 31 != 30");
    Dim next = dims.min(dims.mul(nest, each), dims.floordiv(dims.add(nest, each), seven));
    if (!next->overflow) nest = next;
  }
  for (Dim dim : {sum, nest}) {
    CHECK_FALSE(decide(dims, {Relation::Equal, dim, dims.symbol("B")}, sizes.facts));
    CHECK_FALSE(decide(dims, {Relation::Less, dim, dims.mul(nest, nest)}, sizes.facts));
  }
  Dim remainders = dims.constant(0);
  for (int i = 0; i < 6; ++i) {
    std::string text = "A" + std::to_string(i) + "*(A" + std::to_string(i + 1) + "//5)";
    remainders = dims.add(remainders, dims.parse(text));
  }
  CHECK_FALSE(decide(dims, {Relation::Equal, remainders, dims.symbol("B")}, sizes.facts));
}

namespace {

/// Random sizes, facts and relations between small dims of three symbols.
class RandomSizes {
 public:
  explicit RandomSizes(unsigned seed) : rng_(seed) {}

  int pick(int n) { return int(rng_() % unsigned(n)); }
  std::string dim(int depth) {
    if (depth == 0) return pick(4) ? std::string(1, "ABC"[pick(3)]) : std::to_string(pick(9));
    std::string a = "(" + dim(depth - 1) + ")", b = "(" + dim(depth - 1) + ")", k = std::to_string(pick(6) + 1);
    switch (pick(8)) {
      case 0: return a + " + " + b;
      case 1: return a + " - " + std::to_string(pick(4));
      case 2: return pick(3) ? k + "*" + a : a + "*" + b;
      case 3: return a + "//" + k;
      case 4: return a + " % " + k;
      case 5: return pick(2) ? "min(" + a + ", " + b + ")" : "max(" + a + ", " + b + ")";
      default: return dim(0);
    }
  }
  std::string fact() {
    static const char* relations[] = {"==", "!=", "<", "<=", ">", ">="};
    if (pick(2)) return dim(pick(2)) + " % " + std::to_string(pick(6) + 1) + " == " + std::to_string(pick(3) / 2);
    return dim(pick(3)) + " " + relations[pick(6)] + " " + dim(pick(2));
  }

 private:
  std::mt19937 rng_;
};

std::optional<bool> truth_at(const DimFact& fact, const DimValues& values) {
  auto left = evaluate(fact.left, values), right = evaluate(fact.right, values);
  if (!left || !right) return std::nullopt;
  return holds(*left, fact.relation, *right);
}

template <typename Visit>
void for_all_sizes(const std::vector<DimFact>& facts, const Visit& visit) {
  for (int64_t i = 0; i < 11 * 11 * 11; ++i) {
    DimValues values = {{"A", i % 11}, {"B", i / 11 % 11}, {"C", i / 121}};
    auto holds_here = [&](const DimFact& fact) { return truth_at(fact, values) == true; };
    if (std::all_of(facts.begin(), facts.end(), holds_here)) visit(values);
  }
}

}  // namespace

TEST_CASE("nothing is decided or rewritten that some sizes refute") {
  RandomSizes random(11);
  int decided = 0;
  for (int round = 0; round < 1000; ++round) {
    Sizes sizes;
    std::string said;
    for (int i = random.pick(4); i > 0; --i) {
      std::string text = random.fact();
      sizes.where(text);
      said += text + "; ";
    }
    DimFact asked = sizes.fact(random.pick(3) ? random.dim(2) + " <= " + random.dim(2) : random.fact());
    Dim dim = sizes.dims.parse(random.dim(3)), other = one_form(sizes.dims, dim, sizes.facts);
    std::optional<bool> truth = decide(sizes.dims, asked, sizes.facts);
    decided += truth.has_value();
    bool sound = true, same = true;
    for_all_sizes(sizes.facts, [&](const DimValues& values) {
      sound = sound && (!truth || truth_at(asked, values) == truth);
      same = same && evaluate(dim, values) == evaluate(other, values);
    });
    INFO("where " << said << " decides " << asked.text() << ", writes " << dim->text << " as " << other->text);
    CHECK(sound);
    CHECK(same);
    CHECK(one_form(sizes.dims, other, sizes.facts) == other);
  }
  CHECK(decided > 300);
}

TEST_CASE("residues make sizes equal exactly where all sizes agree") {
  RandomSizes random(5);
  const char* facts[] = {"A % 4 == 0", "A % 6 == 2", "B % 2 == 0", "B % 9 == 5"};
  const char* dims[] = {"A", "B", "A//2", "2*(A//4)", "A//4", "(A + 2)//4", "A % 2 + B//2", "2*(B//2)", "A - 2*(A//4)",
                        "B - B//2", "(A//2)//2", "3*(B//9)", "B//3 - 1", "A//6 + A//3", "(A - 2)//2 + 1"};
  int equal = 0;
  for (const char* first : facts) {
    for (const char* second : facts) {
      Sizes sizes;
      sizes.where(first).where(second);
      for (const char* left : dims) {
        for (const char* right : dims) {
          DimFact asked{Relation::Equal, sizes.dims.parse(left), sizes.dims.parse(right)};
          bool always = true;
          int64_t found = 0;
          for (int64_t i = 0; i < 36 * 36; ++i) {
            DimValues values = {{"A", i % 36}, {"B", i / 36}};
            if (truth_at(sizes.facts[0], values) != true || truth_at(sizes.facts[1], values) != true) continue;
            ++found;
            always = always && truth_at(asked, values) == true;
          }
          if (!found) continue;
          INFO(first << ", " << second << ": " << left << " == " << right);
          CHECK((decide(sizes.dims, asked, sizes.facts) == true) == always);
          equal += always;
        }
      }
    }
  }
  CHECK(equal > 200);
}
