// What single ops of programs of several threads mean when they are run.

#include <cmath>

#include "ir/tile/eval.h"
#include "unit/ir/text_fixture.h"
#include "unit/ir/tile_fixture.h"

using namespace tessera;

namespace {

struct ThreadTest : TextFixture {
  TensorValue x, y;
  tile::RunOptions options;

  ThreadTest(std::vector<int64_t> from, std::vector<int64_t> to)
      : x(*TensorValue::make(DType::F32, std::move(from))),
        y(*TensorValue::make(DType::F32, std::move(to))) {
    for (int64_t i = 0; i < x.count(); ++i) x.set(i, {.f = double(float(std::sin(double(i)) * 100))});
  }

  bool run(const std::vector<std::string>& body, const std::string& attributes) {
    auto type = [](const TensorValue& t) {
      std::string dims;
      for (int64_t dim : t.dims()) dims += std::to_string(dim) + " x ";
      return "tensor<" + dims.substr(0, dims.size() - 3) + ", f32>";
    };
    std::string text = tile_kernel("%x: " + type(x) + ", %y: " + type(y), body, 1, attributes);
    text.replace(text.find("[4, 1]"), 6, "[1]");
    auto modules = parse_modules(context, sources.add("test.tir", text), diagnostics);
    INFO(render_all(diagnostics, {}) << text);
    REQUIRE(modules);
    std::vector<TensorValue*> tensors{&x, &y};
    return bool(tile::run_kernel((*modules)[0]->body()->front(), tensors, {}, diagnostics, options));
  }
  std::string said() const { return render_all(diagnostics, {}); }
};

const std::string zero = "%z: i64 = tile.constant {value = 0}";
const std::string one = "%one: i64 = tile.constant {value = 1}";
const std::string buffer = "%s: view<64, f32, strides = [1], offset = 0, space = shared> = tile.alloc_shared";
const std::string four_warps = ", threads = 128", one_warp = ", threads = 32";

/// A program that is refused with this message.
void refuses(const std::vector<std::string>& body, const std::string& attributes, const std::string& message) {
  ThreadTest test({64}, {64});
  CHECK_FALSE(test.run(body, attributes));
  CHECK_THAT(test.said(), Catch::Contains(message));
}

void accepts(const std::vector<std::string>& body, const std::string& attributes) {
  ThreadTest test({64}, {64});
  bool ran = test.run(body, attributes);
  INFO(test.said());
  CHECK(ran);
}

/// 64 elements through shared memory: `before` comes between the store and the load.
std::vector<std::string> round_trip(const std::string& store, const std::string& load,
                                    const std::vector<std::string>& between) {
  std::vector<std::string> body{zero, buffer, "%a: tile<64, f32" + store + "> = tile.load %x, [%z], []",
                                "tile.store %a, %s, [%z], []"};
  body.insert(body.end(), between.begin(), between.end());
  body.push_back("%b: tile<64, f32" + load + "> = tile.load %s, [%z], []");
  body.push_back("tile.store %b, %y, [%z], []");
  return body;
}

}  // namespace

TEST_CASE("warps of one role need a barrier unless each reads what it wrote itself") {
  const std::string missing = "it reads shared memory that tile.store may still write";
  const std::string by_warp = ", #blocked<64, vector = 1, warps = 2>";
  const std::string other = ", #layout<64, lane = [[2], [4], [8], [16], [32]], warp = [[1]]>";
  const std::string two_warps = ", threads = 64";
  accepts(round_trip("", "", {}), one_warp);
  refuses(round_trip("", "", {}), four_warps, missing);
  accepts(round_trip("", "", {"tile.barrier"}), four_warps);
  accepts(round_trip(by_warp, by_warp, {}), two_warps);
  refuses(round_trip(by_warp, other, {}), two_warps, missing);
  accepts(round_trip(by_warp, other, {"tile.barrier"}), two_warps);
}

