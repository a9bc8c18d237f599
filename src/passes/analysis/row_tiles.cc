#include "passes/analysis/row_tiles.h"

#include <algorithm>
#include <bit>

#include "ir/numbers/elementwise.h"
#include "ir/schedule/ops.h"
#include "ir/tile/ops.h"

namespace tessera {

namespace {

constexpr int64_t shorter[] = {16, 64, 128, 256, 512, 1024};
constexpr int64_t combined[] = {16, 64, 128, 256, 512, 1024, 2048};
constexpr int64_t any[] = {16, 128, 512, 1024, 2048, 4096, 8192};
constexpr int64_t columns[] = {4, 16, 64, 128, 256};
constexpr int64_t lines[] = {32, 64, 128, 256, 512};
constexpr int64_t longer[] = {1024, 2048, 4096, 8192, 16384, 32768};
constexpr int64_t stored[] = {1024, 2048, 4096, 6144, 8192, 10240, 12288, 16384, 24576, 32768};

}  // namespace

std::span<const int64_t> short_rows() { return shorter; }
std::span<const int64_t> short_combined_rows() { return combined; }
std::span<const int64_t> short_columns() { return columns; }
std::span<const int64_t> short_lines() { return lines; }
std::span<const int64_t> long_rows() { return longer; }
std::span<const int64_t> stored_rows() { return stored; }

bool is_row_of_any(int64_t extent) { return std::ranges::count(any, extent) > 0; }
int64_t longest_of_any() { return std::ranges::max(any); }

void ElementRegisters::add(const Op* op) {
  constexpr unsigned long_to_compute = 100;
  bool scans = op->is(schedule::info(schedule::OpKind::Scan)) || op->is(tile::info(tile::OpKind::Scan));
  if (scans) held_ = std::max<int64_t>(held_, 2);
  for (unsigned i = 0; i < op->result_count(); ++i) {
    Type type = op->result(i)->type();
    if (type->is(TypeKind::Tile) || type->is(TypeKind::Tensor)) {
      widest_ = std::max<int64_t>(widest_, byte_size(type->dtype) / 4);
    }
    ElementwiseKind kind = op->info().elementwise;
    if (kind != ElementwiseKind::None && element_cost(kind, type->dtype) > long_to_compute) held_ = 4;
  }
}

int64_t row_registers(const Machine& machine) {
  // A vector of 16-bit numbers is computed with in registers of 32 bits.
  constexpr int64_t vectors_in_flight = 4, bytes = 2;
  return vectors_in_flight * machine.vector_bytes / bytes;
}

int64_t rows_of_program(const Machine& machine, int64_t extent, int64_t registers_per_element) {
  int64_t threads = row_warps * machine.gpu.warp_size;
  int64_t rows = threads * row_registers(machine) / (std::max<int64_t>(extent, 1) * registers_per_element);
  return int64_t(std::bit_floor(uint64_t(std::max<int64_t>(rows, 1))));
}

}  // namespace tessera
