// The schedule level: a kernel is read back as printed, and each rule of ops.def has a text that
// breaks it.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>

#include "ir/schedule/ops.h"
#include "ir/schedule/schedule_keys.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"

using namespace tessera;

namespace {

/// Prints what was read, or renders the diagnostics.
std::string round_trip(const std::string& text) {
  Context context;
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  schedule::register_ops(context);
  auto modules = parse_modules(context, sources.add("test.tir", text), diagnostics);
  if (!modules) return render_all(diagnostics, {});
  std::string out;
  for (auto& module : *modules) out += print(*module, {.locations = false});
  return out;
}

std::string module_of(const std::string& kernel) {
  return "module @k level(schedule) version(1) {\n" + kernel + "}\n";
}

const char* const axes =
    "{axes = [{block = 64, extent = <M>, grid = true, name = \"m\"}, {block = <D>, extent = <D>, "
    "grid = true, "
    "name = \"d\"}, {block = 32, extent = 100, grid = false, name = \"k\"}], outputs = 1, schedule "
    "= {}}";

/// A kernel of x [M, 100] f32 and ids [M] i64 into y [M, D] f32 with `body` inside its grid; %i and
/// %j index the grid.
std::string in_grid(const std::string& body) {
  return module_of(
      "  sched.kernel @k(%x: tensor<M x 100, f32>, %ids: tensor<M, i64>, %y: tensor<M x D, f32>) " +
      std::string(axes) + " {\n    sched.tile {axes = [\"m\", \"d\"]} do(%i: i64, %j: i64) {\n" +
      body + "      sched.yield []\n    }\n    sched.return\n  }\n");
}

void check_reads(const std::string& body) {
  std::string text = in_grid(body);
  CHECK(round_trip(text) == text);
}

void check_breaks(const std::string& body, const std::string& rule) {
  CHECK_THAT(round_trip(in_grid(body)), Catch::Contains(rule));
}

void check_kernel_breaks(const std::string& kernel, const std::string& rule) {
  CHECK_THAT(round_trip(module_of(kernel)), Catch::Contains(rule));
}

}  // namespace

TEST_CASE("every schedule op is read back as printed") {
  check_reads(
      R"(      %v: view<100 x M, f32, strides = [1, 100], offset = 0, space = global> = sched.view %x
      %0: tile<100 x 64, f32> = sched.load %v, [%j, %i] {fill = -inf}
      %1: tile<64 x 32, f32> = sched.load %x, [%i, %j]
      %2: tile<64, i64> = sched.load %ids, [%i]
      %3: tile<64 x 32, f32> = sched.gather %x, %2, %j
      %4: tile<64 x 64, f32> = sched.full {value = 0.0}
      %5: f32 = sched.constant {value = 2.5}
      %6: tile<64 x 32, f32> = sched.splat %5
      %7: i64 = sched.dim {value = <M>}
      %8: tile<64 x 32, i64> = sched.iota {axis = 1}
      %9: tile<64 x 1, f32> = sched.full {value = 1.0}
      %10: tile<64 x 32, f32> = sched.broadcast %9
      %11: tile<64, f32> = sched.reshape %9
      %12: tile<32 x 64, f32> = sched.transpose %6 {perm = [1, 0]}
      %13: tile<64, f32> = sched.reduce %6 {axis = 1, kind = "max"}
      %14: tile<64 x 64, f32> = sched.pipeline [%4], [] {axis = "k", count = 4, stages = 3} do(%k: i64, %acc: tile<64 x 64, f32>) {
        %15: tile<64 x 64, f32> = sched.dot %3, %12, %acc
        sched.yield [%15]
      }
      %16: tile<64 x 64, f32> = sched.hook %14 {name = "epilogue"}
      %17: tile<64 x D, f32> = sched.full {value = 0.0}
      sched.store %17, %y, [%i, %j]
)");
}

