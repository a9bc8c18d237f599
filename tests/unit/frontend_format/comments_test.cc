// Text that the parser does not see: comments, preprocessor lines, branches that are not taken.

#include "unit/frontend_format/formatted.h"

using namespace tessera;
using namespace tessera::formatter;

TEST_CASE("comments at the ends of neighbouring lines stand in one column") {
  CHECK(formatted("const V = 256 # bytes\nconst EE = 6   # width\n\nx = 1 # alone\n") ==
        "const V = 256  # bytes\nconst EE = 6   # width\n\nx = 1  # alone\n");
  CHECK(formatted("\"\"\"doc\"\"\" # of all\nconst WIDTH = 256 # bytes\n") ==
        "\"\"\"doc\"\"\"  # of all\nconst WIDTH = 256  # bytes\n");
  CHECK(formatted("x = f( # open\n  a,\n) # closed\nconst WIDTH = 256 # bytes\ny = 1 # one\n") ==
        "x = f(  # open\n    a,\n)  # closed\nconst WIDTH = 256  # bytes\ny = 1              # one\n");
}

TEST_CASE("comments belong to the block they stand in") {
  CHECK(formatted("def f():\n  # first\n  x = 1\n  # last of f\n# of the file\ny = 1\n") ==
        "def f():\n    # first\n    x = 1\n    # last of f\n\n# of the file\ny = 1\n");
  CHECK(formatted("if a:\n  b\n  # of b\nelse:\n# odd\n  c\n") ==
        "if a:\n    b\n    # of b\nelse:\n    # odd\n    c\n");
  CHECK(formatted("def f():\n    x = 1\n    # of f\n  # of the file\n        # so is this\n") ==
        "def f():\n    x = 1\n    # of f\n\n# of the file\n# so is this\n");
}

TEST_CASE("comments in brackets keep their rows") {
  CHECK(formatted("x = f(a, # of a\n  # above b\n  b, c,\n  d # of d\n  # the end\n)\n") ==
        "x = f(\n    a,  # of a\n    # above b\n    b, c,\n    d,  # of d\n    # the end\n)\n");
  CHECK(formatted("x = ( # why\n  a # one\n  + b # two\n  )\n") ==
        "x = (  # why\n    a    # one\n    + b  # two\n)\n");
  CHECK(formatted("from a import (\n  b, # of b\n  c\n)\n") == "from a import (\n    b,  # of b\n    c,\n)\n");
  CHECK(formatted("def f(\n  # of a\n  a,\n):\n  pass\n") == "def f(\n    # of a\n    a,\n):\n    pass\n");
}

TEST_CASE("comments in odd places are kept") {
  std::string text =
      formatted("x = f(a + # one\n  b, lambda v: # two\n  v, c if # three\n d # four\n else e, k = # five\n 1)\n");
  for (const char* comment : {"# one", "# two", "# three", "# four", "# five"}) {
    CHECK(text.find(comment) != text.npos);
  }
}

TEST_CASE("preprocessor lines and strings stay as they are") {
  CHECK(formatted("%define  A   ( 1+2 )  # why\n  %include  \"x.tsr\"\nx=A\n") ==
        "%define  A   ( 1+2 )  # why\n%include  \"x.tsr\"\nx = A\n");
  CHECK(formatted("\"\"\"a   b\n  c  \n\"\"\"\nx='a'  \"b\"\n") == "\"\"\"a   b\n  c  \n\"\"\"\nx = 'a' \"b\"\n");
}

TEST_CASE("all branches are formatted") {
  CHECK(formatted("%if X > 2\nx=1\n%elif defined(Y)\nx=2\n%else\ndef f( ):\n  return 1\n%endif\ny=f( )\n") ==
        "%if X > 2\nx = 1\n%elif defined(Y)\nx = 2\n%else\ndef f():\n    return 1\n%endif\ny = f()\n");
  CHECK(formatted("def f():\n%if A\n  x=1\n%if B\n  y=2\n%else\n  y=3\n%endif\n%else\n  x=4\n%endif\n  return   x\n") ==
        "def f():\n%if A\n    x = 1\n%if B\n    y = 2\n%else\n    y = 3\n%endif\n%else\n    x = 4\n%endif\n    return "
        "x\n");
  CHECK(formatted("%if A\ndef f(x):\n%else\ndef f(x,y):\n%endif\n  return   x\n") ==
        "%if A\ndef f(x):\n%else\ndef f(x, y):\n%endif\n    return x\n");
}

TEST_CASE("a branch that does not parse by itself stays as it is") {
  CHECK(formatted("x=1\n%if A\n  not  yet   written at all\n\n\n   :)  \n%else\ny=2\n%endif\n") ==
        "x = 1\n%if A\n  not  yet   written at all\n\n\n   :)  \n%else\ny = 2\n%endif\n");
}

TEST_CASE("a branch with open brackets or broken tokens stays as it is") {
  for (const char* inside :
       {"const X = (1\n", "x = f(1,\n      [2\n", "x = f(  1\n%if B\ny = (  2\n%else\ny = 3)\n%endif\n", "x  = 'a\n",
        "x  = 3X\n", "x = )  \n", "x = (\n%if B\n  1\n%endif\n"}) {
    std::string branch = std::string("%if defined(A)\n") + inside + "%endif\n";
    CHECK(formatted("z=1\n" + branch + "y=2\n") == "z = 1\n" + branch + "y = 2\n");
    CHECK(formatted(branch) == branch);
  }
  CHECK(formatted("%if A\nx = f(1\n%else\nx=f(2)\n%endif\ny = g(\n  endif\n  %endif\n)\n") ==
        "%if A\nx = f(1\n%else\nx = f(2)\n%endif\ny = g(endif % endif)\n");
}

TEST_CASE("lines that only macros make sound are not touched") {
  CHECK(formatted("%define PLUS +\nif 1:\n  x=1   PLUS  2\n") == "%define PLUS +\nif 1:\n    x=1   PLUS  2\n");
}

TEST_CASE("texts with errors are refused with a message") {
  for (const char* text :
       {"x = (1\n", "def f(:\n  pass\n", "x = 'a\n", "%if A\nx = 1\n", "%endif\n", "  x = 1\n", "x = 1 +\n",
        "%if A\n%else\n%elif B\n%endif\n", "x \xFF\n", "if a:\n", "%if A\nx = \"\"\"a\n%endif\n"}) {
    INFO(text);
    FormatResult result = format(text);
    CHECK(result.outcome == Outcome::SyntaxErrors);
    REQUIRE(result.messages);
    CHECK(result.messages->diagnostics.error_count() == 1);
  }
}

TEST_CASE("branches that leave different blocks open are refused") {
  FormatResult result = format("%if A\nif x:\n%else\ny = 1\n%endif\n  z = 2\n");
  CHECK(result.outcome != Outcome::Formatted);
  CHECK(!result.is_bug);
}

TEST_CASE("a branch that parses only after formatting is refused with its line") {
  FormatResult result = format("def f(b): y = 1\n\n%if A\n    return  N\n%endif\n");
  CHECK(result.outcome == Outcome::Refused);
  CHECK(!result.is_bug);
  CHECK(result.problem.starts_with("line 4 does not parse in its branch"));
  CHECK(format("def f(b):\n    y = 1\n\n%if A\n    return  N\n%endif\n").outcome == Outcome::Formatted);
}
