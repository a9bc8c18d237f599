// What rows of ops have to state.

#include <catch2/catch.hpp>

#include "ir/graph/op_facts.h"
#include "ir/tile/op_facts.h"
#include "unit/ir/tile_fixture.h"

using namespace tessera;

namespace {

constexpr graph::OpKind graph_kinds[] = {
#define OP(Name, ...) graph::OpKind::Name,
#include "ir/graph/ops.def"
#undef OP
};

constexpr tile::OpKind tile_kinds[] = {
#define OP(Name, ...) tile::OpKind::Name,
#include "ir/tile/ops.def"
#undef OP
};

bool is_value(const OpInfo& row) { return !row.has(Function) && !row.has(Terminator); }

}  // namespace

TEST_CASE("each op of a graph has a role, but for those that a pass writes as others") {
  for (graph::OpKind kind : graph_kinds) {
    const OpInfo& row = *graph::info(kind);
    bool is_rewritten = kind == graph::OpKind::PhiloxUniform || kind == graph::OpKind::PhiloxNormal ||
                        kind == graph::OpKind::CustomCall || kind == graph::OpKind::CustomTangent ||
                        kind == graph::OpKind::Checkpoint || kind == graph::OpKind::CheckpointTangent ||
                        kind == graph::OpKind::Named;
    INFO(row.name);
    CHECK((graph::facts(row).role != graph::Role::Unknown) == (is_value(row) && !is_rewritten));
  }
}

TEST_CASE("an op of a graph that means something for all or some sizes has no effect and no region") {
  for (graph::OpKind kind : graph_kinds) {
    const OpInfo& row = *graph::info(kind);
    INFO(row.name);
    if (!graph::facts(row).total) continue;
    CHECK(row.has(Pure));
    CHECK(row.count(SlotKind::Region) == 0);
  }
  CHECK_FALSE(graph::facts(*graph::info(graph::OpKind::KernelCall)).total);
}

TEST_CASE("each op of a tile program has a cost, and what is cheap writes nothing") {
  for (tile::OpKind kind : tile_kinds) {
    const OpInfo& row = *tile::info(kind);
    INFO(row.name);
    CHECK((tile::facts(row).cost != tile::Cost::Unstated) == is_value(row));
    if (tile::facts(row).is_cheap) CHECK((row.effects & ~uint32_t(Reads)) == 0);
  }
}

TEST_CASE("an op that exchanges elements is pure as long as its tile has no layout") {
  for (std::string layout : {"", ", #blocked<64, vector = 1, warps = 4>"}) {
    TextFixture test;
    std::vector<std::string> body = {
        "%a: tile<64, f32" + layout + "> = tile.full {value = 1.0}",
        "%b: tile<1, f32> = tile.reduce %a, [] {axis = 0, keep = true, kind = \"sum\"}"};
    FileId file = test.sources.add("test.tir", tile_kernel("", body));
    auto modules = parse_modules(test.context, file, test.diagnostics);
    REQUIRE(modules);
    const Op* reduce = nullptr;
    walk(modules->front()->body()->front(), [&](const Op* op) {
      if (op->is(tile::info(tile::OpKind::Reduce))) reduce = op;
    });
    REQUIRE(reduce);
    CHECK(reduce->info().has(Pure));
    CHECK(reduce->is_pure() == layout.empty());
  }
}