TEST_CASE("memory that is read may be written again after a barrier") {
  std::vector<std::string> body = round_trip("", "", {"tile.barrier"});
  body.push_back("tile.store %a, %s, [%z], []");
  refuses(body, four_warps, "it writes shared memory that tile.load may still read");
  body.insert(body.end() - 1, "tile.barrier");
  accepts(body, four_warps);
}

TEST_CASE("groups of copies are there after copy_wait, for other warps after a barrier") {
  auto body = [](const std::vector<std::string>& between) {
    std::vector<std::string> all{zero, buffer, "tile.copy_async %x, [%z], [], %s, []", "tile.copy_commit"};
    all.insert(all.end(), between.begin(), between.end());
    all.insert(all.end(), {"%b: tile<64, f32> = tile.load %s, [%z], []", "tile.store %b, %y, [%z], []"});
    return all;
  };
  const std::string missing = "it reads shared memory that tile.copy_async may still write";
  const std::string wait = "tile.copy_wait {pending = 0}";
  refuses(body({}), one_warp, missing);
  refuses(body({"tile.copy_wait {pending = 1}"}), one_warp, missing);
  accepts(body({wait}), one_warp);
  refuses(body({wait}), four_warps, missing);
  accepts(body({wait, "tile.barrier"}), four_warps);
  accepts(body({"tile.copy_commit", "tile.copy_wait {pending = 1}"}), one_warp);
  refuses({zero, buffer, "tile.copy_async %x, [%z], [], %s, []", "tile.copy_commit"}, one_warp,
          "the program ends while a tile.copy_async is in flight");
}

TEST_CASE("a copy gives zeros past its limits") {
  ThreadTest test({64}, {64});
  REQUIRE(test.run({zero, "%n: i64 = tile.constant {value = 10}", buffer,
                    "tile.copy_async %x, [%z], [%n], %s, []", "tile.copy_commit",
                    "tile.copy_wait {pending = 0}", "%b: tile<64, f32> = tile.load %s, [%z], []",
                    "tile.store %b, %y, [%z], []"},
                   one_warp));
  CHECK(test.y.get(9).f == test.x.get(9).f);
  CHECK(test.y.get(10).f == 0);
}

TEST_CASE("the copy engine sees copies of groups after a fence, where it has a proxy of its own") {
  std::vector<std::string> body{
      zero,
      "%s: view<8 x 8, f32, strides = [8, 1], offset = 0, space = shared> = tile.alloc_shared",
      "tile.copy_async %x, [%z, %z], [], %s, []",
      "tile.copy_commit",
      "tile.copy_wait {pending = 0}",
      "tile.store_async %s, %y, [%z, %z], []",
      "tile.store_wait {pending = 0}"};
  ThreadTest plain({8, 8}, {8, 8});
  plain.options.async_proxy = false;
  CHECK(plain.run(body, one_warp));
  ThreadTest test({8, 8}, {8, 8});
  CHECK_FALSE(test.run(body, one_warp));
  CHECK_THAT(test.said(), Catch::Contains("it does not see shared memory that tile.copy_async wrote"));
  body.insert(body.begin() + 5, "tile.fence_async");
  ThreadTest fenced({8, 8}, {8, 8});
  CHECK(fenced.run(body, one_warp));
  for (int64_t i = 0; i < 64; ++i) CHECK(fenced.y.get(i).f == plain.x.get(i).f);
}

