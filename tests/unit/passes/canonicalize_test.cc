// Each pattern of `canonicalize`: it applies where it should, nowhere else, and keeps every bit.

#include <algorithm>
#include <set>

#include "passes/graph/canonicalize/patterns.h"
#include "unit/passes/graph_pass_fixture.h"

using namespace tessera;

namespace {

constexpr DType float_dtypes[] = {DType::F64, DType::F32, DType::BF16, DType::F16, DType::F8E4M3,
                                  DType::F8E5M2};
constexpr DType int_dtypes[] = {DType::I64, DType::I32, DType::I8, DType::U64, DType::U32, DType::U8};

/// Names of the patterns that a case of this file has applied.
std::set<std::string_view>& applied() {
  static std::set<std::string_view> names;
  return names;
}

struct CanonicalTest : GraphPassTest {
  CanonicalTest() : before(observe_patterns([](const Pattern& pattern) { applied().insert(pattern.name); })) {}
  ~CanonicalTest() { observe_patterns(before); }

  PatternObserver before;
};

/// Replaces `T` as a word by a dtype.
std::string with_dtype(std::string text, DType dtype) {
  for (size_t at = 0; (at = text.find("$T", at)) != std::string::npos;) {
    text.replace(at, 2, std::string(to_string(dtype)));
  }
  return text;
}

struct Rule {
  const char* body;      ///< of %x and %y, tensors [64] of $T; gives %r
  const char* gone;      ///< an op that must not be left, or null
  const char* left;      ///< an op that must be left, or null
};

/// Runs a rule for a dtype on special numbers against each other and on random ones.
void check_rule(const Rule& rule, DType dtype) {
  CanonicalTest test;
  std::string body = with_dtype(rule.body, dtype);
  INFO(body);
  std::string type = with_dtype("tensor<64, $T>", dtype);
  std::string end = body.find("%r:") == std::string::npos ? "" : "\ngir.return [%r]";
  std::vector<TensorValue> arguments;
  arguments.push_back(probing_tensor(dtype, 1));
  arguments.push_back(probing_tensor(dtype, 2));
  Op* after = test.check_pipeline("canonicalize", {"%x: " + type, "%y: " + type}, body + end, arguments);
  if (rule.gone) CHECK(test.count(after, rule.gone) == 0);
  if (rule.left) CHECK(test.count(after, rule.left) != 0);
}

void check_rules(std::initializer_list<Rule> rules, std::span<const DType> dtypes) {
  for (const Rule& rule : rules) {
    for (DType dtype : dtypes) check_rule(rule, dtype);
  }
}

}  // namespace

TEST_CASE("identities of floats that hold for every operand") {
  check_rules(
      {
          {"%c: tensor<64, $T> = gir.full {value = 1.0}\n%r: tensor<64, $T> = gir.mul %x, %c",
           "gir.mul", nullptr},
          {"%c: tensor<64, $T> = gir.full {value = 1.0}\n%r: tensor<64, $T> = gir.mul %c, %x",
           "gir.mul", nullptr},
          {"%c: tensor<64, $T> = gir.full {value = 1.0}\n%r: tensor<64, $T> = gir.div %x, %c",
           "gir.div", nullptr},
          {"%c: tensor<64, $T> = gir.full {value = -0.0}\n%r: tensor<64, $T> = gir.add %x, %c",
           "gir.add", nullptr},
          {"%c: tensor<64, $T> = gir.full {value = 0.0}\n%r: tensor<64, $T> = gir.sub %x, %c",
           "gir.sub", nullptr},
          {"%c: tensor<64, $T> = gir.full {value = 1.0}\n%r: tensor<64, $T> = gir.pow %x, %c",
           "gir.pow", nullptr},
          {"%n: tensor<64, $T> = gir.neg %x\n%r: tensor<64, $T> = gir.neg %n", "gir.neg", nullptr},
          {"%n: tensor<64, $T> = gir.neg %x\n%r: tensor<64, $T> = gir.abs %n", "gir.neg", "gir.abs"},
          {"%n: tensor<64, $T> = gir.neg %x\n%r: tensor<64, $T> = gir.add %y, %n", "gir.add", "gir.sub"},
          {"%n: tensor<64, $T> = gir.neg %x\n%r: tensor<64, $T> = gir.add %n, %y", "gir.add", "gir.sub"},
          {"%n: tensor<64, $T> = gir.neg %x\n%r: tensor<64, $T> = gir.sub %y, %n", "gir.sub", "gir.add"},
          {"%r: tensor<64, $T> = gir.max %x, %x", "gir.max", nullptr},
          {"%r: tensor<64, $T> = gir.min %x, %x", "gir.min", nullptr},
          {"%c: tensor<64, $T> = gir.full {value = 0.0}\n%r: tensor<64, $T> = gir.max %c, %x",
           "gir.max", "gir.relu"},
          {"%c: tensor<64, $T> = gir.full {value = 1.0}\n%r: tensor<64, $T> = gir.div %c, %x",
           "gir.div", "gir.reciprocal"},
          {"%c: tensor<64, $T> = gir.full {value = 4.0}\n%r: tensor<64, $T> = gir.div %x, %c",
           "gir.div", "gir.mul"},
          {"%c: tensor<64, $T> = gir.full {value = -0.25}\n%r: tensor<64, $T> = gir.div %x, %c",
           "gir.div", "gir.mul"},
          {"%a: tensor<64, $T> = gir.abs %x\n%r: tensor<64, $T> = gir.abs %a", nullptr, "gir.abs"},
          {"%a: tensor<64, bool> = gir.eq %x, %y\n%b: tensor<64, bool> = gir.not %a\n"
           "%r: tensor<64, $T> = gir.select %b, %x, %y",
           "gir.not", "gir.select"},
      },
      float_dtypes);
}

