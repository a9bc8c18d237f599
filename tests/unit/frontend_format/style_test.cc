// The style: how each construct is written.

#include "unit/frontend_format/formatted.h"

using namespace tessera::formatter;

TEST_CASE("spaces stand around operators, behind commas, and nowhere else") {
  CHECK(formatted("x=a+b*- c**2//d@w<<1\n") == "x = a + b * -c ** 2 // d @ w << 1\n");
  CHECK(formatted("y = f ( a,b , k = 1 ) [ 1 : , None,: :2 ] . T\n") == "y = f(a, b, k=1)[1:, None, ::2].T\n");
  CHECK(formatted("z=not a==b  and c  is not None or d not  in(1,2)\n") ==
        "z = not a == b and c is not None or d not in (1, 2)\n");
  CHECK(formatted("d = { 'a':1,\"b\" : [ 1,2 ] , }\n") == "d = {'a': 1, \"b\": [1, 2]}\n");
  CHECK(formatted("g=lambda x,y=2:x  if x>y else y\n") == "g = lambda x, y=2: x if x > y else y\n");
  CHECK(formatted("t = (a ,)\nu = ( )\nv = ( a )\n") == "t = (a,)\nu = ()\nv = (a)\n");
  CHECK(formatted("l=[f(x)for x in y if x]\n") == "l = [f(x) for x in y if x]\n");
  CHECK(formatted("s = -x[-1:~y] @ +z\n") == "s = -x[-1:~y] @ +z\n");
}

TEST_CASE("policies are written at their types, matmuls are not") {
  CHECK(formatted("@jit\ndef f(x:Tensor[B,bf16@ accum(f32)@ saturate]):\n  return x@w\n") ==
        "@jit\ndef f(x: Tensor[B, bf16 @accum(f32) @saturate]):\n    return x @ w\n");
}

TEST_CASE("heads of functions and modules") {
  CHECK(formatted("def f(a,b:int=1,c=2,*,d:Region[ write ]Tensor[B,f32])->T!{rng,state(c)} where a>1:\n"
                  "  return\n") ==
        "def f(a, b: int = 1, c=2, *, d: Region[write] Tensor[B, f32]) -> T !{rng, state(c)} where a > 1:\n"
        "    return\n");
  CHECK(formatted("module  M( D:dim )where D>0 :\n  w:Param[D]=zeros( )\n  def f( self ):return self.w\n") ==
        "module M(D: dim) where D > 0:\n    w: Param[D] = zeros()\n\n    def f(self):\n        return self.w\n");
  CHECK(formatted("@ kernel . schedule( s )  @autodiff\ndef f( ) : ...\n") ==
        "@kernel.schedule(s) @autodiff\ndef f(): ...\n");
}

TEST_CASE("statements") {
  CHECK(formatted("import a . b as c,d\nfrom a.b import( c,d as e , )\n") ==
        "import a.b as c, d\nfrom a.b import c, d as e\n");
  CHECK(formatted("const  N:int=1;dim B,S\nparam a,b:Param[N]=ones( )\n") ==
        "const N: int = 1\ndim B, S\nparam a, b: Param[N] = ones()\n");
  CHECK(formatted("a=b =c\na+=1;a @=w ;\nx:T\ny , (z,w)=v\n") == "a = b = c\na += 1\na @= w\nx: T\ny, (z, w) = v\n");
  CHECK(formatted("if a:b\nelif c :\n\n  d\nelse:pass\n") ==
        "if a:\n    b\nelif c:\n    d\nelse:\n    pass\n");
  CHECK(formatted("for i,j in a,b:\n while i<3:i=i+1\n") == "for i, j in a, b:\n    while i < 3:\n        i = i + 1\n");
  CHECK(formatted("with device( gpu[0] ),mesh(d) as m:\n\ty=x\non a [ 0 ]\non m:\n\tz=y\n") ==
        "with device(gpu[0]), mesh(d) as m:\n    y = x\non a[0]\non m:\n    z = y\n");
}

TEST_CASE("a line goes on in brackets where it is too long") {
  std::string call =
      "        return flash_attention(queries, keys, values, causal=True, window=4096, bias=distances, scale=0.125)\n";
  CHECK(formatted("def f():\n    if x:\n" + call) ==
        "def f():\n    if x:\n"
        "        return flash_attention(queries, keys, values, causal=True, window=4096, bias=distances,\n"
        "                               scale=0.125)\n");
}

