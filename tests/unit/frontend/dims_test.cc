// Relations between sizes: what holds for all of them, and what `where` clauses add.

#include "frontend/values/dims.h"

#include <catch2/catch.hpp>

using namespace tessera;
using namespace tessera::frontend;
using Op = ast::CompareOp;

namespace {

struct Sizes {
  Context context;
  DimTable& dims = context.dims();
  std::vector<DimFact> facts;

  Dim operator()(std::string_view text) { return dims.parse(text); }
  /// "yes", "no", or "open".
  std::string decided(Op op, std::string_view a, std::string_view b) {
    std::optional<bool> holds = decide(dims, op, (*this)(a), (*this)(b), facts);
    return !holds ? "open" : *holds ? "yes" : "no";
  }
};

}  // namespace

TEST_CASE("Equality of polynomials is decided, of other sizes left open") {
  Sizes sizes;
  CHECK(sizes.decided(Op::Equal, "(B + 1)*(B + 1)", "B*B + 2*B + 1") == "yes");
  CHECK(sizes.decided(Op::Equal, "B", "B + 1") == "no");
  CHECK(sizes.decided(Op::NotEqual, "B", "B + 1") == "yes");
  CHECK(sizes.decided(Op::Equal, "B", "S") == "open");
  CHECK(sizes.decided(Op::Equal, "B", "0") == "open");
  CHECK(sizes.decided(Op::Equal, "(4*B + 8)//4", "B + 2") == "yes");
}

TEST_CASE("Sizes are at least 0") {
  Sizes sizes;
  CHECK(sizes.decided(Op::GreaterEqual, "B", "0") == "yes");
  CHECK(sizes.decided(Op::Less, "B", "0") == "no");
  CHECK(sizes.decided(Op::Greater, "B + 1", "0") == "yes");
  CHECK(sizes.decided(Op::LessEqual, "B", "B*S + B") == "yes");
  CHECK(sizes.decided(Op::LessEqual, "16", "S") == "open");
  CHECK(sizes.decided(Op::Less, "B % 8", "8") == "yes");
}

TEST_CASE("Quotients, remainders, minima and maxima are bounded by what they are of") {
  Sizes sizes;
  CHECK(sizes.decided(Op::LessEqual, "N//2", "N") == "yes");
  CHECK(sizes.decided(Op::LessEqual, "N//4", "N//2") == "yes");
  CHECK(sizes.decided(Op::LessEqual, "2*(N//2)", "N") == "yes");
  CHECK(sizes.decided(Op::LessEqual, "3*(N//2)", "N") == "open");
  CHECK(sizes.decided(Op::LessEqual, "N", "2*((N + 1)//2)") == "yes");
  CHECK(sizes.decided(Op::LessEqual, "N", "2*(N//2)") == "open");
  CHECK(sizes.decided(Op::LessEqual, "min(N, M)", "N") == "yes");
  CHECK(sizes.decided(Op::LessEqual, "N", "min(N, M)") == "open");
  CHECK(sizes.decided(Op::LessEqual, "M", "max(N, M)") == "yes");
  CHECK(sizes.decided(Op::LessEqual, "min(N, M)//2", "max(N, K)") == "yes");
  CHECK(sizes.decided(Op::LessEqual, "N % 8", "N") == "yes");
  CHECK(sizes.decided(Op::LessEqual, "N", "N % 8") == "open");
  CHECK(sizes.decided(Op::Greater, "N//2", "N") == "no");
}

TEST_CASE("Facts decide what follows from one of them, raised by the bounds of the others") {
  Sizes sizes;
  sizes.facts.push_back({Relation::GreaterEqual, sizes("S"), sizes("16")});
  CHECK(sizes.decided(Op::LessEqual, "16", "S") == "yes");
  CHECK(sizes.decided(Op::LessEqual, "8", "S") == "yes");
  CHECK(sizes.decided(Op::Less, "S", "16") == "no");
  CHECK(sizes.decided(Op::LessEqual, "17", "S") == "open");
  CHECK(sizes.decided(Op::LessEqual, "32", "2*S") == "yes");
  sizes.facts.push_back({Relation::Less, sizes("K"), sizes("S")});
  CHECK(sizes.decided(Op::LessEqual, "K + 1", "S") == "yes");
  CHECK(sizes.decided(Op::LessEqual, "K + 2", "S") == "open");
}

TEST_CASE("Two bounds of one size do not add up") {
  Sizes sizes;
  sizes.facts.push_back({Relation::GreaterEqual, sizes("S"), sizes("16")});
  sizes.facts.push_back({Relation::GreaterEqual, sizes("S"), sizes("8")});
  CHECK(sizes.decided(Op::LessEqual, "16", "S") == "yes");
  CHECK(sizes.decided(Op::LessEqual, "17", "S") == "open");
  CHECK(sizes.decided(Op::LessEqual, "24", "S") == "open");
}

TEST_CASE("A fact of multiples holds for the divisors of what is written, and for nothing more") {
  Sizes sizes;
  sizes.facts.push_back({Relation::Equal, sizes("S % 64"), sizes("0")});
  CHECK(sizes.decided(Op::Equal, "S % 64", "0") == "yes");
  CHECK(sizes.decided(Op::Equal, "S % 32", "0") == "yes");
  CHECK(sizes.decided(Op::Equal, "S % 128", "0") == "open");
}

TEST_CASE("What overflows decides nothing") {
  Sizes sizes;
  Dim huge = sizes.dims.mul(sizes("9223372036854775807"), sizes("2"));
  REQUIRE(huge->overflow);
  CHECK(!decide(sizes.dims, Op::Equal, huge, huge, {}));
  std::vector<Dim> shape = {sizes("4294967296"), sizes("4294967296")};
  CHECK(element_count(sizes.dims, shape)->overflow);
}
