// From a host program and the kernels beside it to a plan and a bundle.

#include "runtime/format/bundle.h"

#include <catch2/catch.hpp>

#include "codegen/bundle/write_bundle.h"
#include "codegen/plan/constant_data.h"
#include "codegen/plan/emit_plan.h"
#include "codegen/plan/format_terms.h"
#include "unit/ir/text_fixture.h"

using namespace tessera;

namespace {

constexpr const char* arguments =
    R"({args = [{kind = "input", name = "x"}, {kind = "param", name = "net.b"}, {kind = "input", name = "seed"}], effects = ["rng"], guards = [{left = <S>, relation = "<=", right = 4096, text = "S <= 4096"}], results = [{name = "y"}, {name = "z"}]})";

/// A target-level module with an entry of that body and one kernel [M, 4], [4] -> [M, 4].
std::string module_text(const std::string& body, const std::string& attributes = arguments) {
  return R"(module @f level(target) version(1) {target = "cpu:x86-64-v4"} {
  target.func @f.0(%buffers: ptr, %dims: ptr, %first: i64, %last: i64, %scratch: ptr) {dims = ["M"], epilogue = ["add"], grid = [<((M + 63)//64)>, 1], kernel = "matmul", outputs = 1, params = [!tensor<M x 4, bf16>, !tensor<4, f32>, !tensor<M x 4, bf16>], schedule = {block = {m = 64}, stages = 2}, scratch = <64*M>} {
    target.return
  }
  host.func @f(%x: tensor<B x S x 4, bf16>, %b: tensor<4, f32 accum(f32)>, %seed: tensor<u64>) )" +
         attributes + " {\n" + body + "  }\n}\n";
}

constexpr const char* chain = R"(
    %0: tensor<B*S x 4, bf16> = host.alias %x
    %h: tensor<B*S x 4, bf16> = host.launch [%0, %b], [] {dims = {M = <B*S>}, kernel = @f.0}
    %g: tensor<B*S x 4, bf16> = host.launch [%h, %b], [] {dims = {M = <B*S>}, kernel = @f.0}
    %1: tensor<B*S x 4, bf16> = host.launch [%g, %b], [] {dims = {M = <B*S>}, kernel = @f.0}
    %2: tensor<B x S x 4, bf16> = host.alias %1
    host.return [%2, %b]
)";

struct BundleFixture : TextFixture {
  std::vector<std::unique_ptr<Module>> modules;

  Module* parse(const std::string& text) {
    FileId file = sources.add("t" + std::to_string(modules.size()) + ".tir", text);
    auto parsed = parse_modules(context, file, diagnostics);
    INFO(render_all(diagnostics, {}));
    REQUIRE(parsed);
    modules.push_back(std::move((*parsed)[0]));
    return modules.back().get();
  }
  format::Plan plan(const std::string& body) {
    auto made =
        codegen::emit_plan(parse(module_text(body))->find("f"), "cpu:x86-64-v4", diagnostics);
    INFO(render_all(diagnostics, {}));
    REQUIRE(made);
    return *made;
  }
};

size_t index_of(const format::Plan& plan, std::string_view name) {
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    if (plan.buffers[i].name == name) return i;
  }
  return plan.buffers.size();
}

}  // namespace

TEST_CASE("a plan has the entry's buffers, dims, guards and steps") {
  BundleFixture f;
  format::Plan plan = f.plan(chain);
  CHECK(plan.dims.size() == 2);
  CHECK(plan.kernels == std::vector<std::string>{"f.0"});
  REQUIRE(plan.steps.size() == 4);  // three launches and the copy of an argument
  CHECK(std::holds_alternative<format::CopyStep>(plan.steps[3]));
  REQUIRE(plan.guards.size() == 1);
  CHECK(plan.guards[0].message == "where S <= 4096 does not hold");
  CHECK(plan.buffers[index_of(plan, "net.b")].kind == format::BufferKind::Param);
  CHECK(format::encode_plan(plan) ==
        format::encode_plan(*format::decode_plan(format::encode_plan(plan))));
}