TEST_CASE("idempotent ops are applied once") {
  for (std::string name : {"abs", "relu", "sign", "floor", "ceil", "round", "trunc"}) {
    std::string op = "gir." + name;
    std::string body = "%a: tensor<64, $T> = " + op + " %x\n%r: tensor<64, $T> = " + op + " %a";
    CanonicalTest test;
    std::vector<TensorValue> arguments;
    arguments.push_back(probing_tensor(DType::F32));
    Op* after = test.check_pipeline("canonicalize", {"%x: tensor<64, f32>"},
                                    with_dtype(body, DType::F32) + "\ngir.return [%r]", arguments);
    CHECK(test.count(after, op) == 1);
  }
}

TEST_CASE("what is no identity of floats is left") {
  check_rules(
      {
          {"%c: tensor<64, $T> = gir.full {value = 0.0}\n%r: tensor<64, $T> = gir.add %x, %c",
           nullptr, "gir.add"},
          {"%c: tensor<64, $T> = gir.full {value = -0.0}\n%r: tensor<64, $T> = gir.sub %x, %c",
           nullptr, "gir.sub"},
          {"%c: tensor<64, $T> = gir.full {value = 0.0}\n%r: tensor<64, $T> = gir.mul %x, %c",
           nullptr, "gir.mul"},
          {"%r: tensor<64, $T> = gir.sub %x, %x", nullptr, "gir.sub"},
          {"%r: tensor<64, $T> = gir.div %x, %x", nullptr, "gir.div"},
          {"%c: tensor<64, $T> = gir.full {value = 3.0}\n%r: tensor<64, $T> = gir.div %x, %c",
           nullptr, "gir.div"},
          {"%c: tensor<64, $T> = gir.full {value = -0.0}\n%r: tensor<64, $T> = gir.max %x, %c",
           nullptr, "gir.max"},
          {"%c: tensor<64, $T> = gir.full {value = 2.0}\n%a: tensor<64, $T> = gir.add %x, %c\n"
           "%r: tensor<64, $T> = gir.add %a, %c",
           nullptr, "gir.add"},
          {"%a: tensor<64, bool> = gir.lt %x, %y\n%b: tensor<64, bool> = gir.not %a\n"
           "%r: tensor<64, $T> = gir.select %b, %x, %y",
           "gir.not", "gir.select"},  // the branches are exchanged instead
      },
      float_dtypes);
}

TEST_CASE("an ordering of floats has no opposite") {
  CanonicalTest test;
  std::vector<TensorValue> arguments;
  arguments.push_back(probing_tensor(DType::F32, 1));
  arguments.push_back(probing_tensor(DType::F32, 2));
  std::string body = "%a: tensor<64, bool> = gir.lt %x, %y\n%r: tensor<64, bool> = gir.not %a\n"
                     "gir.return [%r]";
  Op* after = test.check_pipeline("canonicalize", {"%x: tensor<64, f32>", "%y: tensor<64, f32>"}, body,
                                  arguments);
  CHECK(test.count(after, "gir.not") == 1);
}

TEST_CASE("a square is a product, except in f64") {
  Rule square = {"%c: tensor<64, $T> = gir.full {value = 2.0}\n%r: tensor<64, $T> = gir.pow %x, %c",
                 "gir.pow", "gir.mul"};
  for (DType dtype : float_dtypes) {
    if (dtype == DType::F64) square.gone = square.left = nullptr;
    check_rule(square, dtype);
    if (dtype == DType::F64) square.gone = "gir.pow", square.left = "gir.mul";
  }
}

TEST_CASE("the reciprocal of a root is rsqrt where that is defined so") {
  Rule inverse = {"%a: tensor<64, $T> = gir.sqrt %x\n%r: tensor<64, $T> = gir.reciprocal %a", "gir.sqrt",
                  "gir.rsqrt"};
  check_rule(inverse, DType::F32);
  check_rule(inverse, DType::F64);
  check_rule({inverse.body, "gir.rsqrt", "gir.sqrt"}, DType::BF16);
  check_rule({inverse.body, "gir.rsqrt", "gir.sqrt"}, DType::F16);
}

TEST_CASE("identities of integers") {
  check_rules(
      {
          {"%c: tensor<64, $T> = gir.full {value = 0}\n%r: tensor<64, $T> = gir.add %c, %x", "gir.add", nullptr},
          {"%c: tensor<64, $T> = gir.full {value = 0}\n%r: tensor<64, $T> = gir.mul %x, %c", "gir.mul", nullptr},
          {"%c: tensor<64, $T> = gir.full {value = 0}\n%r: tensor<64, $T> = gir.and %x, %c", "gir.and", nullptr},
          {"%c: tensor<64, $T> = gir.full {value = 0}\n%r: tensor<64, $T> = gir.or %x, %c", "gir.or", nullptr},
          {"%c: tensor<64, $T> = gir.full {value = 0}\n%r: tensor<64, $T> = gir.xor %x, %c", "gir.xor", nullptr},
          {"%c: tensor<64, $T> = gir.full {value = 0}\n%r: tensor<64, $T> = gir.shl %x, %c", "gir.shl", nullptr},
          {"%c: tensor<64, $T> = gir.full {value = 0}\n%r: tensor<64, $T> = gir.shr %x, %c", "gir.shr", nullptr},
          {"%c: tensor<64, $T> = gir.full {value = 1}\n%r: tensor<64, $T> = gir.div %x, %c", "gir.div", nullptr},
          {"%c: tensor<64, $T> = gir.full {value = 1}\n%r: tensor<64, $T> = gir.floor_div %x, %c",
           "gir.floor_div", nullptr},
          {"%c: tensor<64, $T> = gir.full {value = 1}\n%r: tensor<64, $T> = gir.mod %x, %c", "gir.mod", nullptr},
          {"%z: tensor<64, $T> = gir.full {value = 0}\n%c: tensor<64, $T> = gir.not %z\n"
           "%r: tensor<64, $T> = gir.and %x, %c",
           "gir.and", nullptr},
          {"%r: tensor<64, $T> = gir.sub %x, %x", "gir.sub", "gir.full"},
          {"%r: tensor<64, $T> = gir.xor %x, %x", "gir.xor", "gir.full"},
          {"%n: tensor<64, $T> = gir.not %x\n%r: tensor<64, $T> = gir.not %n", "gir.not", nullptr},
          {"%a: tensor<64, bool> = gir.lt %x, %y\n%b: tensor<64, bool> = gir.not %a\n"
           "%r: tensor<64, $T> = gir.cast %b",
           "gir.not", "gir.ge"},
          {"%c: tensor<64, $T> = gir.full {value = 3}\n%d: tensor<64, $T> = gir.full {value = 100}\n"
           "%a: tensor<64, $T> = gir.mul %x, %c\n%r: tensor<64, $T> = gir.mul %d, %a",
           nullptr, "gir.mul"},
          {"%c: tensor<64, $T> = gir.full {value = 3}\n%d: tensor<64, $T> = gir.full {value = 100}\n"
           "%a: tensor<64, $T> = gir.add %c, %x\n%r: tensor<64, $T> = gir.add %a, %d",
           nullptr, "gir.add"},
      },
      int_dtypes);
}

