// Schedules as values, and the tables they are looked up in.

#include <catch2/catch.hpp>

#include "frontend/values/embedded.h"
#include "ir/core/common_attributes.h"
#include "ir/numbers/machine.h"
#include "ir/schedule/schedule_keys.h"
#include "support/file.h"
#include "unit/kernel/fixture.h"

using namespace tessera;
using namespace tessera::frontend;

namespace {

/// The schedule of a kernel with the axes m, n and k that is decorated with `decorator`, or what is
/// said.
std::string schedule_of(const std::string& decorator, const std::string& before = "") {
  KernelFixture fixture;
  std::string text = fixture.build_source(before + decorator + R"(
def f(a: Tensor[M, K, f32], b: Tensor[K, N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N, k=K)
    acc = tile.zeros((t.m, t.n), f32)
    for k in tile.range(K, t.k):
        acc = tile.dot(tile.load(a, (t.i, k), (t.m, t.k)), tile.load(b, (k, t.j), (t.k, t.n)), acc)
    return acc
)");
  Op* kernel = fixture.module.find("f");
  return kernel ? std::string(kernel->node(common::Kernel::schedule)->text) : text;
}

std::string table_error(const std::string& text) {
  Context context;
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  auto table = ScheduleTable::read(context, "t.json", text, diagnostics);
  return table ? "" : diagnostics.all().at(0).message;
}

}  // namespace

TEST_CASE("a schedule states extents by position, by axis and by tunable") {
  CHECK(schedule_of("@kernel.schedule(Schedule(block=(64, 32, 16), stages=3))") ==
        "{block = {k = 16, m = 64, n = 32}, stages = 3}");
  CHECK(schedule_of("@kernel.schedule(Schedule(block=(64, 32)))") == "{block = {m = 64, n = 32}}");
  CHECK(schedule_of("@kernel.schedule(Schedule(block=dict(k=8, m=4)))") ==
        "{block = {k = 8, m = 4}}");
  CHECK(schedule_of("@kernel.schedule(Schedule(BN=8))") == "{block = {n = 8}}");
}

TEST_CASE("members of a schedule replace one key each") {
  const std::string base = "base = Schedule(block=(128, 128), warps=8, stages=3)\n";
  CHECK(schedule_of("@kernel.schedule(base.with_block(64, 64, 64))", base) ==
        "{block = {k = 64, m = 64, n = 64}, stages = 3, warps = 8}");
  CHECK(schedule_of("@kernel.schedule(base.with_warps(4))", base) ==
        "{block = {m = 128, n = 128}, stages = 3, warps = 4}");
  CHECK(schedule_of("@kernel.schedule(base.with_stages(2).cluster(2, 1))", base) ==
        "{block = {m = 128, n = 128}, cluster = [2, 1], stages = 2, warps = 8}");
}

TEST_CASE("chains and lists of choices are schedules; the first choice is taken") {
  const std::string chain =
      "c = block(64, 128).k(32).warps(8).stages(3).vector(8).swizzle(\"xor\")\n";
  CHECK(
      schedule_of("@kernel.schedule(c)", chain) ==
      "{block = {k = 32, m = 64, n = 128}, stages = 3, swizzle = \"xor\", vector = 8, warps = 8}");
  const std::string choices =
      "c = block(m=[64,128], n=[32,64], k=[16]).warps([4,8]).stages([2,3])\n";
  CHECK(schedule_of("@kernel.schedule(c)", choices) ==
        "{block = {k = 16, m = 64, n = 32}, stages = 2, warps = 4}");
  CHECK(
      schedule_of(
          "@kernel.autotune(space=dict(BM=[64,128], BN=[32], stages=[3,4]), metric=\"latency_ms\", "
          "budget_ms=180, cache=\"~/.sched\")") == "{block = {m = 64, n = 32}, stages = 3}");
}

TEST_CASE("later decorators override earlier ones key by key") {
  CHECK(schedule_of("@kernel.schedule(Schedule(block=(8, 8, 8), stages=2))\n"
                    "@kernel.autotune(space=dict(BM=[64], stages=[3]))") ==
        "{block = {k = 8, m = 64, n = 8}, stages = 3}");
}

TEST_CASE("every table that is shipped reads, and names kernels and axes that exist") {
  for (const Machine* machine : all_machines()) {
    std::string path = "schedules/" + machine->path_name() + ".json";
    INFO(path);
    auto text = embedded_file(path);
    REQUIRE(text);
    KernelFixture fixture;
    auto table = ScheduleTable::read(fixture.context, path, *text, fixture.diagnostics);
    INFO(render_all(fixture.diagnostics, {}));
    REQUIRE(table);
    CHECK(table->target() == machine->name);
    for (const auto& [kernel, rows] : table->kernels()) {
      INFO(kernel);
      size_t dot = kernel.rfind('.');
      REQUIRE(dot != std::string::npos);
      SourceModule* library = fixture.session.load_library(kernel.substr(0, dot));
      REQUIRE(library);
      Binding* binding = library->scope->find_here(kernel.substr(dot + 1));
      REQUIRE(binding);
      REQUIRE(binding->value.is(DatumKind::Function));
      CHECK(binding->value.as_function().kind == FunctionKind::Kernel);
    }
  }
}

TEST_CASE("rows of a table are those of the library's kernel, not of a program's own of that name") {
  const std::string machine = "cpu:x86-64-v3";
  auto schedule_for = [&](KernelFixture& fixture) {
    fixture.request.machine = machine;
    fixture.build();
    Op* kernel = fixture.module.find("k");
    return kernel ? std::string(kernel->node(common::Kernel::schedule)->text)
                  : render_all(fixture.diagnostics, {});
  };
  KernelFixture library;
  library.ask("matmul", {"tensor<64 x 64, f32>", "tensor<64 x 64, f32>"});
  CHECK_THAT(schedule_for(library), Catch::Contains("packing"));
  KernelFixture own;
  SourceModule* source = own.session.load_file(own.sources.add("test.tsr", R"(
@kernel
def matmul(x: Tensor[64, 64, f32]) -> Tensor[64, 64, f32]:
    t = tile.context(m=64, n=64)
    return tile.load(x, (t.i, t.j), (t.m, t.n)) * 2.0
)"));
  own.request = own.kernels.own_kernels(*source, machine).at(0);
  own.request.symbol = "k";
  CHECK(schedule_for(own) == "{}");
}

TEST_CASE("the rows that may decide are those up to the first that holds for all sizes") {
  Context context;
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  auto table =
      ScheduleTable::read(context, "t.json", R"({"format": 1, "target": "t", "kernels": {"f": [
      {"when": ["m <= 16"], "schedule": {"stages": 1}},
      {"dtypes": {"T": ["f32"]}, "schedule": {"stages": 2}},
      {"schedule": {"stages": 3}}]}})",
                          diagnostics);
  REQUIRE(table);
  // As "conditions: stages", from the first choice to the last.
  auto choices = [&](Dim m, DType dtype) {
    ScheduleQuery query{
        "f", {{"T", dtype}}, [&](const std::string& axis) { return axis == "m" ? m : nullptr; }};
    std::vector<std::string> texts;
    for (const ScheduleTable::Choice& choice : table->find(context.dims(), query)) {
      std::string text;
      for (const DimFact& fact : choice.when) text += fact.text() + ": ";
      texts.push_back(text + (choice.row ? choice.row->schedule.at("stages")->text : "none"));
    }
    return texts;
  };
  using Texts = std::vector<std::string>;
  Dim symbol = context.dims().symbol("M");
  CHECK(choices(context.dims().constant(16), DType::F32) == Texts{"1"});
  CHECK(choices(context.dims().constant(17), DType::F32) == Texts{"2"});
  CHECK(choices(symbol, DType::F32) == Texts{"M <= 16: 1", "2"});
  CHECK(choices(symbol, DType::BF16) == Texts{"M <= 16: 1", "3"});
}

