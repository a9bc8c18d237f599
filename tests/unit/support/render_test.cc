// How diagnostics look, and what programs read.

#include <catch2/catch.hpp>

#include "support/diagnostic.h"
#include "support/diagnostic_rows.h"
#include "support/render/columns.h"
#include "support/render/json.h"

using namespace tessera;

namespace {

/// One diagnostic about a source, at the place of a text in it.
class Example {
 public:
  explicit Example(std::string text) : file_(sources_.add("a.tsr", std::move(text))) {}

  /// The place of the n-th occurrence of a text.
  Loc at(std::string_view text, size_t n = 1) {
    size_t found = std::string::npos;
    for (size_t i = 0; i < n; ++i) found = sources_.file(file_).text().find(text, found + 1);
    REQUIRE(found != std::string::npos);
    return sources_.file(file_).locate(file_, uint32_t(found), uint32_t(text.size()));
  }
  DiagnosticEngine::Builder report(Loc loc) { return engine_.report(diag::error_directive, loc, "wrong"); }
  std::string said(RenderOptions options = {}) {
    std::string text = render_all(engine_, options);
    return text.substr(text.find('\n') + 1);
  }
  DiagnosticEngine& engine() { return engine_; }
  SourceManager& sources() { return sources_; }

 private:
  SourceManager sources_;
  FileId file_;
  DiagnosticEngine engine_{sources_};
};

}  // namespace

TEST_CASE("labels stand under their lines, the rightmost beside its mark") {
  Example example("def f(x: Tensor[64], w: Tensor[32]):\n    return x @ w\n");
  example.report(example.at("@")).label(example.at("64"), "x has 64").label(example.at("32"), "w has 32");
  CHECK(example.said() ==
        "    1 | def f(x: Tensor[64], w: Tensor[32]):\n"
        "      |                 --             -- w has 32\n"
        "      |                 |\n"
        "      |                 x has 64\n"
        "    2 |     return x @ w\n"
        "      |              ^\n");
}

TEST_CASE("the primary span can have a text, and two labels can share one span") {
  Example example("x = y\n");
  Loc y = example.at("y");
  example.report(y).label(y, "this").label(example.at("x"), "one").label(example.at("x"), "two");
  CHECK(example.said() ==
        "    1 | x = y\n"
        "      | -   ^ this\n"
        "      | |\n"
        "      | two\n"
        "      | one\n");
}

TEST_CASE("lines between labels are left out, but for a single one") {
  Example example("a\nb\nc\nd\ne\nf\n");
  example.report(example.at("f")).label(example.at("a"), "first").label(example.at("c"), "third");
  CHECK(example.said() ==
        "    1 | a\n      | - first\n    2 | b\n    3 | c\n      | - third\n  ... |\n    6 | f\n      | ^\n");
}

TEST_CASE("labels of other files come after, with their place") {
  Example example("x\n");
  FileId other = example.sources().add("b.tsr", "y\n");
  example.report(example.at("x")).label({other, 1, 1, 1}, "there").label({}, "nowhere");
  CHECK(example.said() ==
        "    1 | x\n      | ^\n  ::: b.tsr:1:1\n    1 | y\n      | - there\nnote: nowhere\n");
}

TEST_CASE("tabs, wide and combining characters keep marks in place") {
  Example tab("\tx = y\n");
  tab.report(tab.at("y"));
  CHECK(tab.said() == "    1 |     x = y\n      |         ^\n");
  Example wide("\"日本\" + y\n");
  wide.report(wide.at("y")).label(wide.at("本"), "wide");
  CHECK(wide.said() ==
        "    1 | \"日本\" + y\n      |    --    ^\n      |    |\n      |    wide\n");
  Example combining("e\u0301 + y\n");
  combining.report(combining.at("y"));
  CHECK(combining.said() == "    1 | e\u0301 + y\n      |     ^\n");
}

TEST_CASE("what steers a terminal is shown as an escape") {
  Example example("a \x1b[31m \u202e \xff b\n");
  example.report(example.at("b"));
  CHECK(example.said() ==
        "    1 | a \\x1b[31m \\u{202e} \\xff b\n      |                          ^\n");
  CHECK(escape_control("\u009b \u2066") == "\\u{9b} \\u{2066}");
}

TEST_CASE("a line that is too wide is cut around what is marked") {
  std::string filler(60, 'a');
  Example example(filler + "X" + filler + "Y" + filler + "\n");
  RenderOptions narrow{false, 40};
  example.report(example.at("Y"));
  CHECK(example.said(narrow) ==
        "    1 | …aaaaaaaaaaaaaaYaaaaaaaaaaaaaaa…\n      |                ^\n");
  Example both(filler + "X" + filler + "Y\n");
  both.report(both.at("Y")).label(both.at("X"), "far to the left, which takes more than a line of text");
  CHECK(both.said(narrow) ==
        "    1 | …aaaaaaaaaaaaaaaaaaaaaaaaaaaaaY\n"
        "      | -                             ^\n"
        "      | |\n"
        "      | far to the left, which takes\n"
        "      | more than a line of text\n");
}