TEST_CASE("signs, bounds and comparisons of floats") {
  check_rules(
      {
          {"%c: tensor<64, $T> = gir.full {value = -1.0}\n%r: tensor<64, $T> = gir.mul %x, %c", "gir.mul", "gir.neg"},
          {"%c: tensor<64, $T> = gir.full {value = -1.0}\n%r: tensor<64, $T> = gir.div %x, %c", "gir.div", "gir.neg"},
          {"%a: tensor<64, $T> = gir.neg %x\n%b: tensor<64, $T> = gir.neg %y\n%r: tensor<64, $T> = gir.mul %a, %b",
           "gir.neg", "gir.mul"},
          {"%a: tensor<64, $T> = gir.neg %x\n%b: tensor<64, $T> = gir.neg %y\n%r: tensor<64, $T> = gir.div %a, %b",
           "gir.neg", "gir.div"},
          {"%a: tensor<64, $T> = gir.relu %x\n%r: tensor<64, $T> = gir.abs %a", "gir.abs", "gir.relu"},
          {"%a: tensor<64, $T> = gir.abs %x\n%r: tensor<64, $T> = gir.relu %a", "gir.relu", "gir.abs"},
          {"%a: tensor<64, bool> = gir.lt %x, %x\n%r: tensor<64, $T> = gir.cast %a", "gir.lt", nullptr},
          {"%a: tensor<64, bool> = gir.ne %x, %x\n%r: tensor<64, $T> = gir.cast %a", nullptr, "gir.ne"},
          {"%a: tensor<64, bool> = gir.ge %x, %x\n%r: tensor<64, $T> = gir.cast %a", nullptr, "gir.ge"},
          {"%t: tensor<64, bool> = gir.full {value = 1}\n%f: tensor<64, bool> = gir.full {value = 0}\n"
           "%a: tensor<64, bool> = gir.lt %x, %y\n%b: tensor<64, bool> = gir.select %a, %t, %f\n"
           "%r: tensor<64, $T> = gir.cast %b",
           "gir.select", "gir.lt"},
          {"%t: tensor<64, bool> = gir.full {value = 1}\n%f: tensor<64, bool> = gir.full {value = 0}\n"
           "%a: tensor<64, bool> = gir.lt %x, %y\n%b: tensor<64, bool> = gir.select %a, %f, %t\n"
           "%r: tensor<64, $T> = gir.cast %b",
           "gir.select", "gir.not"},
      },
      float_dtypes);
  for (std::string kind : {"min", "max"}) {
    for (std::string bound : {"0.0", "-0.0", "2.0", "inf", "nan"}) {
      std::string body = "%c: tensor<64, $T> = gir.full {value = 1.0}\n"
                         "%d: tensor<64, $T> = gir.full {value = " + bound + "}\n"
                         "%a: tensor<64, $T> = gir." + kind + " %x, %c\n"
                         "%r: tensor<64, $T> = gir." + kind + " %a, %d";
      CanonicalTest test;
      std::vector<TensorValue> arguments;
      arguments.push_back(probing_tensor(DType::F32));
      Op* after = test.check_pipeline("canonicalize", {"%x: tensor<64, f32>"},
                                      with_dtype(body, DType::F32) + "\ngir.return [%r]", arguments);
      CHECK(test.count(after, "gir." + kind) == 1);
    }
  }
}

TEST_CASE("signs, bounds and comparisons of integers") {
  check_rules(
      {
          {"%a: tensor<64, $T> = gir.neg %x\n%b: tensor<64, $T> = gir.neg %y\n%r: tensor<64, $T> = gir.mul %a, %b",
           "gir.neg", "gir.mul"},
          {"%a: tensor<64, $T> = gir.neg %x\n%b: tensor<64, $T> = gir.neg %y\n%r: tensor<64, $T> = gir.div %a, %b",
           nullptr, "gir.neg"},
          {"%c: tensor<64, $T> = gir.full {value = 3}\n%d: tensor<64, $T> = gir.full {value = 100}\n"
           "%a: tensor<64, $T> = gir.min %x, %d\n%r: tensor<64, $T> = gir.min %c, %a",
           nullptr, "gir.min"},
          {"%a: tensor<64, bool> = gir.eq %x, %x\n%r: tensor<64, $T> = gir.cast %a", "gir.eq", nullptr},
          {"%a: tensor<64, bool> = gir.ne %x, %x\n%r: tensor<64, $T> = gir.cast %a", "gir.ne", nullptr},
          {"%a: tensor<64, bool> = gir.gt %x, %x\n%r: tensor<64, $T> = gir.cast %a", "gir.gt", nullptr},
      },
      int_dtypes);
  for (DType dtype : {DType::I8, DType::I32, DType::I64}) {
    check_rule({"%c: tensor<64, $T> = gir.full {value = -1}\n%r: tensor<64, $T> = gir.mul %x, %c", "gir.mul",
                "gir.neg"}, dtype);
    check_rule({"%c: tensor<64, $T> = gir.full {value = -1}\n%r: tensor<64, $T> = gir.div %x, %c", "gir.div",
                "gir.neg"}, dtype);
    check_rule({"%a: tensor<64, $T> = gir.abs %x\n%r: tensor<64, $T> = gir.relu %a", nullptr, "gir.relu"}, dtype);
  }
}