TEST_CASE("a kernel states its axes, outputs and schedule") {
  const std::string head = "  sched.kernel @k(%y: tensor<M, f32>) ";
  const std::string body =
      " {\n    sched.tile {axes = [\"m\"]} do(%i: i64) {\n      sched.yield []\n    }\n    "
      "sched.return\n  }\n";
  auto kernel = [&](const std::string& axis, const std::string& rest) {
    return head + "{axes = [" + axis + "], outputs = " + rest + "}" + body;
  };
  const std::string m = "{block = 64, extent = <M>, grid = true, name = \"m\"}";
  std::string good =
      module_of(kernel(m, "1, schedule = {block = {m = 64}, stages = 3, swizzle = \"xor\"}"));
  CHECK(round_trip(good) == good);
  check_kernel_breaks(kernel("{block = 64, extent = <M>, name = \"m\"}", "1, schedule = {}"),
                      "an axis has name, extent, block and grid");
  check_kernel_breaks(kernel(m + ", " + m, "1, schedule = {}"), "axis 'm' is declared twice");
  check_kernel_breaks(
      kernel("{block = 0, extent = <M>, grid = true, name = \"m\"}", "1, schedule = {}"),
      "neither a constant from 1 up nor the whole extent");
  check_kernel_breaks(
      kernel("{block = <2*M>, extent = <M>, grid = true, name = \"m\"}", "1, schedule = {}"),
      "neither a constant from 1 up nor the whole extent");
  check_kernel_breaks(kernel(m, "2, schedule = {}"), "cannot have 2 outputs");
  check_kernel_breaks(kernel(m, "0, schedule = {}"), "cannot have 0 outputs");
  check_kernel_breaks(kernel(m, "1, schedule = {stage = 3}"), "'stage' is not a key of a schedule");
  check_kernel_breaks(kernel(m, "1, schedule = {stages = true}"),
                      "schedule key 'stages' takes a number, not true");
  check_kernel_breaks(kernel(m, "1, schedule = {stages = 9}"),
                      "schedule key 'stages' is 9, outside 1 to 8");
  check_kernel_breaks(
      kernel("{block = <N>, extent = <N>, grid = true, name = \"m\"}", "1, schedule = {}"),
      "symbol 'N' occurs in no parameter's type");
  check_kernel_breaks(kernel(m, "1, assume = [{left = <M>, relation = \"<=\", right = <N>}], schedule = {}"),
                      "symbol 'N' occurs in no parameter's type");
  check_kernel_breaks(head + "{axes = [], outputs = 1, schedule = {}} {\n    sched.return\n  }\n",
                      "it has 0 sched.tile, not 1");
}

TEST_CASE("regions of the schedule level give what their ops state") {
  check_kernel_breaks(
      "  sched.kernel @k(%y: tensor<M, f32>) {axes = [], outputs = 1, schedule = {}} {\n"
      "    sched.tile {axes = [\"m\"]} do(%i: i64) {\n      sched.yield []\n    }\n    "
      "sched.return\n  }\n",
      "its axes must be the kernel's grid axes");
  check_kernel_breaks(
      "  sched.kernel @k(%y: tensor<M, f32>) {axes = [], outputs = 1, schedule = {}} {\n"
      "    sched.tile {axes = []} do(%i: i64) {\n      sched.yield []\n    }\n    sched.return\n  "
      "}\n",
      "its region has 1 arguments, not 0");
  check_breaks("      sched.tile {axes = []} do {\n        sched.yield []\n      }\n",
               "it stands in no sched.kernel");
  check_breaks(
      "      sched.pipeline [], [] {count = -1} do(%k: i64) {\n        sched.yield []\n      }\n",
      "its count is negative");
  check_breaks(
      "      sched.pipeline [], [] {count = 1, stages = 0} do(%k: i64) {\n        sched.yield []\n     "
      " }\n",
      "its stages are fewer than 1");
  check_breaks(
      "      sched.pipeline [], [] {axis = \"m\", count = 1} do(%k: i64) {\n        sched.yield []\n   "
      "   }\n",
      "'m' is not a loop axis of its kernel");
  check_breaks(
      "      sched.pipeline [], [] {count = <N>} do(%k: i64) {\n        sched.yield []\n      }\n",
      "symbol 'N' occurs in no parameter's type");
  check_breaks("      sched.pipeline [], [] {count = 1} do {\n        sched.yield []\n      }\n",
               "its region has 0 arguments, not 1");
  check_breaks(
      "      sched.pipeline [], [] {count = 1} do(%k: f32) {\n        sched.yield []\n      }\n",
      "argument 0 is not an i64 index");
  check_breaks(
      "      sched.pipeline [], [] {count = 1} do(%k: i64) {\n        sched.yield [%k]\n      }\n",
      "its region yields 1 values, not 0");
  check_breaks(
      "      %0: f32 = sched.constant {value = 0.0}\n"
      "      %1: i64 = sched.pipeline [%0], [] {count = 1} do(%k: i64, %c: i64) {\n        sched.yield "
      "[%c]\n      }\n",
      "initial value 0 is f32, not i64");
  check_breaks(
      "      %0: f32 = sched.constant {value = 0.0}\n"
      "      %1: f32 = sched.pipeline [%0], [] {count = 1} do(%k: i64, %c: f32) {\n        sched.yield "
      "[%k]\n      }\n",
      "value 0 that its region yields is i64, not f32");
  check_breaks(
      "      %0: f32 = sched.pipeline [], [] {count = 1} do(%k: i64) {\n        sched.yield [%k]\n     "
      " }\n",
      "it starts with 0 values and gives 1");
}

