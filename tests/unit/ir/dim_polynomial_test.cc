// Polynomials of the prover's search beside dims, which say the same with a text.

#include "ir/dim/dim_polynomial.h"

#include <catch2/catch.hpp>

#include <random>

#include "ir/dim/dim_terms.h"

using namespace tessera;

namespace {

/// Sums of products of symbols and other atoms, whose texts begin alike.
class RandomDims {
 public:
  explicit RandomDims(DimTable& table) : table_(table) {}

  Dim dim() {
    Dim sum = table_.constant(number());
    for (int64_t terms = pick(4); terms > 0; --terms) {
      sum = table_.add(sum, table_.mul(table_.constant(number()), product()));
    }
    return sum;
  }

  Dim product() {
    Dim product = table_.constant(1);
    for (int64_t factors = pick(4); factors > 0; --factors) product = table_.mul(product, atom());
    return product;
  }

  int64_t number() {
    return pick(20) == 0 ? INT64_MAX / (1 + pick(3)) : pick(2000) - 1000;
  }

 private:
  int64_t pick(int64_t below) { return std::uniform_int_distribution<int64_t>(0, below - 1)(random_); }

  Dim atom() {
    static constexpr const char* texts[] = {"A", "AA", "A_", "B", "A//3", "AA%7", "min(A, B)", "max(A_, B)"};
    return table_.parse(texts[pick(std::size(texts))]);
  }

  DimTable& table_;
  std::mt19937_64 random_{1};
};

}  // namespace

TEST_CASE("polynomials are what dims are") {
  DimTable table;
  DimProducts products;
  RandomDims random(table);
  int negative = 0, overflowing = 0;
  for (int i = 0; i < 20'000; ++i) {
    Dim p = random.dim(), q = random.dim(), m = random.product();
    int64_t a = random.number(), b = random.number();
    Dim wanted = table.add(table.mul(table.constant(a), p), table.mul(table.mul(table.constant(b), m), q));
    if (p->overflow || q->overflow || m->overflow) continue;
    DimPolynomial given = products.polynomial(p), other = products.polynomial(q);
    REQUIRE(given.text_size() == p->text.size());
    const DimProduct* multiplier = products.product(m->terms.at(0).factors);
    if (m->terms[0].coefficient != 1) continue;
    DimPolynomial sum = products.combined(a, given, b, multiplier, other);
    INFO(a << " * (" << p->text << ") + " << b << " * " << m->text << " * (" << q->text << ")");
    REQUIRE(sum.overflow == wanted->overflow);
    overflowing += sum.overflow;
    if (sum.overflow) continue;
    REQUIRE(sum.text_size() == wanted->text.size());
    REQUIRE(sum.terms.size() == wanted->terms.size());
    for (size_t t = 0; t < sum.terms.size(); ++t) {
      CHECK(sum.terms[t].coefficient == wanted->terms[t].coefficient);
      CHECK(sum.terms[t].product->factors == wanted->terms[t].factors);
    }
    CHECK(sum.is_non_negative() == (interval(wanted).low.value_or(-1) >= 0));
    negative += !sum.is_non_negative();
  }
  CHECK(negative > 1000);
  CHECK(overflowing > 100);
}

TEST_CASE("a product without the factors of another") {
  DimTable table;
  DimProducts products;
  auto of = [&](const char* text) { return products.product(table.parse(text)->terms.at(0).factors); };
  CHECK(products.quotient(of("A*A*B"), of("A*B")) == of("A"));
  CHECK(products.quotient(of("A*B"), of("A*B")) == products.product({}));
  CHECK(products.quotient(of("A*B"), of("A*A")) == nullptr);
  CHECK(products.quotient(of("A"), of("C")) == nullptr);
}