TEST_CASE("reductions that meet become one where their order has no say") {
  auto reductions_left = [](std::string_view kind, DType dtype, const std::string& second) {
    CanonicalTest test;
    std::string k(kind);
    std::string body = "%x2: tensor<4 x 4 x 4, $T> = gir.reshape %x\n"
                       "%a: tensor<4 x 4, $T> = gir.reduce %x2 {axes = [1], kind = \"" + k + "\"}\n"
                       "%r: tensor<4, $T> = gir.reduce %a {axes = [1], kind = \"" + second + "\"}\ngir.return [%r]";
    std::vector<TensorValue> arguments;
    arguments.push_back(probing_tensor(dtype));
    Op* after = test.check_pipeline("canonicalize", {with_dtype("%x: tensor<64, $T>", dtype)},
                                    with_dtype(body, dtype), arguments);
    return test.count(after, "gir.reduce");
  };
  for (const char* kind : {"max", "min"}) {
    for (DType dtype : float_dtypes) CHECK(reductions_left(kind, dtype, kind) == 1);
  }
  for (const char* kind : {"sum", "prod", "max"}) {
    for (DType dtype : int_dtypes) CHECK(reductions_left(kind, dtype, kind) == 1);
  }
  CHECK(reductions_left("sum", DType::F32, "sum") == 2);
  CHECK(reductions_left("max", DType::F32, "min") == 2);
}

TEST_CASE("reductions of single elements") {
  for (std::string kind : {"sum", "prod", "max", "min"}) {
    for (DType dtype : {DType::F32, DType::F8E4M3, DType::I8}) {
      CanonicalTest test;
      std::string body = "%a: tensor<64 x 1, $T> = gir.reshape %x\n"
                         "%r: tensor<64, $T> = gir.reduce %a {axes = [1], kind = \"" + kind + "\"}\n"
                         "gir.return [%r]";
      std::vector<TensorValue> arguments;
      arguments.push_back(probing_tensor(dtype));
      Op* after = test.check_pipeline("canonicalize", {with_dtype("%x: tensor<64, $T>", dtype)},
                                      with_dtype(body, dtype), arguments);
      CHECK(test.count(after, "gir.reduce") == (kind == "sum" && is_float(dtype) ? 1 : 0));
    }
  }
}

TEST_CASE("parts of concatenations") {
  auto canonical = [](GraphPassTest& test, const std::string& body) {
    std::vector<TensorValue> arguments;
    arguments.push_back(probing_tensor(DType::F32, 1));
    arguments.push_back(probing_tensor(DType::F32, 2));
    return test.check_pipeline("canonicalize", {"%x: tensor<64, f32>", "%y: tensor<64, f32>"}, body, arguments);
  };
  GraphPassTest nested, inside, across;
  Op* flat = canonical(nested, "%a: tensor<128, f32> = gir.concat [%x, %y] {axis = 0}\n"
                               "%r: tensor<192, f32> = gir.concat [%y, %a] {axis = 0}\ngir.return [%r]");
  CHECK(nested.count(flat, "gir.concat") == 1);
  Op* part = canonical(inside, "%a: tensor<128, f32> = gir.concat [%x, %y] {axis = 0}\n"
                               "%r: tensor<20, f32> = gir.slice %a {starts = [70], steps = [3]}\ngir.return [%r]");
  CHECK(inside.count(part, "gir.slice") == 1);
  Op* both = canonical(across, "%a: tensor<128, f32> = gir.concat [%x, %y] {axis = 0}\n"
                               "%r: tensor<20, f32> = gir.slice %a {starts = [60], steps = [1]}\ngir.return [%r]");
  CHECK(across.count(both, "gir.concat") == 1);
  CHECK(nested.count(flat, "gir.slice") == 0);
}

TEST_CASE("the absolute value of a negated integer is that of the integer where it has a sign") {
  Rule rule = {"%n: tensor<64, $T> = gir.neg %x\n%r: tensor<64, $T> = gir.abs %n", nullptr, "gir.abs"};
  for (DType dtype : int_dtypes) check_rule(rule, dtype);
}

TEST_CASE("constants of integers are gathered") {
  CanonicalTest test;
  std::string body;
  for (int i = 0; i < 5; ++i) {
    std::string n = std::to_string(i), from = i ? "%a" + std::to_string(i - 1) : "%x";
    body += "%c" + n + ": tensor<64, u8> = gir.full {value = 7" + n + "}\n";
    body += "%a" + n + ": tensor<64, u8> = gir.add " + from + ", %c" + n + "\n";
  }
  std::vector<TensorValue> arguments;
  arguments.push_back(probing_tensor(DType::U8));
  Op* after = test.check_pipeline("canonicalize", {"%x: tensor<64, u8>"}, body + "gir.return [%a4]", arguments);
  CHECK(test.count(after, "gir.add") == 1);
  CHECK(test.count(after, "gir.full") == 1);
}

TEST_CASE("choices that are known are made") {
  check_rules({{"%c: tensor<64, bool> = gir.full {value = 1}\n%r: tensor<64, $T> = gir.select %c, %x, %y",
                "gir.select", nullptr},
               {"%c: tensor<64, bool> = gir.full {value = 0}\n%r: tensor<64, $T> = gir.select %c, %x, %y",
                "gir.select", nullptr},
               {"%c: tensor<64, bool> = gir.lt %x, %y\n%r: tensor<64, $T> = gir.select %c, %x, %x",
                "gir.select", nullptr}},
              float_dtypes);
}

TEST_CASE("a pair of casts goes exactly when the first one rounds nothing") {
  std::vector<DType> all(std::begin(float_dtypes), std::end(float_dtypes));
  all.insert(all.end(), std::begin(int_dtypes), std::end(int_dtypes));
  all.insert(all.end(), {DType::TF32, DType::I4, DType::I16, DType::U16, DType::Bool});
  for (DType dtype : all) {
    for (DType through : all) {
      CanonicalTest test;
      INFO(to_string(dtype) << " through " << to_string(through));
      std::string type = with_dtype("tensor<64, $T>", dtype);
      std::string body = "%a: " + with_dtype("tensor<64, $T>", through) + " = gir.cast %x\n%r: " + type +
                         " = gir.cast %a\ngir.return [%r]";
      std::vector<TensorValue> arguments;
      arguments.push_back(probing_tensor(dtype));
      test.check_pipeline("canonicalize", {"%x: " + type}, body, arguments);
    }
  }
}

