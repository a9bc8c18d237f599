#include "runtime/format/print_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "runtime/files/text.h"

namespace tessera::format {

namespace {

template <typename T>
std::string number_text(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return "nan";
  }
  std::array<char, 32> text;
  char* end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return std::string(text.data(), end);
}

std::string element_text(Dtype dtype, std::string_view values, size_t i) {
  const char* at = values.data() + i * size_t(dtype_bits(dtype) / 8);
  switch (dtype) {
    case Dtype::F64: return number_text<double>(at);
    case Dtype::F32: return number_text<float>(at);
    case Dtype::I64: return number_text<int64_t>(at);
    case Dtype::U64: return number_text<uint64_t>(at);
    case Dtype::I32: return number_text<int32_t>(at);
    case Dtype::U32: return number_text<uint32_t>(at);
    default: return *at ? "true" : "false";
  }
}

/// The coordinates of element `number` of a row-major shape.
std::vector<int64_t> coordinates(int64_t number, std::span<const int64_t> shape) {
  std::vector<int64_t> at(shape.size());
  for (size_t i = shape.size(); i-- > 0; number /= std::max<int64_t>(shape[i], 1)) {
    at[i] = number % std::max<int64_t>(shape[i], 1);
  }
  return at;
}

/// Nothing where it is no size.
std::optional<int64_t> product(std::span<const int64_t> extents) {
  int64_t count = 1;
  for (int64_t extent : extents) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) return std::nullopt;
  }
  return count;
}

bool is_sound(const PrintedItem& item, int64_t programs) {
  std::optional<int64_t> count = product(item.shape);
  bool fits = count && item.shape.size() == item.extents.size() + 2 && item.shape[0] == programs;
  auto has = [&](std::string_view bytes, int64_t size) { return bytes.size() == size_t(*count) * size_t(size); };
  return fits && has(item.shown, 1) && (item.values.empty() || has(item.values, dtype_bits(item.dtype) / 8));
}

class Printer {
 public:
  Printer(std::span<const int64_t> grid, std::span<const PrintedItem> items) : grid_(grid), items_(items) {}

  std::string print() {
    bool any = std::ranges::any_of(items_, [](const PrintedItem& item) { return !item.shown.empty(); });
    int64_t programs = any ? items_[0].shape[0] : 0;
    for (program_ = 0; program_ < programs; ++program_) {
      for (size_t begin = 0; begin < items_.size();) {
        size_t end = begin + 1;
        while (end < items_.size() && items_[end].loop == items_[begin].loop) ++end;
        print_loop(items_.subspan(begin, end - begin));
        begin = end;
      }
    }
    if (lines_ > most_printed_lines) out_ += cat("... and ", lines_ - most_printed_lines, " more lines\n");
    return std::move(out_);
  }

 private:
  /// Iterations of the loops inside of the outermost one.
  static int64_t inner_iterations(const PrintedItem& item) {
    int64_t count = 1;
    for (size_t i = 1; i < item.trip_counts.size(); ++i) {
      if (__builtin_mul_overflow(count, std::max<int64_t>(item.trip_counts[i], 1), &count)) return item.shape[1] + 1;
    }
    return count;
  }

  /// Items of one outermost loop, iteration after iteration.
  void print_loop(std::span<const PrintedItem> items) {
    int64_t outer = 0;
    for (const PrintedItem& item : items) {
      if (item.shown.empty()) continue;
      int64_t inner = inner_iterations(item);
      outer = std::max(outer, item.shape[1] / inner + (item.shape[1] % inner != 0));
    }
    for (int64_t iteration = 0; iteration < outer; ++iteration) {
      for (const PrintedItem& item : items) {
        if (item.shown.empty()) continue;
        int64_t inner = inner_iterations(item);
        if (iteration > item.shape[1] / inner) continue;
        int64_t begin = iteration * inner, count = std::min(inner, item.shape[1] - begin);
        for (int64_t t = begin; t < begin + count; ++t) print_tile(item, t);
      }
    }
  }

