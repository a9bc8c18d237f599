// tile.convert_layout: what goes by shuffles is computed thread by thread, what goes through shared memory is shown to
// the interpreter.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <numeric>

#include "ir/layout/conversion.h"
#include "ir/layout/exchange.h"
#include "ir/layout/families.h"
#include "ir/layout/text.h"
#include "ir/text/verifier.h"
#include "ir/tile/eval.h"
#include "passes/pass.h"
#include "unit/ir/text_fixture.h"
#include "unit/passes/target_eval.h"

using namespace tessera;
using layout::ConversionKind;
using layout::Layout;
using test::TargetEval;

namespace {

using Extents = std::vector<int32_t>;

struct TileModule {
  TextFixture f;
  std::vector<std::unique_ptr<Module>> modules;

  explicit TileModule(const std::string& kernel) {
    FileId file = f.sources.add("k.tir", "module @m level(tile) version(1) {\n" + kernel + "\n}\n");
    auto read = parse_modules(f.context, file, f.diagnostics);
    INFO(kernel << render_all(f.diagnostics, {}));
    REQUIRE(read);
    modules = std::move(*read);
  }
  Op* kernel() { return modules[0]->body()->front(); }
  void apply(Status (*pass)(Module&, PassContext&), std::string_view machine) {
    PassContext context{f.diagnostics, find_machine(machine), nullptr, "", {}};
    bool applied = bool(pass(*modules[0], context)) && bool(verify(*modules[0], f.diagnostics));
    INFO(render_all(f.diagnostics, {}));
    REQUIRE(applied);
  }
  size_t count(tile::OpKind kind) {
    size_t found = 0;
    walk(kernel(), [&](Op* op) { found += op->is(tile::info(kind)); });
    return found;
  }
};

/// Copies a tensor, one warp holding it first as `from`, then as `to`.
void check_copies(const Layout& from, const Layout& to, const std::string& dtype) {
  std::string extents, zeros;
  for (int axis = 0; axis < from.rank(); ++axis) {
    extents += (axis ? " x " : "") + std::to_string(from.extent(axis));
    zeros += axis ? ", %0" : "%0";
  }
  std::string tensor = "tensor<" + extents + ", " + dtype + ">", tile = "tile<" + extents + ", " + dtype + ", ";
  TileModule copy("tile.kernel @k(%x: " + tensor + ", %y: " + tensor + ") {grid = [1], outputs = 1, schedule = {}, " +
                  "shared = 0, threads = 32} {\n%0: i64 = tile.constant {value = 0}\n%a: " + tile + print(from) +
                  "> = tile.load %x, [" + zeros + "], []\n%b: " + tile + print(to) +
                  "> = tile.convert_layout %a\ntile.store %b, %y, [" + zeros + "], []\ntile.return\n}");
  copy.apply(tile_to_nv, "cuda:sm_90a");
  copy.apply(expand_math, "cuda:sm_90a");
  DType type = *parse_dtype(dtype);
  std::vector<uint8_t> x(size_t(from.element_count()) * byte_size(type)), y(x.size(), 0xee);
  for (size_t i = 0; i < x.size(); ++i) x[i] = type == DType::Bool ? i % 3 == 0 : uint8_t(i * 37 + i / 256);
  if (is_float(type)) {
    for (size_t i = 0; i < size_t(from.element_count()); ++i) {
      store_element(type, {.f = double(i) - 7}, &x[i * byte_size(type)]);
    }
  }
  TargetEval::run_warp(copy.kernel(), {&x, &y});
  INFO(print(from) << " to " << print(to) << ", " << dtype);
  CHECK(x == y);
}

}  // namespace

TEST_CASE("a warp exchanges the elements of a tile by shuffles") {
  std::vector<Layout> layouts;
  for (int vector : {1, 2, 4}) {
    layouts.push_back(*layout::blocked(Extents{16, 8}, vector, 32, 1));
    int order[] = {0, 1};
    layouts.push_back(*layout::blocked(Extents{16, 8}, vector, 32, 1, order));
  }
  layouts.push_back(*layout::mma_accumulator(16, 8, 1, 1));
  layouts.push_back(*layout::mma_operand_b(16, 8, 1, 1));
  int by_shuffles = 0;
  for (const Layout& from : layouts) {
    for (const Layout& to : layouts) {
      by_shuffles += layout::plan_conversion(from, to).kind == ConversionKind::Shuffles;
      check_copies(from, to, "f32");
    }
  }
  CHECK(by_shuffles > 30);
  for (const char* dtype : {"bf16", "f16", "i32", "u8", "i16", "bool"}) check_copies(layouts[0], layouts.back(), dtype);
  // Elements that several lanes hold.
  Layout column = layouts[6].slice(1, true).layout, spread = *layout::blocked(Extents{16, 1}, 1, 32, 1);
  CHECK(layout::plan_conversion(column, spread).kind == ConversionKind::Shuffles);
  check_copies(column, spread, "f32");
  check_copies(spread, column, "f32");
}