TEST_CASE("an endless line is looked at near its mark only") {
  Example example(std::string(5'000'000, 'a') + "Y" + std::string(5'000'000, 'b') + "\n");
  example.report(example.at("Y"));
  CHECK(example.said({false, 40}).size() < 200);
}

TEST_CASE("a fix shows what it makes of the source") {
  Example example("def f(x)\n    return sofmax(x)\n");
  Loc end = example.at(")");
  end.column += 1;
  end.length = 0;
  example.report(example.at("sofmax"))
      .fix("write ':' and the name", {{end, ":"}, {example.at("sofmax"), "softmax"}});
  CHECK(example.said() ==
        "    2 |     return sofmax(x)\n"
        "      |            ^^^^^^\n"
        "help: write ':' and the name\n"
        "    1 | def f(x):\n"
        "      |         +\n"
        "    2 |     return softmax(x)\n"
        "      |            ~~~~~~~\n");
}

TEST_CASE("a fix can put lines in and take lines out") {
  Example in("if x:\ny\n");
  Loc at = in.at("y");
  at.length = 0;
  in.report(in.at("y")).fix("put a line in", at, "    pass\n");
  CHECK(in.said().find("    2 |     pass\n      |     ++++\n    3 | y\n") != std::string::npos);
  Example out("a\nb\n");
  Loc line = out.at("b");
  line.length = 2;
  out.report(line).fix("take the line out", line, "");
  CHECK(out.said().ends_with("help: take the line out\n"));
}

TEST_CASE("a near name is a fix where the source spells it so") {
  Example example("y = \"sofmax\"\n");
  CHECK(example.report(example.at("\"sofmax\""))
            .suggest(example.sources(), example.at("\"sofmax\""), "sofmax", {"softmax"}));
  CHECK(example.said().ends_with("help: did you mean 'softmax'?\n    1 | y = \"softmax\"\n      |      ~~~~~~~\n"));
  Example macro("MACRO\n");
  CHECK(macro.report(macro.at("MACRO")).suggest(macro.sources(), macro.at("MACRO"), "sofmax", {"softmax"}));
  CHECK(macro.said().ends_with("      | ^^^^^\nhelp: did you mean 'softmax'?\n"));
}

TEST_CASE("colours are there when they are asked for") {
  Example example("x\n");
  example.report(example.at("x")).help("look");
  std::string text = render_all(example.engine(), {.colour = true});
  CHECK(text.find("\x1b[1;31merror:\x1b[0m") != std::string::npos);
  CHECK(text.find("\x1b[1;31m^\x1b[0m") != std::string::npos);
  CHECK(example.said().find('\x1b') == std::string::npos);
}

TEST_CASE("the chain of includes is told") {
  Example example("%include \"b.tsr\"\n");
  FileId b = example.sources().add("b.tsr", "x\n");
  example.sources().set_included(b, example.at("\"b.tsr\""));
  example.report({b, 1, 1, 1}).note({}, "a note");
  CHECK(example.said() ==
        "    1 | x\n      | ^\nnote: a note\n"
        "a.tsr:1:10: note: 'b.tsr' is included here\n    1 | %include \"b.tsr\"\n      |          ^^^^^^^\n");
}

TEST_CASE("JSON has a line for each diagnostic and counts at the end") {
  Example example("x y\n");
  example.report(example.at("x"))
      .label(example.at("y"), "here")
      .note({}, "so", NoteKind::Call)
      .help("do")
      .fix("write z", example.at("x"), "z");
  example.engine().report(diag::unused_dtype_parameter, example.at("y"), "\xff");
  CHECK(to_json_lines(example.engine()) ==
        R"({"type":"diagnostic","severity":"error","tag":"error-directive","message":"wrong",)"
        R"("span":{"file":"a.tsr","line":1,"column":1,"length":1},)"
        R"("labels":[{"message":"here","span":{"file":"a.tsr","line":1,"column":3,"length":1}}],)"
        R"("notes":[{"kind":"call","message":"so","span":null}],"helps":["do"],)"
        R"("fixes":[{"message":"write z","edits":[{"span":{"file":"a.tsr","line":1,"column":1,"length":1},)"
        R"("replacement":"z"}]}],"rendered":"a.tsr:1:1: error: wrong [error-directive]\n    1 | x y\n)"
        R"(      | ^ - here\nnote: so\nhelp: do\nhelp: write z\n    1 | z y\n      | ~\n"})"
        "\n"
        R"({"type":"diagnostic","severity":"warning","tag":"unused-dtype-parameter","message":)"
        "\"dtype parameter '\uFFFD' is used nowhere else: any dtype is accepted here\","
        R"("span":{"file":"a.tsr","line":1,"column":3,"length":1},"labels":[],"notes":[],"helps":[],"fixes":[],)"
        R"("rendered":"a.tsr:1:3: warning: dtype parameter '\\xff' is used nowhere else: any dtype is accepted here )"
        R"([unused-dtype-parameter]\n    1 | x y\n      |   ^\n"})"
        "\n"
        R"({"type":"summary","errors":1,"warnings":1,"not_shown":0})"
        "\n");
}