TEST_CASE("a temp lives from its first to its last step, and a result is written in place") {
  BundleFixture f;
  format::Plan plan = f.plan(chain);
  const format::PlanBuffer& h = plan.buffers[index_of(plan, "t0")];
  const format::PlanBuffer& g = plan.buffers[index_of(plan, "t1")];
  CHECK(h.first_step == 0);
  CHECK(h.last_step == 1);
  CHECK(g.first_step == 1);
  CHECK(g.last_step == 2);
  auto& last = std::get<format::LaunchStep>(plan.steps[2]);
  CHECK(last.buffers.back() == index_of(plan, "y"));
  CHECK(plan.exprs[last.dims[0]] ==
        format::binary_expr(format::ExprOp::Mul, format::dim_expr(0), format::dim_expr(1)));
}

TEST_CASE("constants are aligned data, and a result that is one is copied") {
  BundleFixture f;
  format::Plan plan = f.plan(R"(
    %0: tensor<3, f32> = host.constant {values = [1.0, 2, -1.5]}
    %1: tensor<2, i4> = host.constant {values = [1, -1]}
    %2: tensor<3, bf16> = host.fill {value = 1.0}
    host.return [%0, %2]
)");
  REQUIRE(plan.data.size() == 65);
  CHECK(plan.data.substr(0, 12) ==
        std::string("\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\xc0\xbf", 12));
  CHECK(plan.data[64] == char(0xf1));
  CHECK(plan.buffers[index_of(plan, "c1")].offset == 64);
  auto& fill = std::get<format::FillStep>(plan.steps[0]);
  CHECK(fill.pattern == 0x3f80);
  CHECK(fill.width == 2);
  CHECK(std::holds_alternative<format::CopyStep>(plan.steps[1]));
}

TEST_CASE("elements are rounded, clamped and cut to their dtype") {
  Context context;
  CHECK(codegen::element_bits(DType::Bool, context.boolean(true)) == 1);
  CHECK(codegen::element_bits(DType::I8, context.integer(-1)) == 0xff);
  CHECK(codegen::element_bits(DType::I64, context.number(1e300)) == uint64_t(INT64_MAX));
  CHECK(codegen::element_bits(DType::F16, context.integer(1)) == 0x3c00);
  CHECK(codegen::fill_pattern(DType::I4, context.integer(3)) ==
        std::pair<uint64_t, uint8_t>(0x33, 1));
}

TEST_CASE("dims keep their meaning as expressions") {
  Context context;
  std::vector<std::string> names = {"B", "S"};
  for (const char* text :
       {"0", "B*S + 1", "((B + 63)//64)", "S - 2*B", "min(B, 3)%S", "-B + 5", "max(B, S)"}) {
    Dim dim = context.dims().parse(text);
    REQUIRE(dim);
    format::Expr expr = codegen::format_dim(dim, names);
    for (int64_t b : {1, 2, 65}) {
      std::vector<int64_t> values = {b, 7};
      int64_t value = 0;
      REQUIRE(format::evaluate(expr, values, value) == format::EvalStatus::Ok);
      auto wanted = evaluate(
          dim, [&](std::string_view name) { return std::optional<int64_t>(name == "B" ? b : 7); });
      CHECK(value == *wanted);
    }
    auto read = format::parse_expr(codegen::dim_text(dim, names), names);
    REQUIRE(read);
    CHECK(*read == expr);
  }
}

TEST_CASE("a dim that no parameter fixes is reported") {
  BundleFixture f;
  Module* module =
      f.parse(module_text("%0: tensor<Q, f32> = host.fill {value = 0}\nhost.return [%0, %0]\n"));
  CHECK(codegen::emit_plan(module->find("f"), "cpu:x86-64-v4", f.diagnostics).failed());
  CHECK(render_all(f.diagnostics, {})
            .find("dimension 'Q' of entry 'f' is not a dimension of a parameter [plan-unbound-dim]") !=
        std::string::npos);
}