TEST_CASE("an mma may add to one that is in flight") {
  std::vector<std::string> body{
      zero,
      "%s: view<8 x 8, f32, strides = [8, 1], offset = 0, space = shared> = tile.alloc_shared",
      "%a: tile<8 x 8, f32> = tile.load %x, [%z, %z], []",
      "tile.store %a, %s, [%z, %z], []",
      "tile.fence_async",
      "%no: bool = tile.lt %z, %z",
      "%c: tile<8 x 8, f32> = tile.full {value = 7}",
      "%p: tile<8 x 8, f32> = tile.mma %s, %s, %c, [%no]",
      "%q: tile<8 x 8, f32> = tile.mma %s, %s, %p, []",
      "%r: tile<8 x 8, f32> = tile.mma_wait [%q] {pending = 1}",
      "%t: tile<8 x 8, f32> = tile.mma_wait [%r] {pending = 0}",
      "tile.store %t, %y, [%z, %z], []"};
  ThreadTest test({8, 8}, {8, 8});
  bool ran = test.run(body, one_warp);
  INFO(test.said());
  REQUIRE(ran);
  float sum = 0;
  for (int twice = 0; twice < 2; ++twice) {
    for (int64_t k = 0; k < 8; ++k)
      sum = std::fmaf(float(test.x.get(k).f), float(test.x.get(8 * k).f), sum);
  }
  CHECK(test.y.get(0).f == double(sum));
  body.back() = "tile.store %r, %y, [%z, %z], []";
  ThreadTest early({8, 8}, {8, 8});
  CHECK(early.run(body, one_warp));
  body.erase(body.end() - 2);
  ThreadTest never({8, 8}, {8, 8});
  CHECK_FALSE(never.run(body, one_warp));
  CHECK_THAT(never.said(), Catch::Contains("it uses the result of a tile.mma that may be in flight"));
}

TEST_CASE("each worker of a persistent kernel runs the body once") {
  for (int64_t workers : {1, 3, 4}) {
    ThreadTest test({64}, {64});
    test.options.workers = workers;
    bool ran = test.run({zero, "%n: i64 = tile.constant {value = 64}", "%w: i64 = tile.worker_id",
                         "%step: i64 = tile.worker_count",
                         "tile.for %w, %n, %step, [] do(%i: i64) {",
                         "  %a: tile<1, f32> = tile.load %x, [%i], []",
                         "  tile.store %a, %y, [%i], []", "  tile.yield []", "}"},
                        ", persistent = true" + one_warp);
    INFO(test.said());
    REQUIRE(ran);
    for (int64_t i = 0; i < 64; ++i) CHECK(test.y.get(i).f == test.x.get(i).f);
  }
}

TEST_CASE("a reduction with a layout combines registers, lanes, then warps") {
  ThreadTest test({256}, {1});
  bool ran = test.run({zero, "%a: tile<256, f32, #blocked<256, vector = 2, warps = 4>> = tile.load %x, [%z], []",
                       R"(%r: tile<1, f32> = tile.reduce %a, [] {axis = 0, keep = true, kind = "sum"})",
                       "tile.store %r, %y, [%z], []"},
                      four_warps);
  INFO(test.said());
  REQUIRE(ran);
  auto x = test.x.as<float>();
  float total = 0;
  for (size_t warp = 0; warp < 4; ++warp) {
    std::vector<float> lanes(32), before;
    for (size_t l = 0; l < 32; ++l) lanes[l] = x[64 * warp + 2 * l] + x[64 * warp + 2 * l + 1];
    for (size_t mask = 1; mask < 32; mask *= 2) {
      before = lanes;
      for (size_t l = 0; l < 32; ++l) lanes[l] = before[l] + before[l ^ mask];
    }
    total = warp == 0 ? lanes[0] : total + lanes[0];
  }
  CHECK(test.y.as<float>()[0] == total);
}

TEST_CASE("a reduction with a layout leaves out what is past its limit") {
  ThreadTest test({4, 64}, {4});
  bool ran = test.run(
      {zero, "%n: i64 = tile.constant {value = 3}",
       "%a: tile<4 x 64, f32, #blocked<4 x 64, vector = 4, warps = 4>> = tile.load %x, [%z, %z], []",
       R"(%r: tile<4, f32> = tile.reduce %a, [%n] {axis = 1, kind = "max"})",
       "tile.store %r, %y, [%z], []"},
      four_warps);
  INFO(test.said());
  REQUIRE(ran);
  auto x = test.x.as<float>();
  for (size_t i = 0; i < 4; ++i)
    CHECK(test.y.as<float>()[i] == std::max({x[64 * i], x[64 * i + 1], x[64 * i + 2]}));
}