TEST_CASE("the parameters of a function that go on keep the keyword ones together") {
  CHECK(formatted(
            "@kernel\ndef matmul(a: Tensor[M, K, T], b: Tensor[K, N, T], *, total: dtype = accum(T), epilogue: fn = "
            "identity) -> Tensor[M, N, T]: ...\n") ==
        "@kernel\ndef matmul(a: Tensor[M, K, T], b: Tensor[K, N, T],\n"
        "           *, total: dtype = accum(T), epilogue: fn = identity) -> Tensor[M, N, T]: ...\n");
}

TEST_CASE("what fits below no opening bracket gets lines between the brackets") {
  CHECK(
      formatted(
          "def matmul_gated(x: Tensor[M, K, T], gate: Tensor[K, N, T], up: Tensor[K, N, T], *, activation: str = "
          "\"silu\", epilogue: fn = identity) -> Tensor[M, N, T] where activation in (\"silu\", \"gelu\", \"relu\"):\n"
          "    pass\n") ==
      "def matmul_gated(\n"
      "    x: Tensor[M, K, T], gate: Tensor[K, N, T], up: Tensor[K, N, T],\n"
      "    *, activation: str = \"silu\", epilogue: fn = identity,\n"
      ") -> Tensor[M, N, T] where activation in (\"silu\", \"gelu\", \"relu\"):\n"
      "    pass\n");
}

TEST_CASE("a value of operators that is too long gets brackets") {
  CHECK(formatted("greatest = 448.0 if dtype == f8e4m3 else 57344.0 if dtype == f8e5m2 else 7.0 if dtype == i4 else "
                  "127.0 + x + y\n") ==
        "greatest = (\n"
        "    448.0 if dtype == f8e4m3\n"
        "    else 57344.0 if dtype == f8e5m2\n"
        "    else 7.0 if dtype == i4\n"
        "    else 127.0 + x + y\n"
        ")\n");
  CHECK(formatted("def f():\n    return reshape(embedding_of_tokens, (B, S, D)) + positions_of_tokens[:S] * "
                  "scale_of_the_positions_x \\\n"
                  "        - 1\n") ==
        "def f():\n"
        "    return (\n"
        "        reshape(embedding_of_tokens, (B, S, D))\n"
        "        + positions_of_tokens[:S] * scale_of_the_positions_x\n"
        "        - 1\n"
        "    )\n");
}

TEST_CASE("strings side by side are one value") {
  std::string a = "\"" + std::string(60, 'a') + "\"", b = "\"" + std::string(50, 'b') + "\"";
  CHECK(formatted("x = " + a + " " + b + "\n") == "x = (\n    " + a + "\n    " + b + "\n)\n");
  CHECK(formatted(a + " " + b + ".x\n") == "(\n    " + a + "\n        " + b + ".x\n)\n");
  CHECK(formatted("x = lambda v: f(" + a + ", " + b + ")\n") ==
        "x = lambda v: f(" + a + ",\n                " + b + ")\n");
}

TEST_CASE("a comma at the end keeps the rows of a list") {
  CHECK(formatted("from tessera.nn import (\n  gelu,silu,\n        softmax,\n)\n") ==
        "from tessera.nn import (\n    gelu, silu,\n    softmax,\n)\n");
  CHECK(formatted("t = [\n  1, 2,\n  3, 4,\n]\nu = [\n  1, 2,\n  3, 4]\n") ==
        "t = [\n    1, 2,\n    3, 4,\n]\nu = [1, 2, 3, 4]\n");
}

TEST_CASE("assignments with their = in one column keep one") {
  CHECK(formatted("def f():\n  t    = 1\n  acc  = 2\n  a, b = 3\n  long_name = 4\n") ==
        "def f():\n    t    = 1\n    acc  = 2\n    a, b = 3\n    long_name = 4\n");
  CHECK(formatted("t    = 1\nacc  = 2; b = 3\ncdef = 4\n") == "t = 1\nacc = 2\nb = 3\ncdef = 4\n");
  CHECK(formatted("t    = 1\n\nacc  = 2\n") == "t = 1\n\nacc = 2\n");
}

TEST_CASE("wide characters take two columns, marks none") {
  CHECK(formatted("a = \"日本\" # x\nbb = \"e\u0301\" # y\n") == "a = \"日本\"  # x\nbb = \"e\u0301\"    # y\n");
  std::string wide;
  for (int i = 0; i < 40; ++i) wide += "語";
  CHECK(formatted("x = f(\"" + wide + "\", value_1)\n") == "x = f(\"" + wide + "\", value_1)\n");
  CHECK(formatted("x = f(\"" + wide + "\", value_of_1)\n") == "x = f(\"" + wide + "\",\n      value_of_1)\n");
}

