#include "passes/tile/common/sort_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ir/core/kernel_size.h"
#include "ir/tile/ops.h"
#include "passes/analysis/gpu_schedule.h"
#include "support/diagnostic_rows.h"

namespace tessera {

namespace {

using tile::OpKind;
namespace attr = tile::attr;

class SortLimits {
 public:
  SortLimits(Op* sort, PassContext& context) : sort_(sort), type_(sort->result()->type()), context_(context) {
    kernel_ = sort;
    while (kernel_->parent()) kernel_ = kernel_->parent();
  }

  bool check() const {
    if (!check_extents() || !check_elements()) return false;
    bool is_in_order = type_->dims[axis()]->constant() <= 1;
    return is_in_order || !context_.machine->is_gpu() || (check_shared() && check_registers());
  }

 private:
  static constexpr int64_t most_elements = int64_t(1) << 31;  ///< of a tile in a source, too

  size_t axis() const { return size_t(sort_->attr(attr::Sort::axis)); }

  bool reject(const std::string& reason, const char* help) const {
    context_.diagnostics.report(diag::unsupported_tile_split, sort_->loc(), std::string(sort_->name()), reason)
        .help(help);
    return false;
  }

  bool check_extents() const {
    Dim sorted = type_->dims[axis()], open = sorted;
    for (Dim extent : type_->dims) {
      if (context_.machine->is_gpu() && !extent->constant()) open = extent;
    }
    if (open->constant()) return true;
    constexpr const char* whole =
        "a tile is sorted whole, and a block would sort each part alone: declare the size of the axis as a number, or "
        "sort whole tensors with sort(x)";
    return reject("the extent " + open->text + " of its tile is not known",
                  open == sorted ? whole : "give the axis a block in the schedule");
  }

  /// The elements of a tile, or one more than the most; `open` is what an extent that is no number counts as.
  static int64_t elements(Type tile, int64_t open) {
    int64_t count = 1;
    for (Dim dim : tile->dims) {
      int64_t extent = std::max<int64_t>(dim->constant().value_or(open), 1);
      if (count > most_elements / extent) return most_elements + 1;
      count *= extent;
    }
    return count;
  }

  bool check_elements() const {
    if (elements(type_, 1) <= most_elements) return true;
    return reject(fmt::format("{} has more than {} elements", type_->text, most_elements),
                  "give the axes smaller blocks in the schedule");
  }

  bool check_shared() const {
    int64_t extent = *type_->dims[axis()]->constant(), length = int64_t(std::bit_ceil(uint64_t(extent)));
    int64_t size = byte_size(type_->dtype), group = sort_group(type_, axis(), length);
    int64_t line = length + (group ? length / group : 0);
    int64_t bytes = elements(type_, 1) / extent * line * size;
    int64_t available = context_.machine->gpu.shared_per_block;
    if (bytes <= available) return true;
    int64_t fit = available / size;
    if (group) fit = fit * group / (group + 1);
    context_.diagnostics
        .report(diag::schedule_shared_memory, sort_->loc(), kernel_name(kernel_), bytes, available, bytes - available)
        .help(fmt::format("'{}' keeps its tile there, in lines of {} elements; at most {} elements of {} fit: use "
                          "smaller blocks",
                          sort_->name(), length, fit, to_string(type_->dtype)));
    return false;
  }

  /// Tiles that registers do not hold are cut up, but not those of kernels that exchange elements in shared memory.
  bool check_registers() const {
    int64_t most = gpu_schedule(kernel_, *context_.machine).most_elements();
    Type large = nullptr;
    bool has_dot = false;
    walk(kernel_, [&](Op* op) {
      has_dot |= op->is(tile::info(OpKind::Dot));
      for (unsigned i = 0; i < op->result_count(); ++i) {
        Type type = op->result(i)->type();
        if (type->is(TypeKind::Tile) && elements(type, most_elements) > most) large = type;
      }
    });
    if (has_dot || !large) return true;
    return reject(fmt::format("its kernel has {}, and the registers of its warps hold {} elements", large->text, most),
                  "use more warps or smaller blocks");
  }

  Op* kernel_ = nullptr;
  Op* sort_;
  Type type_;
  PassContext& context_;
};

}  // namespace

int64_t sort_group(Type tile, size_t axis, int64_t length) {
  bool is_last = std::all_of(tile->dims.begin() + std::ptrdiff_t(axis) + 1, tile->dims.end(),
                             [](Dim extent) { return extent->is_constant(1); });
  constexpr int64_t bytes_of_banks = 128;
  int64_t group = bytes_of_banks / byte_size(tile->dtype);
  return is_last && group <= length ? group : 0;
}

bool check_sort(Op* sort, PassContext& context) { return SortLimits(sort, context).check(); }

}  // namespace tessera