TEST_CASE("layouts of shared memory move elements, and offsets share its bytes") {
  const std::string swizzled = ", #shared<8 x 32, bytes = 4, swizzle = 128>";
  std::vector<std::string> body{
      zero, one,
      "%s: view<2 x 8 x 32, f32, strides = [256, 32, 1], offset = 0, space = shared" + swizzled +
          "> = tile.alloc_shared {offset = 1024}",
      "%u: view<8 x 32, f32, strides = [32, 1], offset = 0, space = shared" + swizzled + "> = tile.slot %s, %one",
      "%v: view<8 x 32, f32, strides = [32, 1], offset = 0, space = shared" + swizzled +
          "> = tile.alloc_shared {offset = 2048}",
      "%a: tile<8 x 32, f32> = tile.load %x, [%z, %z], []", "tile.store %a, %u, [%z, %z], []",
      "%b: tile<8 x 32, f32> = tile.load %v, [%z, %z], []", "tile.store %b, %y, [%z, %z], []"};
  ThreadTest test({8, 32}, {8, 32});
  bool ran = test.run(body, ", shared = 3072" + one_warp);
  INFO(test.said());
  REQUIRE(ran);
  for (int64_t i = 0; i < 256; ++i) CHECK(test.y.get(i).f == test.x.get(i).f);
  ThreadTest outside({8, 32}, {8, 32});
  CHECK_FALSE(outside.run(body, ", shared = 3000" + one_warp));
  CHECK_THAT(outside.said(), Catch::Contains("2048 bytes at 1024 are not aligned or outside of 3000"));
}

TEST_CASE("what roles and copies leave behind is found") {
  const std::string role = R"(tile.role {first = 0, name = "only", warps = 1} do {)";
  refuses({zero, buffer, role, "tile.yield []", "}", "%a: tile<64, f32> = tile.load %x, [%z], []"}, four_warps,
          "it follows roles");
  // Threads that share a tile wait for each other where they combine it; without a layout they share none.
  const std::string full = "%a: tile<64 x 32, f32LAYOUT> = tile.full {value = 0}";
  const std::string sum = "%r: tile<64 x 1, f32LAYOUT> = tile.reduce %a, [] {axis = 1, keep = true, kind = \"sum\"}";
  const std::string rows = "#layout<64 x 1, register = [[4, 0], [8, 0], [16, 0], [32, 0]], "
                           "lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [[1, 0], [2, 0]]>";
  auto with_layout = [](std::string text, const std::string& layout) {
    return text.replace(text.find("LAYOUT"), 6, layout);
  };
  accepts({zero, buffer, role, "tile.yield []", "}", with_layout(full, ""), with_layout(sum, "")}, four_warps);
  refuses({zero, buffer, role, "tile.yield []", "}", with_layout(full, ", #blocked<64 x 32, vector = 1, warps = 4>"),
           with_layout(sum, ", " + rows)}, four_warps, "it follows roles");
  std::vector<std::string> copy{
      zero, buffer,
      "%bs: view<1, u64, strides = [1], offset = 0, space = shared> = tile.barriers {arrivals = 1}",
      "%b: view<u64, strides = [], offset = 0, space = shared> = tile.slot %bs, %z", "tile.barrier", role,
      "tile.barrier_expect %b {bytes = 256}", "tile.copy_async %x, [%z], [], %s, [%b]",
      "tile.barrier_wait %b, %z", "tile.yield []", "}", "tile.barrier",
      "%c: tile<64, f32> = tile.load %s, [%z], []", "tile.store %c, %y, [%z], []"};
  accepts(copy, four_warps);
  copy.erase(copy.begin() + 8);
  refuses(copy, four_warps, "it reads shared memory that tile.copy_async may still write");
  copy.resize(10);
  refuses(copy, four_warps, "nobody waits for this copy");
  refuses({zero, "%bs: view<1, u64, strides = [1], offset = 0, space = shared> = tile.barriers {arrivals = 1}",
           "%a: tile<1, u64> = tile.load %bs, [%z], []"}, one_warp, "not memory of elements");
  refuses({zero, "%a: tile<64, f32> = tile.full {value = 0}", buffer,
           "%b: tile<64, f32> = tile.load %s, [%z], []"}, one_warp, "never written");
}
