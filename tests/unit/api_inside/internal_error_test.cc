// How the library reports a bug of ours: each place at which the evaluation tells an observer stands for one.

#include <catch2/catch.hpp>

#include "api/c/tessera_frontend.cc"
#include "frontend/values/observer.h"
#include "ir/schedule/ops.h"

using namespace tessera;

namespace {

const char* const model =
    "from tessera.nn import gelu\n"
    "module Linear(I: dim, O: dim):\n"
    "    w: Param[I, O, f32] = normal(0.02)\n"
    "    def __call__(self, x: Tensor[B, I, f32]):\n"
    "        return x @ self.w\n"
    "layers = Linear(64, 64, name=\"a\")\n"
    "@kernel.schedule(block(m=32, n=32))\n"
    "def twice(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:\n"
    "    t = tile.context(m=M, n=N)\n"
    "    return tile.load(x) * 2.0\n"
    "@jit\n"
    "def f(x: Tensor[B, 64, f32], n: int):\n"
    "    for i in range(n):\n"
    "        x = gelu(layers(x)) + x\n"
    "    return twice(x)\n";

/// Finds a bug at the n-th thing that it hears.
class Breaking : public frontend::EvaluationObserver {
 public:
  explicit Breaking(size_t left) : left_(left) {}
  void started(frontend::Session&) override { hear(); }
  void bound(std::string_view, Loc, const frontend::Datum&) override { hear(); }
  void evaluated(const ast::Expr&, const frontend::Datum&) override { hear(); }
  void called(const ast::Call&, const frontend::Datum&) override { hear(); }
  void returned(const frontend::Function&, const frontend::Datum&, const std::set<std::string>&) override { hear(); }

 private:
  void hear() { TSR_CHECK(left_-- != 0, "a bug for a test"); }
  size_t left_;
};

/// The tags of what a compile says that has a bug there.
std::vector<std::string> tags_with_bug(size_t at) {
  tessera_source source = {"f.tsr", model, std::strlen(model)};
  ThrowInternalErrors thrown;
  auto ir = module_of(source, "tesserac f.tsr", [&](Context& context, FileId file, DiagnosticEngine& diagnostics) {
    Breaking observer(at);
    frontend::FrontendOptions options;
    options.kernels_for = "cpu:x86-64-v3";
    options.observer = &observer;
    return api::frontend_compile(context, file, options, diagnostics);
  });
  CHECK((tessera_module_ir_ok(ir.get()) == 1) == ir->tags.empty());
  return ir->tags;
}

int read_with_bug(void*, const char*, const char**, size_t*) { TSR_UNREACHABLE("a bug for a test"); }

}  // namespace

TEST_CASE("a bug anywhere in the evaluation is a diagnostic, and the next compile is as good as any") {
  size_t bugs = 0;
  for (; !tags_with_bug(bugs).empty(); ++bugs) {
    REQUIRE(tags_with_bug(bugs) == std::vector<std::string>{"internal-error"});
    REQUIRE(bugs < 10'000);
  }
  CHECK(bugs > 80);
}

TEST_CASE("the diagnostic of a bug says where it is and how to see it again") {
  tessera_source source = {"f.tsr", "import parts\n", 13};
  const char* defines[] = {"N=4"};
  tessera_frontend_options options = {};
  options.size = sizeof options;
  options.read = read_with_bug;
  options.defines = defines;
  options.define_count = 1;
  options.error_limit = 1;
  tessera_module_ir* ir = tessera_frontend_compile(&source, &options);
  REQUIRE(ir);
  CHECK(tessera_module_ir_ok(ir) == 0);
  REQUIRE(tessera_module_ir_diagnostic_count(ir) == 1);
  tessera_diagnostic diagnostic;
  REQUIRE(tessera_module_ir_diagnostic(ir, 0, &diagnostic) == 1);
  CHECK(std::string(diagnostic.tag) == "internal-error");
  CHECK(std::string(diagnostic.message) == "internal error: a bug for a test");
  CHECK(std::string(diagnostic.place.file) == "f.tsr");
  const char* note = nullptr;
  REQUIRE(tessera_module_ir_note(ir, 0, 0, &note, nullptr) == 1);
  CHECK(std::string(note).find("internal_error_test.cc:") != std::string::npos);
  CHECK(std::string(tessera_module_ir_help(ir, 0, 0)).find("`tesserac f.tsr --dump=graph -DN=4`") != std::string::npos);
  tessera_report* report = tessera_validate_shapes(ir, nullptr);
  CHECK(tessera_report_ok(report) == 0);
  tessera_report_free(report);
  tessera_module_ir_free(ir);
}

TEST_CASE("a bug while shapes are looked at is a finding, and the module stays apart") {
  tessera_module_ir ir;
  ir.module.graph = std::make_unique<Module>(ir.context, ir.sources, "f", Level::Schedule);  // no graph
  for (int i = 0; i < 2; ++i) {
    tessera_report* report = tessera_validate_shapes(&ir, nullptr);
    REQUIRE(report);
    CHECK(tessera_report_ok(report) == 0);
    tessera_finding finding = {};
    REQUIRE(tessera_report_finding(report, 0, &finding) == 1);
    CHECK(std::string(finding.kind) == "internal-error");
    CHECK(std::string(finding.message).find("shapes are validated on graphs") != std::string::npos);
    tessera_report_free(report);
  }
}

TEST_CASE("an internal error is thrown with its pass") {
  internal_error_context().pass = "cse";
  try {
    ThrowInternalErrors thrown;
    TSR_UNREACHABLE("no way");
  } catch (const InternalError& error) {
    CHECK(error.message == "no way");
    REQUIRE(error.facts.size() == 2);
    CHECK(error.facts[1] == "in pass cse");
  }
  internal_error_context() = {};
}
