#pragma once
// Data for training: one long row of tokens, of which a batch takes pieces, or arrays with an example in each row.

#include <deque>
#include <string>
#include <vector>

#include "runtime/files/file.h"
#include "runtime/tsr/tensor_files.h"

namespace tessera::tool::train {

/// Integers one after another, from files that stay mapped: bytes of a text, or arrays of rank 1.
class Tokens {
 public:
  /// Puts the file's tokens behind those there are. Says what is wrong with the file.
  int add_file(const std::string& path);
  /// Says which token the dtype does not hold.
  int check_fit(const std::string& input, format::Dtype dtype) const;

  int64_t count() const { return count_; }
  bool empty() const { return pieces_.empty(); }
  /// The bytes of `length` tokens from `start` on, as integers of the dtype, behind `out`.
  void append(int64_t start, int64_t length, format::Dtype dtype, std::string& out) const;

 private:
  struct Piece {
    std::string path;
    format::Dtype dtype;
    std::string_view bytes;
    int64_t begin;  ///< its first token's number
    int64_t count;
  };
  std::deque<format::MappedFile> files_;
  std::vector<Piece> pieces_;
  int64_t count_ = 0;
};

/// An array for an input, an example in each row.
struct Rows {
  std::string input;
  std::string path;
  format::Dtype dtype = format::Dtype::F32;
  std::vector<int64_t> shape;  ///< with the number of rows first
  std::string_view bytes;

  size_t row_bytes() const { return shape[0] == 0 ? 0 : bytes.size() / size_t(shape[0]); }
};

/// What --data names.
class Data {
 public:
  /// `inputs` are the names of those that take data.
  int read(const std::vector<std::string>& options, const std::vector<std::string>& inputs);

  bool is_empty() const { return tokens_.empty() && rows_.empty(); }
  const Tokens& tokens() const { return tokens_; }
  const std::deque<Rows>& rows() const { return rows_; }
  /// The array of an input; null when there is none.
  const Rows* rows_of(const std::string& input) const;

 private:
  int add_rows(const Assignment& from, const std::vector<std::string>& inputs);

  Tokens tokens_;
  std::deque<Rows> rows_;
  std::deque<format::MappedFile> files_;
};

}  // namespace tessera::tool::train
