// Which buffers of shared memory get the same bytes, and what happens to those that must not.

#include <catch2/catch.hpp>

#include "ir/core/common_attributes.h"
#include "ir/tile/eval.h"
#include "passes/pass.h"
#include "unit/ir/text_fixture.h"

using namespace tessera;

namespace {

const std::string rows = "#blocked<16 x 32, vector = 4, warps = 2>";
const std::string columns = "#blocked<16 x 32, vector = 4, warps = 2, order = [0, 1]>";

std::string memory(const std::string& order) {
  return "view<16 x 32, f32, strides = [32, 1], offset = 0, space = shared, #shared<16 x 32, bytes = 4" + order +
         ">> = tile.alloc_shared\n";
}

std::string tile_of(const std::string& layout) { return ": tile<16 x 32, f32, " + layout + "> = "; }

/// x goes through buffer a, then through buffer b, to y, as other threads hold it in between. Elements lie in other
/// places in b; `between` stands before it is first used.
std::string two_buffers(const std::string& between) {
  return "module @m level(tile) version(1) {properties = [\"layouts-assigned\", \"barriers-inserted\"]} {\ntile.kernel "
         "@k(%x: tensor<16 x 32, f32>, %y: tensor<16 x 32, f32>) {grid = [1], outputs = 1, schedule = {}, threads = "
         "64} {\n"
         "%0: i64 = tile.constant {value = 0}\n%a: " +
         memory("") + "%b: " + memory(", order = [0, 1]") + "%v" + tile_of(rows) +
         "tile.load %x, [%0, %0], []\ntile.store %v, %a, [%0, %0], []\ntile.barrier\n"
         "%w" +
         tile_of(columns) + "tile.load %a, [%0, %0], []\n" + between + "%d" + tile_of(columns) +
         "tile.add %w, %w\ntile.store %d, %b, [%0, %0], []\ntile.barrier\n"
         "%r" +
         tile_of(rows) + "tile.load %b, [%0, %0], []\ntile.store %r, %y, [%0, %0], []\ntile.return\n}\n}\n";
}

struct Allocated {
  TextFixture f;
  std::vector<std::unique_ptr<Module>> modules;
  std::vector<Op*> buffers;
  Op* kernel = nullptr;

  explicit Allocated(const std::string& text) {
    auto read = parse_modules(f.context, f.sources.add("k.tir", text), f.diagnostics);
    INFO(text << render_all(f.diagnostics, {}));
    REQUIRE(read);
    modules = std::move(*read);
    kernel = modules[0]->body()->front();
    PassContext context{f.diagnostics, find_machine("cuda:sm_80"), nullptr, "", {}};
    REQUIRE(allocate_shared(*modules[0], context));
    walk(kernel, [&](Op* op) {
      if (op->is(tile::info(tile::OpKind::AllocShared))) buffers.push_back(op);
    });
  }
  int64_t offset(size_t i) const { return buffers[i]->required(tile::attr::AllocShared::offset); }
  bool share() const { return offset(0) == offset(1); }
  int64_t total() const { return kernel->required(common::Kernel::shared); }
  /// Whether the interpreter finds the doubled values, and no access that nothing orders.
  bool runs() {
    TensorValue x = *TensorValue::make(DType::F32, {16, 32}), y = *TensorValue::make(DType::F32, {16, 32});
    for (int64_t i = 0; i < x.count(); ++i) x.set(i, {.f = double(i)});
    TensorValue* parameters[] = {&x, &y};
    if (tile::run_kernel(kernel, parameters, {}, f.diagnostics, {.async_proxy = false}).failed()) return false;
    for (int64_t i = 0; i < x.count(); ++i) {
      if (y.get(i).f != 2 * double(i)) return false;
    }
    return true;
  }
};

}  // namespace

TEST_CASE("buffers share bytes where a barrier stands between their uses") {
  Allocated shared(two_buffers("tile.barrier\n"));
  CHECK(shared.share());
  CHECK(shared.total() == 16 * 32 * 4);
  CHECK(shared.runs());
}

TEST_CASE("buffers without a barrier between have bytes of their own, and need them") {
  Allocated apart(two_buffers(""));
  CHECK(!apart.share());
  CHECK(apart.total() == 2 * 16 * 32 * 4);
  CHECK(apart.runs());
  apart.buffers[1]->set(tile::attr::AllocShared::offset, apart.offset(0));
  CHECK(!apart.runs());
}

TEST_CASE("a buffer that is used again keeps its bytes") {
  std::string text = two_buffers("tile.barrier\n");
  std::string last = "tile.store %r, %y";
  text.replace(text.find(last), last.size(),
               "%s" + tile_of(rows) + "tile.load %a, [%0, %0], []\n%t" + tile_of(rows) + "tile.sub %r, %s\n%u" +
                   tile_of(rows) + "tile.add %t, %s\ntile.store %u, %y");
  Allocated kept(text);
  CHECK(!kept.share());
  CHECK(kept.runs());
}

TEST_CASE("iterations of a loop that end with a barrier give their buffer away after the loop") {
  auto in_loop = [](const std::string& end) {
    std::string text = two_buffers("");
    std::string first = "%v" + tile_of(rows), second = "%d" + tile_of(columns);
    size_t from = text.find(first), to = text.find(second);
    std::string body = text.substr(from, to - from);
    std::string carried = "tile<16 x 32, f32, " + columns + ">";
    std::string loop = "%1: i64 = tile.constant {value = 1}\n%z: " + carried + " = tile.full {value = 0.0}\n%3: " +
                       carried + " = tile.for %0, %1, %1, [%z] do(%i: i64, %c: " + carried + ") {\n" + body + end +
                       "tile.yield [%w]\n}\n";
    text.replace(from, to - from, loop);
    return replace_all(text, "tile.add %w, %w", "tile.add %3, %3");
  };
  Allocated shared(in_loop("tile.barrier\n"));
  CHECK(shared.share());
  CHECK(shared.runs());
  Allocated apart(in_loop(""));
  CHECK(!apart.share());
  CHECK(apart.runs());
}
