#pragma once
// How much of short rows a GPU's program takes.
//
// Rows are what a kernel takes whole along one axis: what it reduces, or all of a gathered line. A program is fast when
// each of its threads has a few vectors of memory on their way. One row has as many only when it is long; of shorter
// rows a program takes several. Where the extent is a symbol there is a kernel for each of a few greatest extents, and
// the launch picks one by its sizes (variants of host.launch).

#include <cstdint>
#include <span>

#include "ir/core/op.h"
#include "ir/numbers/machine.h"

namespace tessera {

/// Greatest extents of rows of which a program takes several, ascending: near enough to each other that half of a
/// tile is there, mostly.
std::span<const int64_t> short_rows();
/// The same of rows that are only combined, whose elements need no registers.
std::span<const int64_t> short_combined_rows();
/// The same of columns that a program combines, and of lines whose elements it computes one by one: what is not
/// there of them costs little.
std::span<const int64_t> short_columns();
std::span<const int64_t> short_lines();
/// The same of rows that a program's registers hold one at a time.
std::span<const int64_t> long_rows();
/// The same of rows that the program stores as well: each element costs more than where it is only combined, so there
/// are extents between the powers of two.
std::span<const int64_t> stored_rows();
/// Whether there are kernels for rows of that extent that are no whole vectors, too: fewer extents have them.
bool is_row_of_any(int64_t extent);
int64_t longest_of_any();

/// Registers of 32 bits that a thread needs for an element of what it computes.
class ElementRegisters {
 public:
  void add(const Op* op);
  int64_t count() const { return widest_ * held_; }
  /// Elements that it holds at a time: of a scan what it takes beside what it gives, of what is long to compute
  /// the steps that it repeats for all its elements.
  int64_t held() const { return held_; }

 private:
  int64_t widest_ = 1, held_ = 1;
};

/// Warps of a program that takes several rows.
inline constexpr int64_t row_warps = 4;
/// 32-bit registers of a thread that the largest tile of such a program has.
int64_t row_registers(const Machine& machine);
/// Rows of at most that many elements that a program takes, where an element needs so many registers; a power of two.
int64_t rows_of_program(const Machine& machine, int64_t extent, int64_t registers_per_element);

}  // namespace tessera
