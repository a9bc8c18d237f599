// Compile-time values: Python's operators on numbers, tuples, dicts and strings.

#include <catch2/catch.hpp>

#include "unit/frontend/program.h"

using tessera::test::constant;
using tessera::test::Program;

TEST_CASE("Integers are exact and keep Python's signs") {
  CHECK(constant("2 + 3 * 4 ** 2 - 1") == "49");
  CHECK(constant("-7 // 2") == "-4");
  CHECK(constant("-7 % 2") == "1");
  CHECK(constant("7 // -2") == "-4");
  CHECK(constant("7 % -2") == "-1");
  CHECK(constant("(-9223372036854775807 - 1) % -1") == "0");
  CHECK(constant("1 << 62 >> 60 | 1 ^ 2 & 3") == "7");
  CHECK(constant("~5") == "-6");
  CHECK(constant("7 / 2") == "3.5");
  CHECK(constant("2 ** -1") == "0.5");
}

TEST_CASE("What does not fit in 64 bits is reported where the operator stands") {
  CHECK(constant("9223372036854775807 + 1") == "number-overflow@1:31");
  CHECK(constant("9223372036854775808") == "number-overflow@1:11");
  CHECK(constant("2 ** 63") == "number-overflow@1:13");
  CHECK(constant("1 << 63") == "index-out-of-range@1:13");
  CHECK(constant("-9223372036854775807 - 2") == "number-overflow@1:32");
  CHECK(constant("(-9223372036854775807 - 1) // -1") == "number-overflow@1:38");
}

TEST_CASE("A division by zero is reported once") {
  CHECK(constant("1 + (2 // 0) * 3") == "division-by-zero@1:18");
  CHECK(constant("1 / 0") == "division-by-zero@1:13");
  CHECK(constant("1.5 % 0") == "division-by-zero@1:15");
}

TEST_CASE("Numbers with fractions") {
  CHECK(constant("1.5 + 1") == "2.5");
  CHECK(constant("7.0 // 2") == "3.0");
  CHECK(constant("-1.5 % 1.0") == "0.5");
  CHECK(constant("sqrt(16) + exp(0) + abs(-2.0)") == "7.0");
  CHECK(constant("abs(-3)") == "3");
  CHECK(constant("int(2.9) + int(-2.9)") == "0");
  CHECK(constant("float(3)") == "3.0");
  CHECK(constant("INF > 1e308") == "True");
  CHECK(constant("int(INF)") == "number-overflow@1:15");
  CHECK(constant("max(3, 7.5, 2) + min((4, 2))") == "9.5");
  CHECK(constant("maximum(2, 3) * minimum(2, 3)") == "6");
}

TEST_CASE("Comparisons chain; and, or, not and if choose") {
  CHECK(constant("1 < 2 <= 2 < 3") == "True");
  CHECK(constant("1 < 2 > 2") == "False");
  CHECK(constant("1 == 1.0 and not (2 is None)") == "True");
  CHECK(constant("False and 1 // 0 == 1") == "False");
  CHECK(constant("3 if 1 > 2 else 4") == "4");
  CHECK(constant("2 in (1, 2) and 'k' not in {'a': 1}") == "True");
  CHECK(constant("'ab' + 'c' == 'abc'") == "True");
  CHECK(constant("bf16 == f32 or bf16 == bfloat16") == "True");
  CHECK(constant("1 and True") == "wrong-kind@1:11");
}

TEST_CASE("Tuples, lists and dicts") {
  CHECK(constant("(1, 2) + (3,)") == "(1, 2, 3)");
  CHECK(constant("[0] * 3") == "[0, 0, 0]");
  CHECK(constant("(1, 2, 3)[-1]") == "3");
  CHECK(constant("(1, 2, 3)[1:]") == "(2, 3)");
  CHECK(constant("(1, 2, 3)[2:1]") == "()");
  CHECK(constant("{'a': 1, 'b': 2}['b']") == "2");
  CHECK(constant("len([1, 2]) + len('abc')") == "5");
  CHECK(constant("[i * j for i in range(3) for j in range(i) if j > 0]") == "[2]");
  CHECK(constant("range(5, 0, -2)") == "[5, 3, 1]");
  CHECK(constant("(1, 2)[2]") == "index-out-of-range@1:18");
  CHECK(constant("range(1000000000)") == "unsupported-value-size@1:11");
  CHECK(constant("[0] * 1000000000") == "unsupported-value-size@1:15");
}

