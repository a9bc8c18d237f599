#pragma once
// Changes of operands that make their shapes fit: one transposed, with an axis of extent 1 more, reduced with
// keepdims=True or along another axis, or two exchanged. Each is tried on the shapes, and only one that fits is
// offered.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dim/dim.h"
#include "support/diagnostic.h"

namespace tessera::frontend {

/// An operand or argument of which the shape is asked.
struct ShapedOperand {
  Loc loc;           ///< where it is written; unknown where it is not
  std::string what;  ///< "the right operand"
  std::vector<Dim> dims;
  size_t rank = 0;  ///< to which axes may be added; 0: to none
  /// An axis that the operand is reduced along, and what keeps it.
  struct Kept {
    size_t axis = 0;
    Edit edit;
  };
  std::optional<Kept> kept = std::nullopt;
  bool is_target = false;  ///< of an assignment, too: it stays as it is
  /// What it is the reduction of along one axis, where another may be meant.
  struct Reduced {
    std::vector<Dim> dims;
    size_t axis = 0;
    Loc written;  ///< the axis
  };
  std::optional<Reduced> reduced = std::nullopt;
};

using Shapes = std::vector<std::vector<Dim>>;

/// Operands whose shapes do not fit.
struct ShapeQuestion {
  std::vector<ShapedOperand> operands;
  std::function<bool(const Shapes&)> fits;
  std::string_view sign = ",";  ///< between the operands: "@"
  bool may_exchange = false;    ///< whether their order matters
  bool swaps_axes = false;      ///< whether any two axes of an operand may be exchanged, not the last two alone
  bool may_combine = false;     ///< whether two operands may be exchanged and transposed at once
};

/// Offers the changes that make the shapes fit: as a fix where there is one. False when there is none.
bool help_shapes(DiagnosticEngine::Builder& builder, DimTable& dims, const SourceManager& sources,
                 const ShapeQuestion& question);

/// Whether there is such a change.
bool has_change(DimTable& dims, const SourceManager& sources, const ShapeQuestion& question);

/// Whether the shapes fit where a size is a number.
bool fits_with(DimTable& dims, const ShapeQuestion& question, Dim size, Dim number);

/// Whether shapes broadcast, aligned at their last axes.
bool broadcasts(const Shapes& shapes);
/// Whether the matrices in the last two axes have a matmul, and the axes before them broadcast.
bool has_matmul(const Shapes& shapes);

}  // namespace tessera::frontend