TEST_CASE("memory ops of the schedule level keep their rules") {
  check_breaks(
      "      %v: view<100, f32, strides = [1], offset = 0, space = shared> = sched.view %x\n",
      "a window on a parameter is in global memory");
  check_breaks(
      "      %v: view<100, i32, strides = [1], offset = 0, space = global> = sched.view %x\n",
      "it converts f32 to i32");
  check_breaks("      %0: tile<64, f32> = sched.load %x, [%i]\n", "do not fit together");
  check_breaks("      %0: tile<64 x 32, bf16> = sched.load %x, [%i, %j]\n",
               "it converts f32 to bf16");
  check_breaks("      %0: tile<64 x M, f32> = sched.load %x, [%i, %j]\n",
               "extent M of axis 1 is neither a constant from 1 up nor the whole axis");
  check_breaks("      %0: tile<64 x 0, f32> = sched.load %x, [%i, %j]\n",
               "extent 0 of axis 1 is neither");
  check_breaks(
      "      %0: tile<64, f32> = sched.full {value = 0.0}\n      sched.store %0, %y, [%i, %j]\n",
      "do not fit together");
  check_breaks(
      "      %0: tile<64, f32> = sched.full {value = 0.0}\n"
      "      %1: tile<64 x 32, f32> = sched.gather %x, %0, %j\n",
      "row numbers are f32, which is not an integer");
  check_breaks(
      "      %0: tile<64, i64> = sched.full {value = 0}\n"
      "      %1: tile<32 x 32, f32> = sched.gather %x, %0, %j\n",
      "it gives 32 rows for 64 row numbers");
  check_breaks(
      "      %0: tile<64 x 1, i64> = sched.full {value = 0}\n"
      "      %1: tile<64 x 32, f32> = sched.gather %x, %0, %j\n",
      "rows of rank 1");
}

TEST_CASE("a window on a parameter of known size stays inside it") {
  auto kernel = [](const std::string& view) {
    return "  sched.kernel @k(%x: tensor<4 x 8, f32>) {axes = [], outputs = 1, schedule = {}} {\n"
           "    sched.tile {axes = []} do {\n      %v: " +
           view +
           " = sched.view %x\n      sched.yield []\n    }\n"
           "    sched.return\n  }\n";
  };
  std::string good =
      module_of(kernel("view<8 x 4, f32, strides = [1, 8], offset = 0, space = global>"));
  CHECK(round_trip(good) == good);
  std::string reversed =
      module_of(kernel("view<32, f32, strides = [-1], offset = 31, space = global>"));
  CHECK(round_trip(reversed) == reversed);
  check_kernel_breaks(kernel("view<8 x 4, f32, strides = [1, 8], offset = 1, space = global>"),
                      "it reaches elements 1 to 32 of memory that has 32");
  check_kernel_breaks(kernel("view<2, f32, strides = [-1], offset = 0, space = global>"),
                      "it reaches elements -1 to 0 of memory that has 32");
}

