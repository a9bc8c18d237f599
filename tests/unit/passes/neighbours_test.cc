// Which elements of tiles of integers are neighbours of each other, as their ops say.

#include "passes/tile/common/neighbours.h"

#include <catch2/catch.hpp>

#include "ir/core/common_attributes.h"
#include "unit/passes/tile_fixture.h"

using namespace tessera;

namespace {

/// Tiles of four rows and eight columns, in the order of the statements; D is a multiple of 4.
const std::string statements = R"(
    %i: i64 = tile.program_id {axis = 0}
    %eight: i64 = tile.constant {value = 8}
    %two: i64 = tile.constant {value = 2}
    %at: i64 = tile.mul %i, %eight
    %near: i64 = tile.mul %i, %two
    %d: i64 = tile.dim {value = <D>}
    %rows: tile<4, i64> = tile.load %ids, [%i], []
    %column: tile<4 x 1, i64> = tile.reshape %rows
    %named: tile<4 x 8, i64> = tile.broadcast %column
    %numbers: tile<8, i64> = tile.iota [] {axis = 0}
    %first: tile<8, i64> = tile.splat %at
    %counted: tile<8, i64> = tile.add %numbers, %first
    %narrow: tile<8, i32> = tile.cast %counted
    %line: tile<1 x 8, i32> = tile.reshape %narrow
    %columns: tile<4 x 8, i32> = tile.broadcast %line
    %second: tile<8, i64> = tile.splat %near
    %shifted: tile<8, i64> = tile.add %second, %numbers
    %whole: tile<8, i64> = tile.splat %d
    %begun: tile<8, i64> = tile.iota [%d] {axis = 0}
    %back: tile<8, i64> = tile.sub %begun, %whole
    %three: tile<8, i64> = tile.full {value = 3}
    %odd: tile<8, i64> = tile.add %numbers, %three
    %stretched: tile<8, i64> = tile.mul %numbers, %three
    %turned: tile<8, i64> = tile.sub %whole, %numbers
)";

struct Wanted {
  std::string name;
  int axis;
  int64_t equal, counting;
};

}  // namespace

TEST_CASE("neighbours of tiles") {
  TileTest test("module @m level(tile) version(1) {\n  tile.kernel @k(%ids: tensor<N, i64>, %x: tensor<N x D, f32>) "
                "{assume = [{left = <(D%4)>, relation = \"==\", right = 0}], "
                "grid = [<N>], outputs = 0, schedule = {}} {" + statements + "    tile.return\n  }\n}\n",
                "cuda:sm_90a");
  Divisibility divisibility(test.kernel());
  Neighbours neighbours(divisibility);
  std::map<std::string, Value*, std::less<>> named;
  walk(test.kernel(), [&](Op* op) {
    if (op->result_count()) named[std::string(op->result()->name())] = op->result();
  });
  for (const Wanted& wanted : std::vector<Wanted>{{"rows", 0, 1, 1}, {"named", 0, 1, 1}, {"named", 1, 16, 1},
                                                  {"numbers", 0, 1, 16}, {"counted", 0, 1, 8}, {"narrow", 0, 1, 8},
                                                  {"columns", 0, 16, 1}, {"columns", 1, 1, 8}, {"shifted", 0, 1, 2},
                                                  {"begun", 0, 1, 4}, {"back", 0, 1, 4}, {"odd", 0, 1, 1},
                                                  {"stretched", 0, 1, 1}, {"turned", 0, 1, 1}}) {
    INFO(wanted.name << " along " << wanted.axis);
    REQUIRE(named.count(wanted.name));
    CHECK(neighbours.equal(named[wanted.name], wanted.axis) == wanted.equal);
    CHECK(neighbours.counting(named[wanted.name], wanted.axis) == wanted.counting);
  }
}