TEST_CASE("empty lines") {
  CHECK(formatted(
            "\n\nx = 1\n\n\n\ny = 2\ndef f():\n\n    return 1\n# of g\n@jit\n\ndef g():\n    return 2\nz = 3\n\n\n") ==
        "x = 1\n\ny = 2\n\ndef f():\n    return 1\n\n# of g\n@jit\ndef g():\n    return 2\n\nz = 3\n");
  CHECK(formatted("") == "");
  CHECK(formatted("x = 1") == "x = 1\n");
  CHECK(formatted("# a file\n@jit\ndef f(): ...\n") == "# a file\n@jit\ndef f(): ...\n");
  CHECK(formatted("x = 1\r\ny  = 2\r\n") == "x = 1\r\ny = 2\r\n");
  CHECK(formatted("\xEF\xBB\xBF" "x=1\n") == "\xEF\xBB\xBF" "x = 1\n");
}

TEST_CASE("lines in range alone are formatted") {
  std::string text = "x=1\ndef f():\n    y=2\n    if y:\n        z=3\n    return   z\n";
  FormatOptions options;
  options.lines = {{4, 5}};
  FormatResult result = format(text, options);
  CHECK(result.text == "x=1\ndef f():\n    y=2\n    if y:\n        z = 3\n    return   z\n");
  REQUIRE(result.edits.size() == 1);
  CHECK(result.edits[0].first == 4);
  CHECK(edited(text, result.edits) == result.text);
}

TEST_CASE("an empty line at the end of a range stays") {
  std::string text = "def f(x):\n    y=x\n\n    return   y\n";
  for (LineRange lines : {LineRange{3, 3}, LineRange{2, 3}}) {
    FormatResult result = format(text, {.lines = lines});
    std::string line = lines.first == 2 ? "    y = x\n" : "    y=x\n";
    CHECK(result.text == "def f(x):\n" + line + "\n    return   y\n");
    CHECK(edited(text, result.edits) == result.text);
  }
  CHECK(format("x=1\n  \n\ny=2\n", {.lines = LineRange{2, 3}}).text == "x=1\n\ny=2\n");
}

TEST_CASE("the `=` of constants is in no column") {
  CHECK(formatted("const G  = 2\nconst C  = 192\nmodel    = f(1)\n") == "const G = 2\nconst C = 192\nmodel = f(1)\n");
  CHECK(formatted("a        = 1\nconst G  = 2\nlong_one = 3\n") == "a = 1\nconst G = 2\nlong_one = 3\n");
}

TEST_CASE("a last line without an end is formatted whole") {
  std::string text = "x=1\n\"a\"\\\n\"b\"  # c";
  FormatOptions options;
  options.lines = {{3, 3}};
  FormatResult result = format(text, options);
  CHECK(result.text == "x=1\n\"a\" \"b\"  # c\n");
  CHECK(edited(text, result.edits) == result.text);
}

TEST_CASE("a range in a function that is indented otherwise stays in its columns") {
  auto of_lines = [](const std::string& text, LineRange lines) {
    FormatResult result = format(text, {.lines = lines});
    CHECK(edited(text, result.edits) == result.text);
    return result.text;
  };
  CHECK(of_lines("x=1\ndef f():\n  if y:\n    z=3\n  return   z\nw=1\n", {4, 4}) ==
        "x=1\ndef f():\n  if y:\n    z = 3\n  return   z\nw=1\n");
  CHECK(of_lines("def f():\n  x=1 # a\n  # of the block\n  yy=2 # b\n  return   z\n", {2, 4}) ==
        "def f():\n  x = 1  # a\n  # of the block\n  yy = 2  # b\n  return   z\n");
  // What is formatted as a whole is in the style below where it stands.
  CHECK(of_lines("def f():\n  if y:\n   z=3\n   # of z\n  return   z\n", {2, 4}) ==
        "def f():\n  if y:\n      z = 3\n      # of z\n  return   z\n");
  CHECK(of_lines("def f():\n    if y:\n      z=3\n    return   z\n", {3, 3}) ==
        "def f():\n    if y:\n        z = 3\n    return   z\n");
  CHECK(of_lines("def f():\n  return   z\ndef g(): return   z\n", {1, 2}) ==
        "def f():\n    return z\ndef g(): return   z\n");
  CHECK(of_lines("def f():\n\tif y: z=3\n\treturn   z\n", {2, 2}) ==
        "def f():\n\tif y:\n\t\tz = 3\n\treturn   z\n");
  // A block that two headers share.
  CHECK(of_lines("%if A\nif x:\n  a=1\n%else\nif y:\n  b=1\n%endif\n  c=1\n", {2, 3}) ==
        "%if A\nif x:\n  a = 1\n%else\nif y:\n  b=1\n%endif\n  c=1\n");
}
