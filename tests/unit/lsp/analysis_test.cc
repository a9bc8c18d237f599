// The cost of an edit: only the declarations that it affects are analysed.

#include "lsp/workspace/analysis.h"

#include <catch2/catch.hpp>

#include "lsp/model/dependencies.h"
#include "unit/lsp/uri.h"

using namespace tessera::lsp;

namespace {

constexpr auto never = [] { return false; };

/// A document and what is kept of it.
class Edited {
 public:
  explicit Edited(std::string text) : text_(std::move(text)), model_(workspace_.open(uri, 1, text_).model) {}

  AnalysisResult look(const std::function<bool()>& is_cancelled = never) {
    return analyse(workspace_, *model_, cache_, library_, is_cancelled);
  }
  /// The next look, after the first occurrence of a text has become another one.
  AnalysisResult look_after(const std::string& before, const std::string& after) {
    text_.replace(text_.find(before), before.size(), after);
    workspace_.change(uri, 2, {{std::nullopt, text_}});
    return look();
  }

 private:
  Workspace workspace_;
  AnalysisCache cache_;
  LibraryTrees library_;
  std::string text_;
  FileModel* model_;
};

/// The keys of the pieces of a text, by the name that each declares.
std::map<std::string, uint64_t> keys_of(FileModel& file, PieceStore& store, const std::string& text) {
  file.set_text(text, store, {});
  Dependencies dependencies(file);
  std::map<std::string, uint64_t> keys;
  for (const auto& piece : file.pieces()) {
    keys[piece->names.declared.at(0).name] = dependencies.key(dependencies.piece_of(piece->file));
  }
  return keys;
}

}  // namespace

TEST_CASE("of thousands of functions the one that was edited is looked at, and those that use it") {
  std::string text = "def base(x):\n    return x * 2.0\n\n";
  for (int i = 0; i < 3000; ++i) {
    text += "def f" + std::to_string(i) + "(x: Tensor[B, f32]):\n    return " + (i % 1000 == 0 ? "base(x)" : "x") +
            " + " + std::to_string(i) + ".0\n\n";
  }
  Edited file(text + "const LAST = 7.0\n");
  CHECK(file.look().evaluated > 3000);
  CHECK(file.look().evaluated == 0);
  CHECK(file.look_after("x + 8.0", "x + 9.0").evaluated <= 2);
  AnalysisResult wrong = file.look_after("LAST = 7.0", "LAST = missing");
  CHECK(wrong.evaluated == 1);
  CHECK(wrong.diagnostics.size() == 1);
  CHECK(file.look_after("LAST = missing", "LAST = 7.0").diagnostics.empty());
  AnalysisResult four = file.look_after("x * 2.0", "x * 3.0");
  CHECK(four.evaluated >= 4);
  CHECK(four.evaluated <= 8);
}

TEST_CASE("an error that several entries find is reported once, as the first one finds it") {
  const std::string a = "@jit\ndef a(x: Tensor[N, 8, f32]):\n    return h(x)\n\n";
  Edited file("def h(x: Tensor[N, D, f32]):\n    return reshape(x, (N, 7))\n\n" +
              std::string("@jit\ndef b(x: Tensor[N, 16, f32]):\n    return h(x)\n"));
  CHECK(file.look().diagnostics.size() == 1);
  AnalysisResult both = file.look_after("@jit", a + "@jit");
  REQUIRE(both.diagnostics.size() == 1);
  CHECK(both.diagnostics[0].message.find("8*N") != std::string::npos);
}

TEST_CASE("an undefined name is reported once, as by the compiler") {
  Edited file("const N = size\n\n@jit\ndef a(x: Tensor[B, f32]):\n    return x + y\n\n"
              "@jit\ndef b(x: Tensor[B, f32]):\n    return x * y + size\n");
  CHECK(file.look().diagnostics.size() == 2);
  CHECK(file.look_after("x + y", "x + z").diagnostics.size() == 3);
}

TEST_CASE("the name that an error suggests is one that the file still has") {
  Edited file("def helper(x):\n    return x\n\n@jit\ndef a(x: Tensor[B, f32]):\n    return helpr(x)\n");
  auto advice = [](const AnalysisResult& result) {
    REQUIRE(result.diagnostics.size() == 1);
    return result.diagnostics[0].helps;
  };
  CHECK(advice(file.look()) == std::vector<std::string>{"did you mean 'helper'?"});
  CHECK(advice(file.look_after("helper", "another")).empty());
  CHECK(advice(file.look_after("another", "helper")) == std::vector<std::string>{"did you mean 'helper'?"});
}