TEST_CASE("ops on tiles keep their rules") {
  const std::string t = "      %t: tile<64 x 32, f32> = sched.full {value = 0.0}\n";
  check_breaks("      %0: tile<4, i8> = sched.full {value = 128}\n", "128 is not a value of i8");
  check_breaks("      %0: tile<4, u8> = sched.full {value = -1}\n", "-1 is not a value of u8");
  check_breaks("      %0: tile<4, i32> = sched.full {value = 0.5}\n", "0.5 is not a value of i32");
  check_breaks("      %0: i32 = sched.constant {value = nan}\n", "nan is not a value of i32");
  check_breaks("      %0: i64 = sched.constant {value = 9.3e18}\n", "is not a value of i64");
  check_breaks("      %0: tile<4, f32> = sched.splat %i\n", "it converts i64 to f32");
  check_breaks("      %0: tile<4, i64> = sched.iota {axis = 1}\n",
               "axis 1 is outside a tile of rank 1");
  check_breaks("      %0: tile<4, f32> = sched.iota {axis = 0}\n",
               "coordinates are integers, not f32");
  check_breaks(t + "      %0: tile<64 x 64, f32> = sched.broadcast %t\n", "does not broadcast to");
  check_breaks(t + "      %0: tile<32 x 64, f32> = sched.reshape %t\n",
               "differ in more than extents of 1");
  check_breaks(t + "      %0: tile<64 x 32, f32> = sched.transpose %t {perm = [1, 0]}\n",
               "axis 0 of the result is 64, not 32");
  check_breaks(t + "      %0: tile<64 x 32, f32> = sched.transpose %t {perm = [0, 0]}\n",
               "perm is not a permutation");
  check_breaks(t + "      %0: tile<64 x 32, f32>, %1: tile<64, f32> = sched.scan %t {axis = 1, kind = \"sum\"}\n",
               "tile<64, f32> is not the total of tile<64 x 32, f32>");
  check_breaks(t + "      %0: tile<64 x 32, f32>, %1: tile<64 x 1, f32> = sched.scan %t {axis = 1, kind = \"mean\"}\n",
               "'mean' is not a kind of reduction");
  check_breaks(t + "      %0: tile<64, f32> = sched.reduce %t {axis = 1, kind = \"mean\"}\n",
               "'mean' is not a kind of reduction");
  check_breaks(t + "      %0: tile<64, f32> = sched.reduce %t {axis = 2, kind = \"sum\"}\n",
               "axis 2 is outside a tile of rank 2");
  check_breaks(t + "      %0: tile<32, f32> = sched.reduce %t {axis = 1, kind = \"sum\"}\n",
               "without that axis is not");
  check_breaks(t + "      %n: i64 = sched.dim {value = 5}\n      %0: tile<64 x 32, f32> = sched.within %t, [%n]\n",
               "there are 1 limits for rank 2");
  check_breaks(t + "      %0: tile<32, f32> = sched.hook %t {name = \"epilogue\"}\n",
               "result 0 must be");
}

TEST_CASE("dots agree in extents and dtypes") {
  auto dot = [](const std::string& b, const std::string& c) {
    return "      %a: tile<64 x 32, bf16> = sched.full {value = 0.0}\n      %b: tile<" + b +
           "> = sched.full {value = 0}\n      %c: tile<" + c +
           "> = sched.full {value = 0}\n      %d: tile<" + c + "> = sched.dot %a, %b, %c\n";
  };
  check_breaks(dot("64 x 16, bf16", "64 x 16, f32"),
               "[64, 32] x [64, 16] does not give [64, 16]");
  check_breaks(dot("32 x 16, f16", "64 x 16, f32"),
               "its operands differ in dtype: bf16 and f16");
  check_breaks(dot("32 x 16, bf16", "64 x 16, i32"),
               "a dot of bf16 cannot accumulate in i32");
  check_breaks(dot("32 x 16, bf16", "64 x 16, f8e4m3"),
               "a dot of bf16 cannot accumulate in f8e4m3");
  check_breaks(dot("32, bf16", "64 x 16, f32"), "its operands must have rank 2");
}