TEST_CASE("a dim that is only part of an extent has no plan") {
  BundleFixture f;
  Module* module = f.parse(R"(module @f level(target) version(1) {
  host.func @f(%x: tensor<2*N, f32>) {args = [{kind = "input", name = "x"}], results = [{name = "y"}]} {
    %0: tensor<2*N, f32> = host.copy %x, []
    host.return [%0]
  }
}
)");
  CHECK(codegen::emit_plan(module->find("f"), "cpu:x86-64-v4", f.diagnostics).failed());
  CHECK(render_all(f.diagnostics, {}).find("[plan-refused]") != std::string::npos);
}

TEST_CASE("a bundle is read back with its entry, kernels, schedules and graph") {
  BundleFixture f;
  Module* target = f.parse(module_text(chain));
  Module* graph = f.parse(R"(module @f level(graph) version(1) {
  gir.func @init.b(%s: tensor<u64>) {args = [{kind = "input", name = "seed"}], params = ["net.b"], results = [{name = "b"}], role = "init"} {
    %0: tensor<4, f32> = gir.full {value = 0.5}
    gir.return [%0]
  }
}
)");
  codegen::BundleInput input;
  input.graph = graph;
  input.compiler = "tesserac test";
  input.targets = {{find_machine("cpu:x86-64-v4"), {target}, "object"}};
  auto bytes = codegen::write_bundle(input, f.diagnostics);
  INFO(render_all(f.diagnostics, {}));
  REQUIRE(bytes);
  CHECK(*bytes == *codegen::write_bundle(input, f.diagnostics));

  auto view = format::BundleView::open(*bytes);
  INFO((view ? "" : view.error().text));
  REQUIRE(view);
  const format::Manifest& manifest = view->manifest();
  REQUIRE(manifest.entries.size() == 1);
  const format::ManifestEntry& entry = manifest.entries[0];
  CHECK(entry.dims == std::vector<std::string>{"B", "S"});
  CHECK(entry.inputs.size() == 2);
  CHECK(entry.inputs[1].seed);
  CHECK(entry.params == std::vector<std::string>{"net.b"});
  CHECK(entry.guards.at(0).condition == "S <= 4096");
  CHECK(manifest.params.at(0).policies == std::vector<std::string>{"accum(f32)"});
  CHECK(manifest.params.at(0).initialiser == "init.b");
  auto reflection = format::read_reflection(view->find("reflection.json")->bytes);
  INFO((reflection ? "" : reflection.error().text));
  REQUIRE(reflection);
  const format::KernelMeta& kernel = reflection->kernels.at("cpu:x86-64-v4").at(0);
  CHECK(kernel.name == "f.0");
  CHECK(kernel.tile == std::map<std::string, int64_t>{{"m", 64}, {"stages", 2}});
  CHECK(kernel.epilogue == std::vector<std::string>{"add"});
  CHECK(kernel.grid.size() == 2);
  CHECK(kernel.buffers.size() == 3);
  CHECK(kernel.buffers[2].result);
  CHECK(kernel.alignment == 2);
  CHECK(view->find("kernels/cpu-x86-64-v4/kernels.so")->bytes == "object");
  CHECK(view->find("schedules.json")->bytes.find("\"kernel\": \"matmul\"") != std::string::npos);
  CHECK(view->find("ir/graph.tir")->bytes.substr(0, 9) == "module @f");
  CHECK(format::decode_plan(view->find("plan/f/cpu-x86-64-v4.plan")->bytes));
}

TEST_CASE("an entry that is there twice is refused") {
  BundleFixture f;
  Module* target = f.parse(module_text(chain));
  codegen::BundleInput input;
  input.compiler = "tesserac test";
  input.targets = {{find_machine("cpu:x86-64-v4"), {target, target}, "object"}};
  CHECK(codegen::write_bundle(input, f.diagnostics).failed());
  CHECK(render_all(f.diagnostics, {}).find("is there twice [bundle-refused]") != std::string::npos);
}