  /// What one program prints in one iteration.
  void print_tile(const PrintedItem& item, int64_t iteration) {
    std::span<const int64_t> kept = std::span(item.shape).subspan(2);
    size_t elements = 1;
    for (int64_t extent : kept) elements *= size_t(extent);
    size_t first = size_t(program_ * item.shape[1] + iteration) * elements;
    std::string_view shown = item.shown.substr(first, elements);
    if (shown.find_first_not_of('\0') == shown.npos) return;
    iteration_ = iteration;
    if (item.values.empty()) {
      line(item, "");
    } else if (kept.empty()) {
      line(item, cat(": ", element_text(item.dtype, item.values, first)));
    } else {
      size_t row = size_t(kept.back());
      for (size_t at = 0; at < elements; at += row) print_row(item, kept, shown, first, at);
      note_cut(item, kept, shown);
    }
    note_iterations(item);
  }

  void print_row(const PrintedItem& item, std::span<const int64_t> kept, std::string_view shown, size_t first,
                 size_t at) {
    size_t row = size_t(kept.back());
    for (size_t begin = 0; begin < row; ++begin) {
      if (!shown[at + begin]) continue;
      size_t end = begin;
      while (end < row && shown[at + end]) ++end;
      if (takes_line()) {
        std::string text = "[";
        std::vector<int64_t> place = coordinates(int64_t(at), kept);
        for (size_t i = 0; i + 1 < place.size(); ++i) text += cat(place[i], ", ");
        text += end - begin == 1 ? cat(begin, "]: ") : cat(begin, ":", end, "]: ");
        for (size_t i = begin; i < end; ++i) {
          text += (i == begin ? "" : ", ") + element_text(item.dtype, item.values, first + at + i);
        }
        put(item, text);
      }
      begin = end;
    }
  }

  /// Says of a tile that it goes on behind what is kept of it, and not past an edge.
  void note_cut(const PrintedItem& item, std::span<const int64_t> kept, std::string_view shown) {
    bool cut = false;
    for (size_t i = 0; i < shown.size(); ++i) {
      if (!shown[i]) continue;
      std::vector<int64_t> at = coordinates(int64_t(i), kept);
      for (size_t axis = 0; axis < kept.size(); ++axis) {
        cut |= at[axis] + 1 == kept[axis] && kept[axis] < item.extents[axis];
      }
    }
    if (cut) line(item, cat(": the first ", shape_text(kept), " of ", shape_text(item.extents)));
  }

  void note_iterations(const PrintedItem& item) {
    std::optional<int64_t> all = product(item.trip_counts);
    if (iteration_ + 1 == item.shape[1] && all > iteration_ + 1)
      line(item, cat(": the first ", iteration_ + 1, " iterations of ", *all));
  }

  bool takes_line() { return ++lines_ <= most_printed_lines; }

  void line(const PrintedItem& item, std::string_view text) {
    if (takes_line()) put(item, text);
  }

  void put(const PrintedItem& item, std::string_view text) {
    if (!item.source.empty()) out_ += one_line(item.source) + ": ";
    out_ += "program " + shape_text(coordinates(program_, grid_));
    if (!item.trip_counts.empty()) {
      std::vector<int64_t> iteration = coordinates(iteration_, item.trip_counts);
      out_ += iteration.size() == 1 ? cat(", iteration ", iteration_) : ", iteration " + shape_text(iteration);
    }
    out_ += cat(": ", one_line(item.label), text, "\n");
  }

  std::span<const int64_t> grid_;
  std::span<const PrintedItem> items_;
  std::string out_;
  int64_t program_ = 0;
  int64_t iteration_ = 0;
  size_t lines_ = 0;
};

}  // namespace

bool is_printed_dtype(Dtype dtype) {
  constexpr std::array known = {Dtype::F64, Dtype::F32, Dtype::I64, Dtype::U64, Dtype::I32, Dtype::U32, Dtype::Bool};
  return std::find(known.begin(), known.end(), dtype) != known.end();
}

std::optional<std::string> printed_text(std::span<const int64_t> grid, std::span<const PrintedItem> items) {
  std::optional<int64_t> programs = product(grid);
  if (!programs || !std::ranges::all_of(items, [&](const auto& item) { return is_sound(item, *programs); })) {
    return std::nullopt;
  }
  return Printer(grid, items).print();
}

}  // namespace tessera::format
