// libtessera_frontend through its C header and the wrapper for C++.

#include <catch2/catch.hpp>
#include <cstring>
#include <stdexcept>
#include <tessera_frontend.hpp>
#include <thread>

namespace fe = tessera_frontend;

namespace {

const char* const mlp =
    "const F = 3*8\n"
    "@jit\n"
    "def mlp(x: Tensor[B, D, bf16], w: Tensor[D, F, bf16]) -> Tensor[B, F, bf16]:\n"
    "    return x @ w\n";

/// "severity kind subject" of each finding, one on a line.
std::string text_of(const fe::Report& report) {
  std::string text;
  for (const fe::Finding& finding : report.findings()) {
    text += finding.severity == fe::Severity::Error     ? "error "
            : finding.severity == fe::Severity::Warning ? "warning "
                                                        : "note ";
    text += finding.kind + " " + finding.subject + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("frontend_compile gives the graph, its entries and no diagnostics") {
  fe::ModuleIr ir = fe::frontend_compile("mlp.tsr", mlp);
  REQUIRE(ir);
  CHECK(ir.ok());
  CHECK(ir.diagnostics().empty());
  CHECK(ir.entries() == std::vector<std::string>{"mlp"});
  CHECK(ir.text().find("gir.func @mlp(") != std::string::npos);
  fe::ModuleIr again = fe::frontend_read("mlp.tir", ir.text());
  REQUIRE(again);
  CHECK(again.rendered() == "");
  CHECK(again.text() == ir.text());
}

TEST_CASE("what is wrong with a source is data") {
  fe::ModuleIr ir = fe::frontend_compile("f.tsr",
                                         "@jit\n"
                                         "def f(x: Tensor[B, D, f32], w: Tensor[E, F, f32]):\n"
                                         "    return x @ w\n");
  REQUIRE(ir);
  CHECK(!ir.ok());
  CHECK(ir.text().empty());
  std::vector<fe::Diagnostic> diagnostics = ir.diagnostics();
  REQUIRE(diagnostics.size() == 1);
  CHECK(diagnostics[0].severity == fe::Severity::Error);
  CHECK(diagnostics[0].tag == "unrelated-symbols");
  CHECK(diagnostics[0].place.file == "f.tsr");
  CHECK(diagnostics[0].place.line == 3);
  REQUIRE(!diagnostics[0].notes.empty());
  CHECK(diagnostics[0].notes[0].place.line == 2);
  REQUIRE(!diagnostics[0].helps.empty());
  CHECK(diagnostics[0].helps[0].find("where D == E") != std::string::npos);
  CHECK(ir.rendered().find("[unrelated-symbols]") != std::string::npos);
  fe::Report report = fe::validate_shapes(ir);
  REQUIRE(report);
  CHECK(!report.ok());
  CHECK(text_of(report) == "error malformed \n");
}

TEST_CASE("defines, imports through a function, and a limit of errors") {
  fe::Options options;
  options.defines = {"WIDE", "N=4"};
  options.read = [](const std::string& path, std::string& error) -> std::optional<std::string> {
    if (path == "parts.tsr") return "def twice(x: Tensor[B, f32]):\n    return x + x\n";
    error = "it is nowhere";
    return std::nullopt;
  };
  const std::string text =
      "from parts import twice\n"
      "%if WIDE == 1 and N == 4\n"
      "@jit\n"
      "def f(x: Tensor[B, f32]):\n"
      "    return twice(x)\n"
      "%endif\n";
  CHECK(fe::frontend_compile("f.tsr", text, options).entries() == std::vector<std::string>{"f"});
  fe::ModuleIr missing = fe::frontend_compile("f.tsr", "from nowhere import a\n", options);
  REQUIRE(missing.diagnostics().size() == 1);
  CHECK(missing.diagnostics()[0].tag == "unknown-module");
  std::string wrong;
  for (std::string n : {"1", "2", "3", "4", "5", "6", "7", "8", "9"}) wrong += "const A" + n + " = nothing" + n + "\n";
  options.error_limit = 3;
  CHECK(fe::frontend_compile("g.tsr", wrong, options).diagnostics().size() == 3);
  options.error_limit = 0;
  CHECK(fe::frontend_compile("g.tsr", wrong, options).diagnostics().size() == 9);
}

TEST_CASE("kernels are checked for a target where one is named") {
  const std::string text =
      "@kernel\n"
      "def f(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:\n"
      "    t = tile.context(m=M, n=N)\n"
      "    return tile.nothing(x)\n";
  CHECK(fe::frontend_compile("f.tsr", text).ok());
  fe::Options options;
  options.kernels_for = "cpu:x86-64-v4";
  fe::ModuleIr ir = fe::frontend_compile("f.tsr", text, options);
  CHECK(!ir.ok());
  REQUIRE(ir.diagnostics().size() == 1);
  CHECK(ir.diagnostics()[0].tag == "unknown-member");
  options.kernels_for = "cpu:z80";
  CHECK(fe::frontend_compile("f.tsr", text, options).diagnostics()[0].tag == "unknown-target");
}

TEST_CASE("what evaluating a source may take is bounded, and so is what it may read") {
  auto tags = [](const std::string& body, const fe::Options& options) {
    std::string text = "@jit\ndef f(x: Tensor[B, f32]):\n    s = \"ab\"\n    for i in range(12):\n        " + body +
                       "\n    return x\n";
    std::string found;
    for (const fe::Diagnostic& diagnostic : fe::frontend_compile("f.tsr", text, options).diagnostics()) {
      found += diagnostic.tag + " ";
    }
    return found;
  };
  fe::Options options;
  CHECK(tags("s = s + s", options).empty());
  options.max_eval_memory = 1000;
  CHECK(tags("s = s + s", options) == "unsupported-evaluation-memory ");
  options.max_eval_memory = 0;
  options.max_eval_steps = 30;
  CHECK(tags("pass", options) == "unsupported-program-size ");
  options = {};
  options.read = [](const std::string&, std::string&) { return std::optional<std::string>("const A = 1\n"); };
  std::string text = "%include \"/elsewhere/a.tsr\"\n@jit\ndef f(x: Tensor[B, f32]):\n    return x * A\n";
  CHECK(fe::frontend_compile("f.tsr", text, options).ok());
  options.include_roots = {"/somewhere"};
  CHECK(fe::frontend_compile("f.tsr", text, options).diagnostics()[0].tag == "include-not-found");
}

TEST_CASE("arguments that break the rules give no handle, and no handle is nothing") {
  tessera_source source = {"f.tsr", nullptr, 3};
  CHECK(tessera_frontend_compile(nullptr, nullptr) == nullptr);
  CHECK(tessera_frontend_compile(&source, nullptr) == nullptr);
  source = {"", "pass\n", 5};
  CHECK(tessera_frontend_compile(&source, nullptr) == nullptr);
  source = {"f.tsr", "pass\n", 5};
  tessera_frontend_options options = {};
  CHECK(tessera_frontend_compile(&source, &options) == nullptr);  // no size
  options.size = sizeof options;
  options.define_count = 1;
  CHECK(tessera_frontend_compile(&source, &options) == nullptr);
  for (const char* name : {"3X", "", "=", "=4", "A B", "-X"}) {
    options.defines = &name;
    CHECK(tessera_frontend_compile(&source, &options) == nullptr);
  }
  CHECK(tessera_frontend_read(nullptr) == nullptr);
  CHECK(tessera_validate_shapes(nullptr, nullptr) == nullptr);
  tessera_module_ir_free(nullptr);
  tessera_report_free(nullptr);
  CHECK(tessera_module_ir_ok(nullptr) == 0);
  CHECK(std::string(tessera_module_ir_text(nullptr)).empty());
  CHECK(tessera_module_ir_entry(nullptr, 0) == nullptr);
  CHECK(tessera_report_ok(nullptr) == 0);
  tessera_diagnostic diagnostic;
  CHECK(tessera_module_ir_diagnostic(nullptr, 0, &diagnostic) == 0);
  uint32_t major = 0, minor = 0;
  tessera_frontend_version(&major, &minor);
  CHECK(major == TESSERA_FRONTEND_MAJOR);
  CHECK(minor == TESSERA_FRONTEND_MINOR);
}

TEST_CASE("options of a program with an older header are taken, and sizes that there never were are not") {
  tessera_source source = {"f.tsr", "pass\n", 5};
  auto takes_options = [&](size_t size) {
    tessera_frontend_options options = {};
    options.size = size;
    tessera_module_ir* ir = tessera_frontend_compile(&source, &options);
    tessera_module_ir_free(ir);
    return ir != nullptr;
  };
  constexpr size_t options_of_1_0 = 9 * sizeof(void*);
  CHECK(takes_options(options_of_1_0));
  CHECK(takes_options(sizeof(tessera_frontend_options)));
  CHECK_FALSE(takes_options(options_of_1_0 - 1));
  CHECK_FALSE(takes_options(sizeof(tessera_frontend_options) + 1));
  tessera_module_ir* ir = tessera_frontend_compile(&source, nullptr);
  auto takes_policy = [&](size_t size) {
    tessera_shape_policy policy = {};
    policy.size = size;
    tessera_report* report = tessera_validate_shapes(ir, &policy);
    tessera_report_free(report);
    return report != nullptr;
  };
  constexpr size_t policy_of_1_0 = sizeof(size_t) + sizeof(uint32_t) + 2 * sizeof(int) + sizeof(int) /* unused */ +
                                   sizeof(void*) + sizeof(size_t);
  CHECK(takes_policy(policy_of_1_0));
  CHECK(takes_policy(sizeof(tessera_shape_policy)));
  CHECK_FALSE(takes_policy(policy_of_1_0 - 1));
  CHECK_FALSE(takes_policy(sizeof(tessera_shape_policy) + 1));
  tessera_module_ir_free(ir);
}

TEST_CASE("what mends a mistake comes with it") {
  fe::ModuleIr ir = fe::frontend_compile("f.tsr", "const WIDTH = 3\nconst A = WIDHT + 1\n");
  REQUIRE(ir.diagnostics().size() == 1);
  REQUIRE(ir.diagnostics()[0].fixes.size() == 1);
  fe::Fix fix = ir.diagnostics()[0].fixes[0];
  REQUIRE(fix.edits.size() == 1);
  CHECK(fix.edits[0].text == "WIDTH");
  CHECK(fix.edits[0].place.line == 2);
  CHECK(fix.edits[0].place.column == 11);
  CHECK(fix.edits[0].place.length == 5);
  CHECK(tessera_module_ir_fix_count(ir.get(), 1) == 0);
  CHECK(tessera_module_ir_edit(ir.get(), 0, 0, 1, nullptr, nullptr) == 0);
}

TEST_CASE("what reading throws comes out of the compilation") {
  fe::Options options;
  int calls = 0;
  options.read = [&](const std::string&, std::string&) -> std::optional<std::string> {
    ++calls;
    throw std::runtime_error("no such luck");
  };
  CHECK_THROWS_WITH(fe::frontend_compile("f.tsr", "import a\nimport b\n", options), "no such luck");
  CHECK(calls == 1);
}

TEST_CASE("bytes of any kind give a module with errors") {
  std::string bytes;
  for (int i = 0; i < 4096; ++i) bytes += char(i * 37 + i / 251);
  for (const std::string& text : {bytes, std::string("def f(x):\n  \xff\xfe\n"), std::string(1, '\0')}) {
    fe::ModuleIr source = fe::frontend_compile("f.tsr", text);
    REQUIRE(source);
    CHECK(!source.ok());
    CHECK(!source.diagnostics().empty());
    fe::ModuleIr ir = fe::frontend_read("f.tir", text);
    REQUIRE(ir);
    CHECK(!ir.ok());
  }
  // A graph that a sentence of text is not.
  CHECK(!fe::frontend_read("f.tir", "module @f level(tile) version(1) {\n}\n").ok());
}

TEST_CASE("validate_shapes: what is left for calls") {
  fe::ModuleIr ir = fe::frontend_compile("mlp.tsr", mlp);
  fe::Report report = fe::validate_shapes(ir);
  REQUIRE(report);
  CHECK(report.ok());
  CHECK(report.guard_count() == 1);
  CHECK(report.open_dim_count() == 2);
  CHECK(text_of(report) == "note open-dim B\nnote open-dim D\nnote guard axis 0 of 'w' == D\n");
  CHECK(report.findings()[2].message == "axis 0 of 'w' == D is checked when 'mlp' is called");
  fe::Place open = report.findings()[0].place, equation = report.findings()[2].place;
  CHECK((open.line == 3 && open.column == 19 && open.length == 1));
  CHECK((equation.line == 3 && equation.column == 42 && equation.length == 1));
}

TEST_CASE("validate_shapes: a condition has the place of its text, and that of its entry where the text is not there") {
  const std::string text = "@jit\ndef f(x: Tensor[S, f32]) where S <= 4096:\n    return x\n";
  fe::ModuleIr ir = fe::frontend_compile("f.tsr", text);
  fe::Place place = fe::validate_shapes(ir).findings()[1].place;
  CHECK((place.line == 2 && place.column == 32 && place.length == 9));
  place = fe::validate_shapes(fe::frontend_read("f.tir", ir.text())).findings()[1].place;
  CHECK((place.line == 2 && place.column == 32));
}

TEST_CASE("validate_shapes: a policy that allows nothing at run time") {
  fe::ModuleIr ir = fe::frontend_compile(
      "f.tsr",
      "@jit\n"
      "def f(x: Tensor[S, D, f32]) -> Tensor[S, D, f32] where D % 64 == 0, S <= 4096:\n"
      "    return x + 1.0\n");
  REQUIRE(ir.ok());
  fe::ShapePolicy policy;
  policy.symbolic_dims = false;
  policy.run_time_guards = 0;
  fe::Report report = fe::validate_shapes(ir, policy);
  CHECK(!report.ok());
  CHECK(text_of(report) ==
        "error open-dim S\nerror open-dim D\nerror guard D % 64 == 0\nerror guard S <= 4096\n");
  policy.dims = {{"S", 128}, {"D", 768}};
  CHECK(fe::validate_shapes(ir, policy).ok());
  CHECK(fe::validate_shapes(ir, policy).findings().empty());
  policy.dims = {{"S", 5000}, {"D", 100}, {"Q", 1}};
  report = fe::validate_shapes(ir, policy);
  CHECK(text_of(report) ==
        "error false-guard D % 64 == 0\nerror false-guard S <= 4096\nwarning unknown-dim Q\n");
  CHECK(report.findings()[0].message == "D % 64 == 0 does not hold: 36 == 0, where D is 100");
  policy = {};
  policy.run_time_guards = TESSERA_GUARD_ORDER;
  CHECK(text_of(fe::validate_shapes(ir, policy)) ==
        "note open-dim S\nnote open-dim D\nerror guard D % 64 == 0\nnote guard S <= 4096\n");
}

TEST_CASE("validate_shapes: extents that are sizes for some calls only") {
  fe::ModuleIr ir = fe::frontend_compile("f.tsr",
                                         "@jit\n"
                                         "def f(x: Tensor[N, 4, f32]):\n"
                                         "    return x[:N//2]\n");
  INFO(ir.rendered());
  REQUIRE(ir.ok());
  CHECK(text_of(fe::validate_shapes(ir)) == "note open-dim N\nnote inexact-dim (N//2)\n");
  fe::ShapePolicy policy;
  policy.strict = true;
  CHECK(text_of(fe::validate_shapes(ir, policy)) == "note open-dim N\nerror inexact-dim (N//2)\n");
  policy.dims = {{"N", 8}};
  CHECK(fe::validate_shapes(ir, policy).findings().empty());
  policy.dims = {{"N", 9}};
  CHECK(!fe::validate_shapes(ir, policy).ok());
  policy.dims = {{"N", INT64_MAX / 2}};
  CHECK(text_of(fe::validate_shapes(ir, policy)).find("error overflow") != std::string::npos);
  policy.dims = {{"N", -1}};
  CHECK(!fe::validate_shapes(ir, policy));
}

TEST_CASE("one module may be validated from several threads") {
  fe::ModuleIr ir = fe::frontend_compile("mlp.tsr", mlp);
  std::vector<std::thread> threads;
  std::vector<size_t> guards(4);
  for (size_t i = 0; i < guards.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 50; ++n) guards[i] += fe::validate_shapes(ir).guard_count();
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(guards == std::vector<size_t>(4, 50));
}