TEST_CASE("an exchange through memory is found that meets no bank twice") {
  Layout accumulator = *layout::mma_accumulator(64, 64, 2, 2), rows = *layout::blocked(Extents{64, 64}, 4, 32, 4);
  layout::SharedLayout shared = layout::exchange_layout(accumulator, rows, 4);
  int64_t least = 64 * 64 * 4 / 128 / 4;  // wavefronts of each of four warps
  CHECK(layout::access_cost(rows, shared) == least);
  CHECK(layout::access_cost(accumulator, shared) <= 2 * least);
  int order[] = {0, 1};
  Layout columns = *layout::blocked(Extents{64, 64}, 1, 32, 4, order);
  layout::SharedLayout turned = layout::exchange_layout(*layout::blocked(Extents{64, 64}, 1, 32, 4), columns, 4);
  CHECK(layout::access_cost(columns, turned) == 64 * 64 / 32 / 4);
  CHECK(turned.size_bytes() > 64 * 64 * 4);  // rows of another length than the banks'
  CHECK(layout::exchange_layout(*layout::blocked(Extents{7}, 1, 32, 2), *layout::blocked(Extents{7}, 1, 32, 2), 1)
            .size_bytes() == 7);
}

TEST_CASE("tiles of two products meet in one layout") {
  // The maxima of a wide product's rows scale a narrow one, whose warps are dealt out otherwise.
  TileModule two(
      R"(tile.kernel @k(%a: tensor<64 x 16, bf16>, %b: tensor<16 x 64, bf16>, %d: tensor<16 x 8, bf16>, %y: tensor<64 x 8, f32>, %z: tensor<64, bool>) {grid = [1], outputs = 2, schedule = {warps = 4}, threads = 128} {
    %0: i64 = tile.constant {value = 0}
    %as: view<64 x 16, bf16, strides = [16, 1], offset = 0, space = shared, #shared<64 x 16, bytes = 2, swizzle = 32>> = tile.alloc_shared
    %bs: view<16 x 64, bf16, strides = [64, 1], offset = 0, space = shared, #shared<16 x 64, bytes = 2, swizzle = 128>> = tile.alloc_shared
    %ds: view<16 x 8, bf16, strides = [8, 1], offset = 0, space = shared, #shared<16 x 8, bytes = 2>> = tile.alloc_shared
    tile.copy_async %a, [%0, %0], [], %as, []
    tile.copy_async %b, [%0, %0], [], %bs, []
    tile.copy_async %d, [%0, %0], [], %ds, []
    tile.copy_commit
    tile.copy_wait {pending = 0}
    tile.barrier
    %c1: tile<64 x 64, f32> = tile.full {value = 0.0}
    %c2: tile<64 x 8, f32> = tile.full {value = 0.0}
    %p: tile<64 x 64, f32> = tile.mma %as, %bs, %c1, [] {instruction = "mma.bf16"}
    %pw: tile<64 x 64, f32> = tile.mma_wait [%p] {pending = 0}
    %q: tile<64 x 8, f32> = tile.mma %as, %ds, %c2, [] {instruction = "mma.bf16"}
    %qw: tile<64 x 8, f32> = tile.mma_wait [%q] {pending = 0}
    %top: tile<64 x 1, f32> = tile.reduce %pw, [] {axis = 1, keep = true, kind = "max"}
    %tops: tile<64 x 8, f32> = tile.broadcast %top
    %r: tile<64 x 8, f32> = tile.mul %qw, %tops
    tile.store %r, %y, [%0, %0], []
    %low: tile<64, f32> = tile.reduce %qw, [] {axis = 1, kind = "min"}
    %high: tile<64, f32> = tile.reshape %top
    %less: tile<64, bool> = tile.lt %low, %high
    tile.store %less, %z, [%0], []
    tile.return
  })");
  auto run = [&] {
    std::vector<TensorValue> tensors;
    std::vector<TensorValue*> parameters;
    for (auto [dtype, dims] : {std::pair(DType::BF16, std::vector<int64_t>{64, 16}), {DType::BF16, {16, 64}},
                               {DType::BF16, {16, 8}}, {DType::F32, {64, 8}}, {DType::Bool, {64}}}) {
      tensors.push_back(*TensorValue::make(dtype, dims));
      for (int64_t i = 0; i < tensors.back().count(); ++i) {
        if (is_float(dtype)) tensors.back().set(i, {.f = double((i * 31 + int64_t(tensors.size()) * 7) % 23 - 11)});
      }
    }
    for (TensorValue& tensor : tensors) parameters.push_back(&tensor);
    bool ran = bool(tile::run_kernel(two.kernel(), parameters, {}, two.f.diagnostics, {.async_proxy = false}));
    INFO(render_all(two.f.diagnostics, {}) << print(*two.modules[0]));
    REQUIRE(ran);
    std::vector<double> out;
    for (int64_t i = 0; i < 64 * 8; ++i) out.push_back(tensors[3].get(i).f);
    for (int64_t i = 0; i < 64; ++i) out.push_back(double(tensors[4].get(i).i));
    return out;
  };
  std::vector<double> before = run();
  two.apply(assign_layouts, "cuda:sm_80");
  CHECK(two.count(tile::OpKind::AllocShared) >= 4);
  CHECK(run() == before);
  two.apply(allocate_shared, "cuda:sm_80");
  CHECK(run() == before);
  two.apply(tile_to_nv, "cuda:sm_80");
}