TEST_CASE("which pairs of casts go") {
  auto casts_left = [](const std::string& from, const std::string& through) {
    CanonicalTest test;
    Op* f = test.function({"%x: tensor<4, " + from + ">"},
                          "%a: tensor<4, " + through + "> = gir.cast %x\n%r: tensor<4, " + from +
                              "> = gir.cast %a\ngir.return [%r]");
    test.run(f, "canonicalize");
    return test.count(f, "gir.cast");
  };
  CHECK(casts_left("bf16", "f32") == 0);
  CHECK(casts_left("f16", "f32") == 0);
  CHECK(casts_left("f8e4m3", "bf16") == 0);
  CHECK(casts_left("f8e5m2", "f16") == 0);
  CHECK(casts_left("i32", "f64") == 0);
  CHECK(casts_left("u8", "i16") == 0);
  CHECK(casts_left("i8", "bf16") == 0);
  CHECK(casts_left("bool", "f32") == 0);
  CHECK(casts_left("f32", "f32") == 0);
  CHECK(casts_left("f32", "bf16") == 2);
  CHECK(casts_left("bf16", "f16") == 2);
  CHECK(casts_left("f16", "bf16") == 2);
  CHECK(casts_left("f8e5m2", "f8e4m3") == 2);
  CHECK(casts_left("i32", "f32") == 2);
  CHECK(casts_left("i8", "u8") == 2);
  CHECK(casts_left("f32", "i64") == 2);
}

TEST_CASE("a cast that saturates stays") {
  CanonicalTest test;
  std::vector<TensorValue> arguments;
  arguments.push_back(probing_tensor(DType::BF16));
  Op* after = test.check_pipeline("canonicalize", {"%x: tensor<64, bf16>"},
                                  "%a: tensor<64, f32> = gir.cast %x\n"
                                  "%r: tensor<64, bf16 saturate> = gir.cast %a\ngir.return [%r]",
                                  arguments);
  CHECK(test.count(after, "gir.cast") == 2);
}

TEST_CASE("a function keeps the policies of what it returns") {
  CanonicalTest test;
  Op* f = test.function({"%x: tensor<4, bf16>"},
                        "%r: tensor<4, bf16 accum(f32)> = gir.cast %x\ngir.return [%r]");
  test.run(f, "canonicalize");
  CHECK(test.count(f, "gir.cast") == 1);
}

TEST_CASE("arithmetic on constants is done, where its result is fixed") {
  CanonicalTest test;
  Op* after = test.check_pipeline("canonicalize", {"%x: tensor<3, f32>"},
                                  "%d: tensor<i64> = gir.dim {value = 768}\n"
                                  "%f: tensor<f32> = gir.cast %d\n"
                                  "%s: tensor<f32> = gir.rsqrt %f\n"
                                  "%b: tensor<3, f32> = gir.broadcast %s\n"
                                  "%c: tensor<3, f32> = gir.constant {values = [1.0, 2.0, 3.0]}\n"
                                  "%m: tensor<3, f32> = gir.mul %b, %c\n"
                                  "%r: tensor<3, f32> = gir.add %x, %m\n"
                                  "gir.return [%r]",
                                  [] {
                                    std::vector<TensorValue> v;
                                    v.push_back(some_tensor(DType::F32, {3}));
                                    return v;
                                  }());
  CHECK(test.count(after) == 2);
  Op* library = test.function({}, "%c: tensor<f32> = gir.full {value = 2.0}\n"
                                  "%r: tensor<f32> = gir.exp %c\ngir.return [%r]");
  test.run(library, "canonicalize");
  CHECK(test.count(library, "gir.exp") == 1);
}

TEST_CASE("every foldable op folds to what it computes") {
  for (size_t kind = 1; kind <= size_t(ElementwiseKind::Fma); ++kind) {
    const OpInfo& info = *graph::info(ElementwiseKind(kind));
    for (DType dtype : {DType::F32, DType::BF16, DType::I32, DType::U64, DType::Bool}) {
      CanonicalTest test;
      unsigned operands = elementwise_info(ElementwiseKind(kind)).operands;
      bool choose = ElementwiseKind(kind) == ElementwiseKind::Select;
      bool compare = elementwise_info(ElementwiseKind(kind)).cls == ElementwiseClass::Compare;
      std::string type = with_dtype("tensor<5, $T>", dtype), body, list;
      const char* floats[] = {"[1.5, -0.0, nan, inf, -3.0]", "[2.0, 0.0, 1.0, -inf, 0.5]",
                              "[1.0, 1.0, 1.0, 1e-40, 7.0]"};
      const char* ints[] = {"[1, 0, 1, 0, 1]", "[1, 1, 0, 0, 0]", "[0, 1, 0, 1, 1]"};
      for (unsigned i = 0; i < operands; ++i) {
        bool condition = choose && i == 0;
        std::string name = "%c" + std::to_string(i);
        body += name + ": " + (condition ? "tensor<5, bool>" : type) + " = gir.constant {values = " +
                (is_float(dtype) && !condition ? floats[i] : ints[i]) + "}\n";
        list += (i ? ", " : "") + name;
      }
      body += "%r: " + (compare ? std::string("tensor<5, bool>") : type) + " = " + info.name + " " + list +
              "\ngir.return [%r]";
      INFO(body);
      if (!test.parse(test.function_text({}, body))) continue;  // the op does not take the dtype
      test.check_pipeline("canonicalize", {}, body, {});
    }
  }
}

namespace {

Op* check_views(GraphPassTest& test, const std::string& type, const std::vector<int64_t>& dims,
                const std::string& body) {
  std::vector<TensorValue> arguments;
  arguments.push_back(some_tensor(DType::F32, dims));
  return test.check_pipeline("canonicalize", {"%x: " + type}, body + "\ngir.return [%r]", arguments);
}

}  // namespace