TEST_CASE("Operators that have no meaning are named once") {
  CHECK(constant("(1, 2) - 3 + 4") == "wrong-operands@1:18");
  CHECK(constant("1 @ 2") == "wrong-operands@1:13");
  CHECK(constant("-'a'") == "wrong-operands@1:11");
  CHECK(constant("1.5 & 2") == "wrong-operands@1:15");
  CHECK(constant("3(4)") == "not-callable@1:11");
}

TEST_CASE("Definitions of a file have no order, and may not go round in circles") {
  Program program("const A = B * 2\nconst B = C + 1\nC = 4\nconst P = Q\nconst Q = P\n");
  CHECK(program.value("A") == "10");
  CHECK(program.tags().empty());
  CHECK(program.value("P") == "?");
  CHECK(program.tags() == "cyclic-definition@4:7");
}

TEST_CASE("Functions and lambdas run at compile time and capture by value") {
  Program program(
      "def power(base, n=2, *, scale=1):\n"
      "    total = scale\n"
      "    for i in range(n):\n"
      "        total *= base\n"
      "    return total\n"
      "const A = power(3) + power(2, 5, scale=10)\n"
      "def make():\n"
      "    k = 1\n"
      "    add = lambda x: x + k\n"
      "    k = 100\n"
      "    return add(1), k\n"
      "const B = make()\n"
      "def even(n):\n"
      "    while n > 1:\n"
      "        n -= 2\n"
      "    if n == 0:\n"
      "        return True\n"
      "    elif n == 1:\n"
      "        return False\n"
      "const C = (even(10), even(7))\n");
  CHECK(program.value("A") == "329");
  CHECK(program.value("B") == "(2, 100)");
  CHECK(program.value("C") == "(True, False)");
  CHECK(program.messages() == "");
}

TEST_CASE("Arguments that do not fit the parameters") {
  const std::string def = "def f(a, b=1, *, c=2):\n    return a + b + c\nconst X = ";
  auto tags = [&](const std::string& call) {
    Program program(def + call + "\n");
    program.value("X");
    return program.tags();
  };
  CHECK(tags("f(1)") == "");
  CHECK(tags("f(1, 2, 3)") == "wrong-argument-count@3:19");
  CHECK(tags("f()") == "missing-argument@3:11");
  CHECK(tags("f(1, d=2)") == "unknown-keyword@3:16");
  CHECK(tags("f(1, a=2)") == "repeated-argument@3:18");
  CHECK(tags("sqrt()") == "missing-argument@3:11");
  CHECK(tags("sqrt(1, 2)") == "wrong-argument-count@3:19");
  CHECK(tags("f(1)(2)") == "not-callable@3:11");
}

TEST_CASE("Work, depth and recursion are bounded") {
  SECTION("recursion") {
    Program program("def f(n):\n    return f(n - 1)\nconst X = f(3)\n");
    CHECK(program.value("X") == "?");
    CHECK(program.tags() == "recursive-call@2:12");
  }
  SECTION("an endless loop") {
    Program program("def f():\n    n = 0\n    while 0 < 1:\n        n += 1\nconst X = f()\n");
    program.value("X");
    CHECK(program.tags() == "unsupported-program-size@4:14");
  }
  SECTION("calls that double") {
    std::string text = "def f0():\n    return 1\n";
    for (int i = 1; i <= 60; ++i) {
      text += fmt::format("def f{}():\n    return f{}() + f{}()\n", i, i - 1, i - 1);
    }
    Program program(text + "const X = f60()\n");
    CHECK(program.value("X") == "?");
    CHECK(program.tags().starts_with("unsupported-program-size@"));
  }
  SECTION("a long chain of functions, each with deep blocks") {
    std::string text = "def f0():\n    return 1\n";
    for (int i = 1; i <= 300; ++i) {
      text += fmt::format("def f{}():\n", i);
      std::string indent = " ";
      for (int depth = 0; depth < 90; ++depth) {
        text += indent + "if True:\n";
        indent += " ";
      }
      text += indent + fmt::format("return {}f{}(){}\n", std::string(150, '('), i - 1,
                                   std::string(150, ')'));
    }
    Program program(text + "const X = f300()\n");
    CHECK(program.value("X") == "?");
    CHECK(program.tags().starts_with("unsupported-nesting@"));
  }
  SECTION("closures that call closures") {
    Program program(
        "def step(h):\n    return h(lambda x: step_again(x))\n"
        "def step_again(x):\n    return x\nconst X = (lambda f: f(f))(lambda f: f(f))\n");
    CHECK(program.value("X") == "?");
    CHECK(program.tags() == "recursive-call@5:38");
  }
}
