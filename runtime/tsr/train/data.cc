#include "runtime/tsr/train/data.h"

#include <algorithm>
#include <cstring>

#include "runtime/files/npy.h"
#include "runtime/files/text.h"
#include "runtime/tsr/command.h"
#include "runtime/tsr/train/entry.h"
#include "support/diagnostic_rows.h"

namespace tessera::tool::train {

namespace {

using format::cat;
using format::Dtype;
using format::in_quotes;

bool is_signed(Dtype dtype) { return format::dtype_info(dtype).dlpack_code == 0; }

/// An integer of up to 64 bits; one of u64 beyond i64 becomes negative.
int64_t integer_at(Dtype dtype, std::string_view bytes, int64_t i) {
  size_t width = size_t(format::dtype_bits(dtype)) / 8;
  uint64_t value = 0;
  std::memcpy(&value, bytes.data() + size_t(i) * width, width);
  int unused = 64 - int(width) * 8;
  return is_signed(dtype) ? int64_t(value << unused) >> unused : int64_t(value);
}

/// Whether every number of one dtype is one of the other.
bool holds_all(Dtype to, Dtype from) {
  int to_bits = format::dtype_bits(to) - is_signed(to), from_bits = format::dtype_bits(from) - is_signed(from);
  return to_bits >= from_bits && (is_signed(to) || !is_signed(from));
}

bool holds(Dtype dtype, int64_t value) {
  int bits = format::dtype_bits(dtype) - is_signed(dtype);
  if (value < 0) return is_signed(dtype) && (bits >= 63 || value >= -(int64_t(1) << bits));
  return bits >= 63 || value < int64_t(1) << bits;
}

int map_file(const std::string& path, std::deque<format::MappedFile>& files) {
  auto file = format::MappedFile::map(path);
  if (!file) return fail_read(path, file.error().text);
  files.push_back(std::move(*file));
  return exit_ok;
}

int read_array(const std::string& path, std::string_view bytes, format::NpyView& array) {
  auto read = format::read_npy(bytes);
  if (!read) return fail_content(diag::bad_tensor_file, path, bytes, "a NumPy array", read.error().text);
  array = *read;
  return exit_ok;
}

/// Whether the text begins as NAME=FILE does.
bool has_name(const std::string& text) {
  size_t at = text.find('=');
  auto in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
  return at != text.npos && at > 0 && std::all_of(text.begin(), text.begin() + long(at), in_name);
}

}  // namespace

int Tokens::add_file(const std::string& path) {
  if (int code = map_file(path, files_)) return code;
  std::string_view bytes = files_.back().bytes();
  Piece piece{path, Dtype::U8, bytes, count_, int64_t(bytes.size())};
  if (path.ends_with(".npy")) {
    format::NpyView array;
    if (int code = read_array(path, bytes, array)) return code;
    if (array.shape.size() != 1 || !is_integer(array.dtype)) {
      return fail(diag::bad_tensor_file,
                  cat(path, ": tokens are integers in one row, and it has ", format::dtype_name(array.dtype),
                      format::shape_text(array.shape)),
                  "--data NAME=FILE.npy gives the rows of an array to an input");
    }
    piece.dtype = array.dtype;
    piece.bytes = array.bytes;
    piece.count = array.shape[0];
  }
  count_ += piece.count;
  pieces_.push_back(std::move(piece));
  return exit_ok;
}

int Tokens::check_fit(const std::string& input, Dtype dtype) const {
  for (const Piece& piece : pieces_) {
    if (holds_all(dtype, piece.dtype)) continue;
    for (int64_t i = 0; i < piece.count; ++i) {
      int64_t value = integer_at(piece.dtype, piece.bytes, i);
      bool is_large = piece.dtype == Dtype::U64 && value < 0;
      if (holds(dtype, value) && !is_large) continue;
      return fail(diag::bad_tensor_file,
                  cat(piece.path, ": token ", i, " is ", is_large ? "beyond i64" : std::to_string(value),
                      ", which the input ", in_quotes(input), " of dtype ", format::dtype_name(dtype), " cannot hold"));
    }
  }
  return exit_ok;
}

void Tokens::append(int64_t start, int64_t length, Dtype dtype, std::string& out) const {
  size_t width = size_t(format::dtype_bits(dtype)) / 8;
  for (const Piece& piece : pieces_) {
    int64_t begin = std::max(start, piece.begin), end = std::min(start + length, piece.begin + piece.count);
    if (begin >= end) continue;
    if (piece.dtype == dtype) {
      out += piece.bytes.substr(size_t(begin - piece.begin) * width, size_t(end - begin) * width);
      continue;
    }
    for (int64_t i = begin; i < end; ++i) {
      int64_t value = integer_at(piece.dtype, piece.bytes, i - piece.begin);
      out.append(reinterpret_cast<const char*>(&value), width);
    }
  }
}

int Data::read(const std::vector<std::string>& options, const std::vector<std::string>& inputs) {
  for (const std::string& text : options) {
    if (!has_name(text)) {
      if (inputs.empty()) return fail("--data gives data, and the entry takes none");
      if (int code = tokens_.add_file(text)) return code;
      continue;
    }
    Assignment from;
    if (int code = split_assignment(text, "--data", from)) return code;
    if (int code = add_rows(from, inputs)) return code;
  }
  for (const Rows& rows : rows_) {
    if (rows.shape[0] == rows_[0].shape[0]) continue;
    return fail(cat(rows.path, " has ", rows.shape[0], " rows, and ", rows_[0].path, " has ", rows_[0].shape[0],
                    "; examples have the same number in both"));
  }
  return exit_ok;
}

int Data::add_rows(const Assignment& from, const std::vector<std::string>& inputs) {
  if (std::ranges::find(inputs, from.name) == inputs.end()) {
    std::string help = inputs.empty() ? "; none of its inputs takes data" : cat("; data go to ", listed(inputs));
    return fail(cat("--data names ", in_quotes(from.name), ", which is not an input for data", help, "; ./", from.name,
                    "=… is a file of that name"));
  }
  if (rows_of(from.name)) return fail(cat("--data gives ", in_quotes(from.name), " twice"));
  if (int code = map_file(from.value, files_)) return code;
  format::NpyView array;
  if (int code = read_array(from.value, files_.back().bytes(), array)) return code;
  if (array.shape.empty()) return fail(diag::bad_tensor_file, cat(from.value, " is one number; rows are expected"));
  rows_.push_back({from.name, from.value, array.dtype, array.shape, array.bytes});
  return exit_ok;
}

const Rows* Data::rows_of(const std::string& input) const {
  auto found = std::ranges::find_if(rows_, [&](const Rows& rows) { return rows.input == input; });
  return found == rows_.end() ? nullptr : &*found;
}

}  // namespace tessera::tool::train