TEST_CASE("a row with roles is followed by others, and no row by no schedule") {
  Context context;
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  auto table =
      ScheduleTable::read(context, "t.json", R"({"format": 1, "target": "t", "kernels": {
      "f": [{"schedule": {"roles": {"load": 1}}}, {"schedule": {"stages": 2}}, {"schedule": {"stages": 3}}],
      "g": [{"when": ["m > 4"], "schedule": {"stages": 1}}]}})",
                          diagnostics);
  REQUIRE(table);
  auto choices = [&](const std::string& kernel, Dim m) {
    return table->find(context.dims(), {kernel, {}, [&](const std::string&) { return m; }});
  };
  auto of_f = choices("f", context.dims().symbol("M"));
  REQUIRE(of_f.size() == 2);
  CHECK(of_f[0].row->schedule.contains("roles"));
  CHECK(of_f[1].row->schedule.at("stages")->integer == 2);
  auto of_g = choices("g", context.dims().symbol("M"));
  REQUIRE(of_g.size() == 2);
  CHECK(of_g[0].when.size() == 1);
  CHECK(of_g[1].row == nullptr);
  CHECK(choices("g", context.dims().constant(3)).size() == 1);
}

TEST_CASE("a damaged table is described") {
  auto row = [](const std::string& text) {
    return R"({"format": 1, "target": "t", "kernels": {"f": [)" + text + "]}}";
  };
  CHECK(table_error("{") == "'t.json' is not a table of schedules: the file: it is not JSON");
  CHECK_THAT(table_error("[]"), Catch::Contains("it has format, target and kernels"));
  CHECK_THAT(table_error(R"({"format": 2})"), Catch::Contains("only format 1 is known"));
  CHECK_THAT(table_error(R"({"format": 1, "target": 3, "kernels": {}})"),
             Catch::Contains("target: it is not a string"));
  CHECK_THAT(table_error(R"({"format": 1, "target": "t", "kernels": []})"),
             Catch::Contains("kernels: it is not an object"));
  CHECK_THAT(table_error(row("3")),
             Catch::Contains("row 1 of 'f': a row has dtypes, when and schedule"));
  CHECK_THAT(table_error(row(R"({"when": ["m < "], "schedule": {}})")),
             Catch::Contains("is not a condition"));
  CHECK_THAT(table_error(row(R"({"when": ["m <= 99999999999999999999"], "schedule": {}})")),
             Catch::Contains("is not a condition"));
  CHECK_THAT(table_error(row(R"({"dtypes": {"T": ["f33"]}, "schedule": {}})")),
             Catch::Contains("\"f33\" is not a dtype"));
  CHECK_THAT(table_error(row(R"({"schedule": {"stage": 1}})")),
             Catch::Contains("'stage' is not a key of a schedule"));
  CHECK_THAT(table_error(row(R"({"schedule": {"stages": 0}})")), Catch::Contains("outside 1 to 8"));
  CHECK_THAT(table_error(row(R"({"schedule": {"block": {"m": 0.5}}})")),
             Catch::Contains("not a value of a schedule"));
}

TEST_CASE("docs/schedules.md has the table of schedule_keys.def") {
  std::string text, error;
  REQUIRE(read_file(TESSERA_SOURCE_DIR "/docs/schedules.md", text, error));
  for (const schedule::ScheduleKey& key : schedule::schedule_keys()) {
    bool ranged = key.high != 0;
    auto name = [](schedule::ScheduleReaders readers) {
      constexpr std::string_view names[] = {"all targets", "CPUs", "GPUs", "`cuda:sm_90a`", "nobody yet"};
      return names[size_t(readers)];
    };
    std::string row = fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", key.name, expected_value(key),
                                  ranged ? fmt::format("{} to {}", key.low, key.high) : "", name(key.machines),
                                  name(key.readers), key.summary);
    INFO(row);
    CHECK(text.find(row) != std::string::npos);
  }
}
