// No wait, barrier, fence or signal that the passes write is one too many, and the interpreter misses none: without any
// one of them it finds an error.

#include <catch2/catch.hpp>

#include "unit/gpu/gpu_program.h"

using namespace tessera;
using namespace tessera::test;
using tile::OpKind;

namespace {

bool orders(Op* op) {
  constexpr OpKind kinds[] = {OpKind::Barrier,       OpKind::BarrierWait, OpKind::BarrierExpect,
                              OpKind::BarrierArrive, OpKind::FenceAsync,  OpKind::StoreWait,
                              OpKind::CopyWait,      OpKind::CopyCommit,  OpKind::MmaWait};
  for (OpKind kind : kinds) {
    if (op->is(tile::info(kind))) return true;
  }
  return false;
}

bool waits_for_mmas(Op* op) { return op->is(tile::info(OpKind::MmaWait)); }

std::vector<Op*> ops_of(GpuProgram& program, bool (*counts)(Op*)) {
  std::vector<Op*> found;
  walk(program.kernels().at(0), [&](Op* op) {
    if (counts(op)) found.push_back(op);
  });
  return found;
}

void drop(Op* op) {
  for (unsigned i = 0; i < op->result_count(); ++i) op->result(i)->replace_all_uses(op->operand(i));
  op->erase();
}

/// True if some run goes wrong, or gives other values than the one with all ops.
bool is_found(GpuProgram& program, const GpuCase& each, const std::vector<Tensors>& wanted) {
  for (size_t i = 0; i < each.sizes.size(); ++i) {
    Tensors arguments = program.arguments(each.sizes[i]);
    for (unsigned seed = 0; seed < 4; ++seed) {
      tile::RunOptions options{.workers = 1 + int64_t(seed % 2)};
      if (seed) options.seed = seed;
      std::optional<Tensors> got = program.try_values(arguments, each.sizes[i], options);
      if (!got || !same_bits(*got, wanted[i])) return true;
    }
  }
  return false;
}

/// Each of the ops that count is needed.
void check_case(const GpuCase& each, std::string_view machine, bool (*counts)(Op*) = orders) {
  size_t count = 1;
  for (size_t n = 0; n < count; ++n) {
    GpuProgram program(each, machine);
    while (program.next()->name != "tile_to_nv") program.step();
    std::vector<Op*> ops = ops_of(program, counts);
    count = ops.size();
    REQUIRE(count > 0);
    std::vector<Tensors> wanted;
    for (const DimValues& dims : each.sizes) wanted.push_back(program.values(program.arguments(dims), dims));
    Op* kernel = ops[n];
    while (kernel->parent()) kernel = kernel->parent();
    std::string what = fmt::format("{} of {}", ops[n]->name(), symbol_name(kernel)), whole = program.text();
    drop(ops[n]);
    INFO(each.name << " for " << machine << " without " << what << ", number " << n << "\n" << whole);
    CHECK(is_found(program, each, wanted));
  }
}

}  // namespace

TEST_CASE("every wait, barrier, fence and signal of a matmul is needed, and its loss is found") {
  for (const GpuCase* each :
       cases_named({"matmul of wide", "matmul bf16, one", "matmul bf16, b K x N, any", "matmul f32, b N x K, by"})) {
    for (std::string_view machine : gpu_machines) check_case(*each, machine);
  }
}

// Slots of what is brought once, and of the last iterations, are freed for nobody: their signals are not needed.
TEST_CASE("every wait for MMAs of loops whose iterations overlap is needed, and its loss is found") {
  for (const GpuCase* each : cases_named({"attention by roles", "loop of two dots, many", "loop of a chain"})) {
    if (each->sizes.size() == 1) check_case(*each, "cuda:sm_90a", waits_for_mmas);
  }
}