TEST_CASE("a span of JSON ends with its line, and an edit may take the line's end") {
  Example example("for x:\n    y\n");
  Loc loop{example.at("for").file, 1, 1, 12}, line{example.at("for").file, 1, 1, 7};
  example.report(loop).fix("take it out", line, "");
  std::string text = to_json_lines(example.engine());
  CHECK(text.find(R"("span":{"file":"a.tsr","line":1,"column":1,"length":6},"labels")") != std::string::npos);
  CHECK(text.find(R"("edits":[{"span":{"file":"a.tsr","line":1,"column":1,"length":7})") != std::string::npos);
}

TEST_CASE("SARIF counts columns in UTF-16 units and has fixes, labels and chains") {
  Example example("\"😀\" x\n");
  example.report(example.at("x"))
      .label(example.at("\"😀\""), "here")
      .note(example.at("x"), "called", NoteKind::Call)
      .fix("write z", example.at("x"), "z");
  std::string text = to_sarif(example.engine(), "tesserac", "1.0");
  for (const char* part : {R"("version": "2.1.0")", R"("ruleId": "error-directive")", R"("startColumn": 6)",
                           R"("endColumn": 7)", R"("relatedLocations")", R"("stacks")", R"("deletedRegion")"}) {
    INFO(part << text);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("levels of warnings turn them off or into errors") {
  Example example("x\n");
  DiagnosticEngine& engine = example.engine();
  engine.set_warning(DiagId::unused_dtype_parameter, WarningLevel::Off);
  engine.report(diag::unused_dtype_parameter, example.at("x"), "T");
  CHECK(engine.all().empty());
  engine.set_warning(DiagId::unused_dtype_parameter, WarningLevel::Error);
  engine.report(diag::unused_dtype_parameter, example.at("x"), "T");
  CHECK(engine.error_count() == 1);
  CHECK(example.said().ends_with("note: -Werror makes this warning an error\n"));
}

TEST_CASE("a note of its own is neither a warning nor an error, and is turned off as a warning is") {
  Example example("x\n");
  DiagnosticEngine& engine = example.engine();
  engine.report(diag::empty_phase, {}, "P");
  CHECK(engine.warning_count() + engine.error_count() == 0);
  CHECK(render_all(engine, {}) == "note: phase 'P' finds nothing to do [empty-phase]\n");
  CHECK(to_json_lines(engine).find(R"("severity":"note")") != std::string::npos);
  CHECK(to_json_lines(engine).find(R"("errors":0,"warnings":0,"not_shown":0)") != std::string::npos);
  CHECK(to_sarif(engine, "tessera-opt", "1.0").find(R"("level": "note")") != std::string::npos);
  engine.set_warning(DiagId::empty_phase, WarningLevel::Off);
  engine.report(diag::empty_phase, {}, "P");
  CHECK(engine.all().size() == 1);
}

TEST_CASE("many warnings leave room for errors") {
  Example example("x\n");
  example.engine().set_error_limit(3);
  for (int i = 0; i < 10; ++i) example.engine().report(diag::unused_dtype_parameter, example.at("x"), i);
  example.engine().report(diag::error_directive, example.at("x"), "wrong");
  CHECK(example.engine().all().size() == 4);
}

TEST_CASE("what the limit leaves out is counted by severity") {
  Example example("x\n");
  DiagnosticEngine& engine = example.engine();
  engine.set_error_limit(3);
  for (int i = 0; i < 4; ++i) engine.report(diag::unused_dtype_parameter, example.at("x"), i);
  CHECK(example.said().ends_with("\n1 more warning not shown\n"));
  for (int i = 0; i < 5; ++i) engine.report(diag::error_directive, example.at("x"), i);
  CHECK(example.said().ends_with("\n2 more errors and 1 more warning not shown\n"));
  CHECK(to_json_lines(engine).ends_with(
      "{\"type\":\"summary\",\"errors\":5,\"warnings\":4,\"not_shown\":3}\n"));
}

TEST_CASE("text is wrapped at words") {
  CHECK(wrap("one two three", 7) == std::vector<std::string>{"one two", "three"});
  CHECK(wrap("日本 語", 4) == std::vector<std::string>{"日本", "語"});
  CHECK(wrap("", 10) == std::vector<std::string>{""});
}