TEST_CASE("chains of views become one") {
  CanonicalTest test;
  Op* f = check_views(test, "tensor<A x B x 4, f32>", {2, 3, 4},
                      "%a: tensor<4 x A x B, f32> = gir.transpose %x {perm = [2, 0, 1]}\n"
                      "%r: tensor<B x 4 x A, f32> = gir.transpose %a {perm = [2, 0, 1]}");
  CHECK(test.count(f) == 1);
  f = check_views(test, "tensor<A x B x 4, f32>", {2, 3, 4},
                  "%a: tensor<4 x A x B, f32> = gir.transpose %x {perm = [2, 0, 1]}\n"
                  "%r: tensor<A x B x 4, f32> = gir.transpose %a {perm = [1, 2, 0]}");
  CHECK(test.count(f) == 0);
  f = check_views(test, "tensor<A x B x 4, f32>", {2, 3, 4},
                  "%a: tensor<4*A x B, f32> = gir.reshape %x\n"
                  "%b: tensor<4*A*B, f32> = gir.reshape %a\n"
                  "%r: tensor<A x B x 4, f32> = gir.reshape %b");
  CHECK(test.count(f) == 0);
  f = check_views(test, "tensor<D, f32>", {5},
                  "%a: tensor<1 x D, f32> = gir.reshape %x\n"
                  "%b: tensor<3 x D, f32> = gir.broadcast %a\n"
                  "%r: tensor<2 x 3 x D, f32> = gir.broadcast %b");
  CHECK(test.count(f) == 1);
  f = check_views(test, "tensor<D, f32>", {5}, "%r: tensor<1 x D, f32> = gir.broadcast %x");
  CHECK(test.count(f, "gir.reshape") == 1);
  f = check_views(test, "tensor<A x 1 x D, f32>", {2, 1, 5},
                  "%r: tensor<A x D x 1, f32> = gir.transpose %x {perm = [0, 2, 1]}");
  CHECK(test.count(f, "gir.reshape") == 1);
  f = check_views(test, "tensor<A x 12, f32>", {2, 12},
                  "%a: tensor<A x 5, f32> = gir.slice %x {starts = [0, 1], steps = [1, 2]}\n"
                  "%r: tensor<A x 2, f32> = gir.slice %a {starts = [0, 1], steps = [1, 3]}");
  CHECK(test.count(f) == 1);
  f = check_views(test, "tensor<A x 12, f32>", {2, 12},
                  "%a: tensor<A x 12, f32> = gir.slice %x {starts = [0, 0], steps = [1, 1]}\n"
                  "%r: tensor<A x 12, f32> = gir.concat [%a] {axis = 0}");
  CHECK(test.count(f) == 0);
}

TEST_CASE("a barrier of a view is a view of a barrier, and a number needs none") {
  CanonicalTest test;
  Op* f = check_views(test, "tensor<A x 4, f32>", {3, 4},
                      "%t: tensor<4 x A, f32> = gir.transpose %x {perm = [1, 0]}\n"
                      "%s: tensor<f32> = gir.reduce %x {axes = [0, 1], kind = \"sum\"}\n"
                      "%b: tensor<4 x A, f32> = gir.barrier %t, [%s]\n"
                      "%two: tensor<4 x A, f32> = gir.full {value = 2.0}\n"
                      "%c: tensor<4 x A, f32> = gir.barrier %two, [%s]\n"
                      "%r: tensor<4 x A, f32> = gir.mul %b, %c");
  CHECK(test.count(f, "gir.barrier") == 1);
}

TEST_CASE("views that cannot be merged stay") {
  CanonicalTest test;
  Op* f = check_views(test, "tensor<1 x D, f32>", {1, 5},
                      "%a: tensor<D x 1, f32> = gir.reshape %x\n"
                      "%r: tensor<D x 3, f32> = gir.broadcast %a");
  CHECK(test.count(f) == 2);
}

TEST_CASE("a slice that might leave the slice it reads is not merged into it") {
  CanonicalTest test;
  const std::string body = "%a: tensor<T, f32> = gir.slice %x {starts = [0], steps = [1]}\n"
                           "%r: tensor<2, f32> = gir.slice %a {starts = [1], steps = [1]}\n"
                           "gir.return [%r]";
  Op* f = test.function({"%x: tensor<S, f32>", "%y: tensor<T, f32>"}, body);
  test.run(f, "canonicalize");
  std::vector<TensorValue> arguments;
  arguments.push_back(some_tensor(DType::F32, {8}));
  arguments.push_back(some_tensor(DType::F32, {2}));
  CHECK_FALSE(graph::evaluate(f, std::move(arguments), {}, test.diagnostics));
  CHECK_THAT(test.messages(), Catch::Contains("leaves an extent of 2"));
}

TEST_CASE("products read transposed operands by their flags") {
  for (bool a : {false, true}) {
    for (bool b : {false, true}) {
      CanonicalTest test;
      std::string flags = std::string(a ? ", transpose_a = true" : "") + (b ? ", transpose_b = true" : "");
      std::vector<TensorValue> arguments;
      arguments.push_back(some_tensor(DType::F32, a ? std::vector<int64_t>{3, 4} : std::vector<int64_t>{4, 3}, 1));
      arguments.push_back(some_tensor(DType::F32, b ? std::vector<int64_t>{4, 5} : std::vector<int64_t>{5, 4}, 2));
      Op* f = test.check_pipeline(
          "canonicalize", {a ? "%x: tensor<M x K, f32>" : "%x: tensor<K x M, f32>",
                           b ? "%y: tensor<K x 5, f32>" : "%y: tensor<5 x K, f32>"},
          std::string("%a: tensor<") + (a ? "K x M" : "M x K") +
              ", f32> = gir.transpose %x {perm = [1, 0]}\n%b: tensor<" + (b ? "5 x K" : "K x 5") +
              ", f32> = gir.transpose %y {perm = [1, 0]}\n%r: tensor<M x 5, f32> = gir.gemm %a, %b "
              "{accum = f32" + flags + "}\ngir.return [%r]",
          arguments);
      CHECK(test.count(f) == 1);
    }
  }
}