TEST_CASE("what a constant or an entry computes without end is given up when nobody waits any more") {
  Edited file("def g(n):\n    while n > 1:\n        n = n + 0\n    return n\n\n"
              "@jit\ndef a(x: Tensor[B, f32]):\n    return x * float(g(4))\n");
  size_t asked = 0;
  auto gives_up = [&] { return ++asked == 5; };  // once: what is given up stays so
  CHECK(!file.look(gives_up).finished);
  CHECK(asked == 5);
  REQUIRE(file.look([&] { return ++asked == 0; }).diagnostics.size() == 1);
  CHECK(asked > 100);
}

TEST_CASE("what an entry reports of a module's param stays when something else changes") {
  Edited file("module Linear(I: dim):\n    w: Param[tanh, f32] = normal(0.02)\n\n    def __call__(self, x):\n"
              "        return x * self.w\n\nlinear = Linear(8)\n\n@jit\ndef a(x: Tensor[8, f32]):\n"
              "    return linear(x)\n\n@jit\ndef b(x: Tensor[8, f32]):\n    return x\n");
  AnalysisResult first = file.look(), second = file.look_after("return x\n", "return -x\n");
  REQUIRE(first.diagnostics.size() == 1);
  REQUIRE(second.diagnostics.size() == 1);
  CHECK(!first.diagnostics[0].notes.empty());
  CHECK(second.diagnostics[0].notes.size() == first.diagnostics[0].notes.size());
}

TEST_CASE("ten thousand declarations that use one another are distinguished") {
  std::string text = "const A0 = 1\n";
  for (int i = 1; i < 10'000; ++i) {
    text += "const A" + std::to_string(i) + " = A" + std::to_string(i - 1) + " + 1\n";
  }
  Edited file(text);
  CHECK(file.look().diagnostics.empty());
  CHECK(file.look_after("A9998 + 1", "A9998 + 2").evaluated == 1);
  CHECK(file.look_after("A5000 + 1", "A5000 + 2").evaluated == 4999);
}

TEST_CASE("a piece has another key where its text is another, or that of what it reaches") {
  PieceStore store;
  FileModel file("/a.tsr", false);
  std::string text = "def even(n):\n    return odd(n)\ndef odd(n):\n    return even(n)\n"
                     "def user(n):\n    return odd(n)\ndef other(n):\n    return n\n";
  auto before = keys_of(file, store, text);
  text.replace(text.find("return even(n)"), 14, "return even(1)");
  auto after = keys_of(file, store, text);
  for (const char* name : {"even", "odd", "user"}) CHECK(before.at(name) != after.at(name));
  CHECK(before.at("other") == after.at("other"));
  CHECK(after.at("even") != after.at("odd"));
  text.replace(text.find("return n\n"), 9, "return 2\n");
  auto last = keys_of(file, store, text);
  for (const char* name : {"even", "odd", "user"}) CHECK(last.at(name) == after.at(name));
  CHECK(last.at("other") != after.at("other"));
}

TEST_CASE("the reporters of errors are known for all that a piece reaches") {
  PieceStore store;
  FileModel file("/a.tsr", false);
  file.set_text(
      "def a(n):\n    return b(n)\ndef b(n):\n    return c(n)\ndef c(n):\n    return n\ndef d(n):\n    return a(n)\n"
      "@jit\ndef e(n):\n    return n\ndef g(n):\n    return e(n)\n",
      store, {});
  Dependencies dependencies(file);
  REQUIRE(dependencies.size() == 6);
  int one = 0, other = 0;
  std::vector<Reporters> reported(6);
  reported[2].add(&one);
  std::vector<Reporters> reached = dependencies.reached(reported);
  for (size_t piece : {0, 1, 2, 3}) {
    CHECK(reached[piece].at_most(&one));
    CHECK_FALSE(reached[piece].at_most(&other));
  }
  CHECK(reached[4].at_most(&other));
  reported[0].add(&other);
  reached = dependencies.reached(reported);
  CHECK(reached[1].at_most(&one));
  CHECK_FALSE(reached[3].at_most(&one));
  CHECK_FALSE(reached[3].at_most(&other));
  for (size_t piece = 0; piece < 6; ++piece) CHECK(dependencies.uses_entry(piece) == (piece == 5));
}
