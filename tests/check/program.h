#pragma once
// A program as the generator makes it: values, each from values before it, of types that are known. Text is made of it
// only to be compiled, so that what fails can be made smaller value by value and stays well-typed.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/dim/dim.h"
#include "ir/numbers/dtype.h"

namespace tessera::check {

struct ValueType {
  std::vector<Dim> dims;
  DType dtype = DType::F32;

  size_t rank() const { return dims.size(); }
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

/// How a value is written where it is used or made.
enum class Style : uint8_t { Inline, Named, Function, Lambda };

/// What elements an argument has.
enum class Fill : uint8_t {
  Uniform,   ///< floats in [-1, 1), integers of small magnitude
  Integers,  ///< small integers, so that sums and products are exact
  Wide,      ///< magnitudes over many binades
  Special,   ///< also zeros of both signs, infinities, NaN, denormals
  Indices,   ///< integers that are rows of something, some just outside
  Positive,  ///< floats in [0, 1)
  Below,     ///< integers from 0 to the argument's salt
};

struct Node {
  /// The expression, with `{0}`, `{1}`, … for operands; statements where it ends in a newline, which assign to `{r}`.
  /// Empty for an argument of the entry.
  std::string text;
  /// The same on tiles, in a kernel; `{@0}` is an operand as the kernel's parameter, before it is loaded.
  std::string tile{};
  /// The same of ops that the interpreter of graphs has; empty where `text` is that.
  std::string plain{};
  std::vector<int> operands;
  ValueType type;
  Style style = Style::Inline;
  Fill fill = Fill::Uniform;
  uint64_t salt = 0;  ///< of the elements of an argument
  bool is_param = false;  ///< an argument that the program has as a param of a module
  std::string privilege{};  ///< of an argument that is a region of the kernel
  std::string definitions{};  ///< what `text` calls, with `{r}` in its names
  bool stores = false;      ///< what a region, the last operand, becomes: its tiles are stored and not returned

  bool is_argument() const { return text.empty(); }
};

/// How a program is also written as a kernel.
struct KernelForm {
  struct Axis {
    std::string name;
    Dim extent;
    bool whole;  ///< never blocked
  };
  std::vector<Axis> axes;
  std::vector<std::string> schedules;  ///< each is tried
};

struct Program {
  std::shared_ptr<DimTable> dims;
  std::vector<Node> nodes;   ///< arguments first
  std::vector<int> results;
  std::vector<std::string> conditions;  ///< of the entry's where clause
  std::vector<DimValues> samples;       ///< extents to run it at
  uint64_t seed = 0;
  std::optional<KernelForm> kernel;
  /// The source, of a program that is written as a whole; its nodes are the arguments of its entry.
  std::string whole;

  bool has_plain() const;
  /// Nodes that results need, and all arguments that declare a symbol that is needed.
  std::vector<bool> needed() const;
};

/// Without the nodes that nothing needs.
Program pruned(const Program& program);
std::string type_text(const ValueType& type);
/// The `.tsr` source on whole tensors, whose entry is `f`; `plainly` of ops that the interpreter of graphs has.
std::string source_of(const Program& program, bool plainly = false);
/// The source whose entry calls a kernel with that schedule of the program's.
std::string kernel_source_of(const Program& program, size_t schedule);

}  // namespace tessera::check