TEST_CASE("a transpose of leading axes is no matter of a product") {
  CanonicalTest test;
  std::vector<TensorValue> arguments;
  arguments.push_back(some_tensor(DType::F32, {2, 3, 4, 5}, 1));
  arguments.push_back(some_tensor(DType::F32, {3, 2, 5, 6}, 2));
  Op* f = test.check_pipeline("canonicalize",
                              {"%x: tensor<2 x 3 x 4 x 5, f32>", "%y: tensor<3 x 2 x 5 x 6, f32>"},
                              "%a: tensor<3 x 2 x 4 x 5, f32> = gir.transpose %x {perm = [1, 0, 2, 3]}\n"
                              "%r: tensor<3 x 2 x 4 x 6, f32> = gir.gemm %a, %y {accum = f32}\n"
                              "gir.return [%r]",
                              arguments);
  CHECK(test.count(f) == 2);
}

TEST_CASE("the upper half of u64 is stated by constants") {
  CanonicalTest test;
  std::vector<TensorValue> arguments;
  arguments.push_back(probing_tensor(DType::U64));
  Op* f = test.check_pipeline("canonicalize", {"%x: tensor<64, u64>"},
                              "%c: tensor<u64> = gir.full {value = 5}\n"
                              "%n: tensor<u64> = gir.not %c\n"
                              "%b: tensor<64, u64> = gir.broadcast %n\n"
                              "%r: tensor<64, u64> = gir.xor %x, %b\ngir.return [%r]",
                              arguments);
  CHECK(test.count(f, "gir.constant") == 1);
  CHECK(test.count(f, "gir.full") == 0);
}

TEST_CASE("canonical form is a fixed point") {
  CanonicalTest test;
  Op* f = test.function({"%x: tensor<B x 4, bf16>"},
                        "%w: tensor<B x 4, f32> = gir.cast %x\n"
                        "%c: tensor<f32> = gir.full {value = 2}\n"
                        "%b: tensor<B x 4, f32> = gir.broadcast %c\n"
                        "%d: tensor<B x 4, f32> = gir.div %w, %b\n"
                        "%t: tensor<4 x B, f32> = gir.transpose %d {perm = [1, 0]}\n"
                        "%r: tensor<4 x B, bf16> = gir.cast %t\ngir.return [%r]");
  test.run(f, "canonicalize");
  std::string once = print(*f->module());
  test.run(f, "canonicalize");
  CHECK(print(*f->module()) == once);
}

TEST_CASE("constants of bits are gathered") {
  check_rules(
      {
          {"%c: tensor<64, $T> = gir.full {value = 5}\n%d: tensor<64, $T> = gir.full {value = 3}\n"
           "%a: tensor<64, $T> = gir.and %x, %c\n%r: tensor<64, $T> = gir.and %a, %d",
           nullptr, "gir.and"},
          {"%c: tensor<64, $T> = gir.full {value = 5}\n%d: tensor<64, $T> = gir.full {value = 3}\n"
           "%a: tensor<64, $T> = gir.or %x, %c\n%r: tensor<64, $T> = gir.or %a, %d",
           nullptr, "gir.or"},
          {"%c: tensor<64, $T> = gir.full {value = 5}\n%d: tensor<64, $T> = gir.full {value = 3}\n"
           "%a: tensor<64, $T> = gir.xor %x, %c\n%r: tensor<64, $T> = gir.xor %a, %d",
           nullptr, "gir.xor"},
      },
      int_dtypes);
  for (std::string op : {"gir.and", "gir.or", "gir.xor", "gir.add", "gir.mul"}) {
    INFO(op);
    CanonicalTest test;
    std::vector<TensorValue> arguments;
    arguments.push_back(probing_tensor(DType::I32));
    Op* f = test.check_pipeline("canonicalize", {"%x: tensor<64, i32>"},
                                "%c: tensor<64, i32> = gir.full {value = 5}\n"
                                "%d: tensor<64, i32> = gir.full {value = 3}\n"
                                "%a: tensor<64, i32> = " + op + " %x, %c\n%r: tensor<64, i32> = " + op +
                                    " %a, %d\ngir.return [%r]",
                                arguments);
    CHECK(test.count(f, op) == 1);
  }
}

TEST_CASE("an axis of one element has one coordinate, and a flag that is false is none") {
  CanonicalTest test;
  Op* f = test.check_pipeline("canonicalize", {},
                              "%r: tensor<1 x 3, i32> = gir.iota {axis = 0}\ngir.return [%r]", {});
  CHECK(test.count(f, "gir.iota") == 0);
  std::vector<TensorValue> arguments;
  arguments.push_back(some_tensor(DType::F32, {3, 4}, 1));
  arguments.push_back(some_tensor(DType::F32, {4, 5}, 2));
  f = test.check_pipeline("canonicalize", {"%x: tensor<3 x 4, f32>", "%y: tensor<4 x 5, f32>"},
                          "%r: tensor<3 x 5, f32> = gir.gemm %x, %y {accum = f32, transpose_a = false}\n"
                          "gir.return [%r]",
                          arguments);
  CHECK(print(f, {.locations = false}).find("transpose_a") == std::string::npos);
}

TEST_CASE("concatenated parts are found again") {
  CanonicalTest test;
  std::vector<TensorValue> arguments;
  for (uint64_t i = 1; i < 4; ++i) arguments.push_back(some_tensor(DType::F32, {2, 3}, i));
  std::vector<std::string> parameters = {"%x: tensor<2 x 3, f32>", "%y: tensor<2 x 3, f32>", "%z: tensor<2 x 3, f32>"};
  Op* f = test.check_pipeline("canonicalize", parameters,
                              "%a: tensor<2 x 6, f32> = gir.concat [%x, %y] {axis = 1}\n"
                              "%r: tensor<2 x 9, f32> = gir.concat [%a, %z] {axis = 1}\ngir.return [%r]",
                              arguments);
  CHECK(test.count(f, "gir.concat") == 1);
  auto cut = [&](int64_t start, int64_t width) {
    return "%a: tensor<2 x 9, f32> = gir.concat [%x, %y, %z] {axis = 1}\n" +
           fmt::format("%r: tensor<2 x {}, f32> = gir.slice %a {{starts = [<0>, <{}>], steps = [1, 1]}}\n"
                       "gir.return [%r]",
                       width, start);
  };
  CHECK(test.count(test.check_pipeline("canonicalize", parameters, cut(4, 2), arguments), "gir.concat") == 0);
  CHECK(test.count(test.check_pipeline("canonicalize", parameters, cut(4, 3), arguments), "gir.concat") == 1);
}

