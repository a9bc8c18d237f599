// Dimension expressions: values, limits, and the text form.

#include "runtime/format/expr.h"

#include <catch2/catch.hpp>

using namespace tessera::format;

namespace {

const std::vector<std::string> names = {"B", "H", "S.0"};

int64_t value_of(const std::string& text, std::vector<int64_t> dims = {3, -5, 7}) {
  auto expr = parse_expr(text, names);
  INFO(text << (expr ? "" : ": " + expr.error().text));
  REQUIRE(expr);
  int64_t value = 0;
  REQUIRE(evaluate(*expr, dims, value) == EvalStatus::Ok);
  return value;
}

std::string refusal(const std::string& text) {
  auto expr = parse_expr(text, names);
  REQUIRE_FALSE(expr);
  return expr.error().text;
}

EvalStatus status_of(const std::string& text) {
  auto expr = parse_expr(text, names);
  REQUIRE(expr);
  int64_t value = 0;
  return evaluate(*expr, std::vector<int64_t>{3, -5, 7}, value);
}

}  // namespace

TEST_CASE("expressions have their values", "[format]") {
  CHECK(value_of("B*H + 1") == -14);
  CHECK(value_of("H // 2") == -3);
  CHECK(value_of("H % 2") == 1);
  CHECK(value_of("5 // -2") == -3);
  CHECK(value_of("5 % -2") == -1);
  CHECK(value_of("H % -1") == 0);
  CHECK(value_of("min(B, H) - max(B, S.0)") == -12);
  CHECK(value_of("B > 0 and not (H == 8)") == 1);
  CHECK(value_of("B < 0 or H >= 0") == 0);
  CHECK(value_of("2 - 3 - 4") == -5);
  CHECK(value_of("2 - (3 - 4)") == 3);
  CHECK(value_of("-B*2") == -6);
  CHECK(value_of("-9223372036854775808") == INT64_MIN);
  CHECK(value_of("(S.0 + 127) // 128 != 1") == 0);
}

TEST_CASE("overflow and division by zero are found", "[format]") {
  CHECK(status_of("9223372036854775807 + B") == EvalStatus::Overflow);
  CHECK(status_of("-9223372036854775808 - 1") == EvalStatus::Overflow);
  CHECK(status_of("4611686018427387904 * 2") == EvalStatus::Overflow);
  CHECK(status_of("-9223372036854775808 // -1") == EvalStatus::Overflow);
  CHECK(status_of("-9223372036854775808 % -1") == EvalStatus::Ok);
  CHECK(status_of("B // (B - 3)") == EvalStatus::DivisionByZero);
  CHECK(status_of("B % 0") == EvalStatus::DivisionByZero);
}

TEST_CASE("the text form is read back as it is printed", "[format]") {
  for (const char* text :
       {"B*H + 1", "(B + 127) // 128", "B - (H - 1)", "B - H - 1", "min(B, max(H, 3)) % 4",
        "not (B == 1 and H == 2) or S.0 < 4", "B*(H + 1)", "(-3)*B", "B*H*S.0", "B // (H*2)",
        "(B < H) == (H < 3)", "not not B", "-3", "B + (-3)"}) {
    auto expr = parse_expr(text, names);
    INFO(text);
    REQUIRE(expr);
    CHECK(expr_text(*expr, names) == text);
  }
}

TEST_CASE("malformed texts are refused with a place", "[format]") {
  CHECK(refusal("B +") == "expression 'B +': a value is missing at byte 3");
  CHECK(refusal("C") == "expression 'C': the dimension 'C' is not known at byte 0");
  CHECK(refusal("B < H < 3") ==
        "expression 'B < H < 3': more text follows the expression at byte 6");
  CHECK(refusal("min(B)") == "expression 'min(B)': ',' is missing at byte 5");
  CHECK(refusal("9223372036854775808") ==
        "expression '9223372036854775808': a number is malformed or beyond 64 bits at byte 0");
  CHECK_FALSE(parse_expr(std::string(100000, '('), names));
  CHECK_FALSE(parse_expr(std::string(100000, '-') + "1", names));
  std::string sum = "1";
  for (int i = 0; i < 2000; ++i) sum += " + 1";
  CHECK_FALSE(parse_expr(sum, names));
}

TEST_CASE("code is checked before it is evaluated", "[format]") {
  auto refused = [](const Expr& expr) { return !check_expr(expr, 2); };
  CHECK_FALSE(refused({{ExprOp::Dim, 1}}));
  CHECK(refused({}));
  CHECK(refused({{ExprOp::Dim, 2}}));
  CHECK(refused({{ExprOp::Dim, -1}}));
  CHECK(refused({{ExprOp::Add, 0}}));
  CHECK(refused({{ExprOp::Const, 1}, {ExprOp::Const, 2}}));
  CHECK(refused({{ExprOp::Const, 1}, {ExprOp::Not, 5}}));
  CHECK(refused({{ExprOp(99), 0}}));
  CHECK(refused(Expr(100, {ExprOp::Const, 1})));
}
