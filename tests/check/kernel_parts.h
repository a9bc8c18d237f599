#pragma once
// Parts of kernels that are more than an op on tiles: scans, gathers, loops along an axis, attention, branches,
// regions, memory by hand.

#include "check/generator.h"

namespace tessera::check {

/// What the axes of a kernel are for.
enum class Shape : uint8_t {
  Line,       ///< one axis
  Blocks,     ///< m and n, both blocked
  Rows,       ///< n whole: reductions along it
  Columns,    ///< m whole
  Product,    ///< m, n, and a product along k
  Fold,       ///< m, and a reduction along k tile by tile
  Attention,  ///< m and n, n whole, and a softmax along k tile by tile
  Batch,      ///< a leading axis of one element a program
};

class KernelParts : public Generator {
 protected:
  using Generator::Generator;

  /// The dims of a value that has all axes of the result.
  std::vector<Dim> full() const;
  Fill some_fill();
  /// Adds a value; the dtype's rounding is written on tensors.
  int both(const std::string& on_tensors, const std::string& on_tiles, std::vector<int> operands, ValueType type);
  /// A value that tiles have: not an operand of a product, which is only loaded in its loop.
  int any_tile();

  /// acc = sum of tiles of products along k: by loads, or through memory of its own.
  void product();
  /// A sum or maximum of tiles along k, of all of them or of those from one element to another, or of each with a part
  /// of the axis that is not the iteration's own.
  void fold();
  /// What rows attend to, in running-maximum form.
  void attention();

  void scan();
  void sort();
  /// Rows by number, or elements by computed coordinates.
  void gather();
  /// A branch that a program takes or not.
  void branch();
  /// Random numbers of a seed, or what they leave of a value.
  void random_numbers();
  /// Through memory of a program, and back.
  void keep();

  /// A region that is read, before the ops; one that ops fill, behind them.
  void read_region();
  void write_region(int value);

  Shape shape_ = Shape::Line;
  Dim b_ = nullptr, m_ = nullptr, n_ = nullptr, k_ = nullptr;
  DType dtype_ = DType::F32;
  int made_ = -1;    ///< what a loop along k gives
  int region_ = -1;  ///< the argument that is a region which is read
  int64_t block_of_k_ = 0;  ///< that the program's values depend on; 0 where they do not

 private:
  /// The same of statements, which assign to `{r}`.
  int stated(const std::string& on_tensors, std::string statements, std::vector<int> operands, ValueType type);
  /// A value with all axes of the result, or -1; of f32, f64 or i32, whose tiles round as tensors do.
  int plain_tile();
  bool is_plane() const { return full().size() == 2 && shape_ != Shape::Batch; }
  std::string load_of_product(const std::string& operand, bool left) const;
  std::string ring(int64_t slots, const std::string& start) const;
  /// The number of each element along k in its block, on tensors.
  std::string place_in_block();
  void fold_with_part();
  void fold_of_pairs();
  int store(const std::string& privilege, const std::string& on_tensors, const std::string& statement, int value,
            int region);
};

}  // namespace tessera::check