TEST_CASE("tensors without elements are not computed") {
  struct {
    const char* body;
    const char* gone;
  } cases[] = {
      {"%r: tensor<3 x 0, f32> = gir.exp %e", "gir.exp"},
      {"%r: tensor<3, f32> = gir.reduce %e {axes = [1], kind = \"min\"}", "gir.reduce"},
      {"%r: tensor<3, f32> = gir.reduce %e {axes = [1], kind = \"prod\"}", "gir.reduce"},
      {"%r: tensor<0, f32> = gir.reduce %e {axes = [0], kind = \"max\"}", "gir.reduce"},
      {"%r: tensor<3 x 3, f32> = gir.gemm %e, %e {accum = f32, transpose_b = true}", "gir.gemm"},
      {"%r: tensor<3, f32> = gir.cross_entropy %e, %t", "gir.cross_entropy"},
      {"%r: tensor<3 x 4, f32> = gir.concat [%e, %x, %e] {axis = 1}", "gir.concat"},
      {"%s: tensor<i64> = gir.full {value = 1}\n%r: tensor<3 x 4, f32> = gir.update_slice %x, %e, %s {axis = 1}",
       "gir.update_slice"},
  };
  for (const auto& each : cases) {
    INFO(each.body);
    CanonicalTest test;
    std::vector<TensorValue> arguments;
    arguments.push_back(some_tensor(DType::F32, {3, 0}, 1));
    arguments.push_back(some_tensor(DType::F32, {3, 4}, 2));
    arguments.push_back(tensor(DType::I64, {3}, std::vector<double>{0, 1, 2}));
    Op* after = test.check_pipeline(
        "canonicalize", {"%e: tensor<3 x 0, f32>", "%x: tensor<3 x 4, f32>", "%t: tensor<3, i64>"},
        std::string(each.body) + "\ngir.return [%r]", arguments);
    CHECK(test.count(after, each.gone) == 0);
  }
}

TEST_CASE("parts are put together before a cast that rounds nothing") {
  CanonicalTest test;
  std::vector<TensorValue> arguments;
  arguments.push_back(some_tensor(DType::BF16, {2, 3, 4}, 1));
  arguments.push_back(some_tensor(DType::BF16, {3, 5}, 2));
  Op* after = test.check_pipeline("canonicalize", {"%x: tensor<2 x 3 x 4, bf16>", "%y: tensor<3 x 5, bf16>"},
                                  "%xw: tensor<2 x 3 x 4, f32> = gir.cast %x\n"
                                  "%t: tensor<3 x 2 x 4, f32> = gir.transpose %xw {perm = [1, 0, 2]}\n"
                                  "%a: tensor<3 x 8, f32> = gir.reshape %t\n%b: tensor<3 x 5, f32> = gir.cast %y\n"
                                  "%r: tensor<3 x 13, f32> = gir.concat [%a, %b] {axis = 1}\ngir.return [%r]",
                                  arguments);
  CHECK(test.count(after, "gir.cast") == 1);
}

TEST_CASE("what is only rounded behind views is rounded before them") {
  std::vector<std::string> parameters = {"%x: tensor<3 x 8, f32>"};
  std::vector<TensorValue> arguments;
  arguments.push_back(some_tensor(DType::F32, {3, 8}, 1));
  auto text = [](std::string_view value, std::string_view last) {
    return fmt::format("%e: tensor<3 x 8, f32> = gir.exp %x\n"
                       "%a: tensor<3 x 4, f32> = gir.slice {0} {{starts = [<0>, <0>], steps = [1, 1]}}\n"
                       "%b: tensor<3 x 4, f32> = gir.slice {0} {{starts = [<0>, <4>], steps = [1, 1]}}\n"
                       "%t: tensor<4 x 3, f32> = gir.transpose %a {{perm = [1, 0]}}\n"
                       "%c: tensor<4 x 3, bf16> = gir.cast %t\n%d: tensor<3 x 4, {1}> = gir.cast %b\n"
                       "%s: tensor<4 x 3, {1}> = gir.reshape %d\n%cw: tensor<4 x 3, f32> = gir.cast %c\n"
                       "%sw: tensor<4 x 3, f32> = gir.cast %s\n%r: tensor<4 x 3, f32> = gir.add %cw, %sw\n"
                       "gir.return [%r]",
                       value, last);
  };
  CanonicalTest computed, read, mixed;
  Op* after = computed.check_pipeline("canonicalize,cse", parameters, text("%e", "bf16"), arguments);
  CHECK(computed.count(after, "gir.cast") == 3);
  CHECK(print(after, {.locations = false}).find("tensor<3 x 8, bf16> = gir.cast") != std::string::npos);
  // An argument is in memory already, and with other readers the wide value is stored anyway.
  after = read.check_pipeline("canonicalize,cse", parameters, text("%x", "bf16"), arguments);
  CHECK(read.count(after, "gir.cast") == 4);
  after = mixed.check_pipeline("canonicalize,cse", parameters, text("%e", "f16"), arguments);
  CHECK(print(after, {.locations = false}).find("tensor<3 x 8, bf16> = gir.cast") == std::string::npos);
}

// Behind the other cases of this file, and for those that were run with it: alone it has nothing to count.
TEST_CASE("each pattern is applied by a case of this file") {
  if (applied().empty()) return;
  for (auto set : {canonical::constant_patterns(), canonical::empty_patterns(), canonical::cast_patterns(),
                   canonical::algebra_patterns(), canonical::order_patterns(), canonical::view_patterns()}) {
    for (const Pattern& pattern : set) {
      INFO(pattern.name);
      CHECK(applied().count(pattern.name) == 1);
    }
  }
}
