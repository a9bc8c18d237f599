#include <catch2/catch.hpp>
#include <random>

#include "ir/dim/dim_multiples.h"

using namespace tessera;

TEST_CASE("equal polynomials are the same pointer") {
  DimTable t;
  Dim b = t.symbol("B"), s = t.symbol("S");
  CHECK(t.mul(t.add(b, s), t.add(b, s)) ==
        t.add(t.add(t.mul(b, b), t.mul(s, s)), t.mul(t.constant(2), t.mul(s, b))));
  CHECK(t.sub(b, b) == t.constant(0));
  CHECK(t.parse("S*B + 1")->text == "B*S + 1");
  CHECK(t.parse("2*B - 3*S*S")->text == "-3*S*S + 2*B");
}

TEST_CASE("division and remainder by a constant take out what divides") {
  DimTable t;
  CHECK(t.parse("(4*B + 8)//4")->text == "B + 2");
  CHECK(t.parse("(4*B + 6)//4") == t.parse("B + 1"));
  CHECK(t.parse("(4*B + S)//4")->text == "(S//4) + B");
  CHECK(t.parse("(4*B + S + 5)%4") == t.parse("(S + 1)%4"));
  CHECK(t.parse("-1//4") == t.constant(-1));
  CHECK(t.parse("B//1") == t.symbol("B"));
  CHECK(t.parse("ceildiv(B, 64)")->text == "((B + 63)//64)");
}

TEST_CASE("min and max fold where intervals decide") {
  DimTable t;
  CHECK(t.parse("min(B, B + 1)") == t.symbol("B"));
  CHECK(t.parse("max(0, B)") == t.symbol("B"));
  CHECK(t.parse("min(S, B)") == t.parse("min(B, S)"));
}

TEST_CASE("text of dims reads back as the same dim") {
  DimTable t;
  for (std::string text : {"B*S + 1", "(B//4)*S", "min(B, 8*S)", "((B + 63)//64)", "(B%7) + (B//7)", "-B"}) {
    Dim dim = t.parse(text);
    REQUIRE(dim);
    CHECK(t.parse(dim->text) == dim);
  }
  for (std::string bad : {"", "B +", "(B", "B B", "min(B)", "99999999999999999999", "B//"}) {
    INFO(bad);
    CHECK(t.parse(bad) == nullptr);
  }
}

TEST_CASE("a relation says of multiples what it is written as") {
  DimTable t;
  auto known = as_multiple(t.parse("S%64"), t.constant(0));
  REQUIRE(known);
  CHECK(known->of == t.symbol("S"));
  CHECK(as_multiple(t.parse("(4*S)%64"), t.constant(0))->by == t.constant(16));
  CHECK_FALSE(as_multiple(t.parse("S%64"), t.constant(1)));
  CHECK_FALSE(as_multiple(t.parse("S%64 + 1"), t.constant(0)));
}

TEST_CASE("quotients of polynomials are found where nothing is left over") {
  DimTable t;
  auto quotient = [&](const char* a, const char* b) {
    Dim found = exact_quotient(t, t.parse(a), t.parse(b));
    return found ? found->text : "none";
  };
  CHECK(quotient("M*B + 8*M", "B + 8") == "M");
  CHECK(quotient("(B + S)*(B - S + 3)", "B + S") == t.parse("B - S + 3")->text);
  CHECK(quotient("6*B*S", "-2*S") == "-3*B");
  CHECK(quotient("M*B + 9*M", "B + 8") == "none");
  CHECK(quotient("B", "2*B") == "none");
  CHECK(quotient("-9223372036854775807 - 1", "-1") == "none");
  CHECK(quotient("B", "0") == "none");
}

TEST_CASE("overflow poisons instead of wrapping") {
  DimTable t;
  Dim big = t.constant(INT64_MAX);
  CHECK(t.add(big, t.constant(1))->overflow);
  CHECK(t.mul(t.add(big, t.constant(1)), t.symbol("B"))->overflow);
  CHECK_FALSE(evaluate(t.mul(big, t.symbol("B")), [](auto) { return std::optional<int64_t>(2); }));
}

TEST_CASE("text that doubles with each step ends as an overflow") {
  DimTable t;
  for (const char* step : {"S*S//3 + S", "S + S//2", "max(S//2, S - 1)*S"}) {
    Dim form = t.parse(step), size = t.symbol("S");
    for (int i = 0; i < 100; ++i) size = t.substitute(form, [&](std::string_view) { return size; });
    CHECK(size->overflow);
  }
}

TEST_CASE("the normal form keeps the value, on random expressions") {
  DimTable t;
  std::mt19937 rng(7);
  auto pick = [&](int n) { return int(rng() % unsigned(n)); };
  for (int round = 0; round < 2000; ++round) {
    int64_t values[] = {pick(20), pick(20)};
    Dim dims[] = {t.symbol("B"), t.symbol("S")};
    Dim dim = t.constant(pick(5));
    int64_t value = *dim->constant();
    for (int step = 0; step < 6; ++step) {
      int which = pick(3);
      int64_t v = which < 2 ? values[which] : pick(7) + 1;
      Dim d = which < 2 ? dims[which] : t.constant(v);
      switch (pick(6)) {
        case 0: dim = t.add(dim, d), value += v; break;
        case 1: dim = t.sub(dim, d), value -= v; break;
        case 2: dim = t.mul(dim, d), value *= v; break;
        case 3: dim = t.min(dim, d), value = std::min(value, v); break;
        case 4: dim = t.max(dim, d), value = std::max(value, v); break;
        default: {
          int64_t k = pick(5) + 1;
          int64_t q = value / k - (value % k < 0 ? 1 : 0);
          bool floor = pick(2) == 0;
          dim = floor ? t.floordiv(dim, t.constant(k)) : t.mod(dim, t.constant(k));
          value = floor ? q : value - q * k;
        }
      }
    }
    auto env = [&](std::string_view name) -> std::optional<int64_t> { return values[name == "S"]; };
    INFO(dim->text);
    CHECK(evaluate(dim, env) == value);
    DimInterval range = interval(dim);
    CHECK((!range.low || *range.low <= value));
    CHECK((!range.high || *range.high >= value));
  }
}