TEST_CASE("every row of schedule_keys.def has a value that fits and one that does not") {
  Context context;
  auto good = [&](const schedule::ScheduleKey& key) -> Attr {
    Attr low = context.integer(key.low);
    switch (key.kind) {
      case schedule::ScheduleValueKind::Int:
        return low;
      case schedule::ScheduleValueKind::Ints:
        return context.array({low, low});
      case schedule::ScheduleValueKind::Bool:
        return context.boolean(true);
      case schedule::ScheduleValueKind::Word:
        return context.string(key.choices.back());
      case schedule::ScheduleValueKind::Axes:
        return context.dict({{"m", low}});
      case schedule::ScheduleValueKind::Roles:
        return context.dict({{"load", low}});
    }
    return nullptr;
  };
  for (const schedule::ScheduleKey& key : schedule::schedule_keys()) {
    INFO(key.name);
    CHECK_FALSE(schedule::check_schedule_value(key.name, good(key)));
    CHECK(schedule::check_schedule_value(key.name, context.number(0.5)));
  }
}

TEST_CASE("a wrong schedule entry is described") {
  Context context;
  auto said = [&](std::string_view key, Attr value) {
    auto problem = schedule::check_schedule_value(key, value);
    return problem ? schedule::to_string(*problem) : std::string();
  };
  CHECK(said("order", context.string("column")) ==
        "schedule key 'order' takes one of rows, columns, grouped, not \"column\"");
  CHECK(
      said("roles", context.dict({{"lode", context.integer(1)}})) ==
      "schedule key 'roles' takes a number for each of load, mma, store, softmax, not {lode = 1}");
  CHECK(said("block", context.integers({128, 0})) ==
        "schedule key 'block' is 0, outside 1 to 65536");
  auto unknown = schedule::check_schedule_value("blocks", context.integer(1));
  REQUIRE(unknown);
  CHECK(unknown->expected == "block");
}

TEST_CASE("places of keys in IR text are checked before they are used") {
  auto place_of = [](const std::string& place) {
    Context context;
    SourceManager sources;
    DiagnosticEngine diagnostics(sources);
    schedule::register_ops(context);
    std::string text = module_of(
        "  sched.kernel @k(%x: tensor<M, f32>) {axes = [{block = 64, extent = <M>, grid = true, name = \"m\"}], "
        "key_places = {stages = " + place + "}, outputs = 1, schedule = {stages = 2}} {\n"
        "    sched.tile {axes = [\"m\"]} do(%i: i64) {\n      sched.yield []\n    }\n    sched.return\n  }\n");
    auto modules = parse_modules(context, sources.add("test.tir", text), diagnostics);
    REQUIRE(modules);
    Op* kernel = (*modules)[0]->find("k");
    Loc found = schedule::place_of_key(kernel, "stages");
    return found == kernel->loc() ? "the kernel" : fmt::format("{}:{}:{}", found.line, found.column, found.length);
  };
  CHECK(place_of("[1, 33, 6]") == "1:33:6");
  CHECK(place_of("[-1, 2, 3]") == "the kernel");
  CHECK(place_of("[1, 0, 3]") == "the kernel");
  CHECK(place_of("[4294967297, 2, 3]") == "the kernel");
  CHECK(place_of("[1, 2]") == "the kernel");
}

TEST_CASE("the nearest value of a role is a multiple within the bounds") {
  Context context;
  const std::map<int64_t, std::string> nearest_of = {{1, "24"}, {47, "48"}, {239, "240"}, {999, "240"}};
  for (const auto& [given, nearest] : nearest_of) {
    auto problem = schedule::check_schedule_value("registers", context.dict({{"load", context.integer(given)}}));
    REQUIRE(problem);
    CHECK(problem->nearest == nearest);
    CHECK_THAT(schedule::to_string(*problem), Catch::Contains(fmt::format("is {} for 'load', outside", given)));
  }
}
