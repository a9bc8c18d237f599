#pragma once
// The operations on single elements that all levels share, and their exact meaning.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "ir/numbers/dtype.h"

namespace tessera {

enum class ElementwiseKind : uint8_t {
  None,
#define ELEMENTWISE(Name, ...) Name,
#include "ir/numbers/elementwise.def"
};

enum class ElementwiseClass : uint8_t { Arithmetic, Real, Logical, Compare, Choose, Convert };
enum class ElementwiseCost : uint8_t { Instruction, Division, Remainder, Function, InF64 };

struct ElementwiseInfo {
  std::string_view name;  ///< CamelCase, as in the table
  unsigned operands;
  ElementwiseClass cls;
  ElementwiseCost cost;
};
const ElementwiseInfo& elementwise_info(ElementwiseKind kind);
/// True of ops that no machine has an instruction for: they are accurate to bounds, not to the last bit, and become a
/// dozen instructions or more.
bool is_transcendental(ElementwiseKind kind);
/// False where no target has code for the op on that dtype.
bool has_code(ElementwiseKind kind, DType dtype);
/// About how many instructions an element of that dtype takes on a machine that has none for the op. What f64 computes
/// counts for more than its instructions: each of its constants is in registers.
unsigned element_cost(ElementwiseKind kind, DType dtype);
/// True if ops of the class take operands of the dtype.
bool accepts(ElementwiseClass cls, DType dtype);

/// One element: a float dtype's value as a double that the dtype can represent, else the integer's
/// value (two's complement in 64 bits, zero extended for unsigned dtypes, 0 or 1 for bool).
union Element {
  double f;
  int64_t i;
};

/// The exact result of an op on elements of `dtype` (for Cast: from `dtype` to `result`). Float
/// arithmetic is computed so that the result is the one the dtype's rounding gives; transcendentals are
/// computed in double and rounded to the dtype.
Element evaluate_elementwise(ElementwiseKind kind, DType dtype, DType result,
                             std::span<const Element> operands);

/// The same for `count` elements at once, bit for bit. `operands` has one array for each operand; `out` may be
/// one of them.
void evaluate_elementwise_many(ElementwiseKind kind, DType dtype, DType result,
                               std::span<const Element* const> operands, Element* out, size_t count);

/// Reads one stored element of `dtype`.
Element load_element(DType dtype, const void* address);
/// Stores one element; `value` must be representable.
void store_element(DType dtype, Element value, void* address);
/// Reads and stores `count` consecutive elements.
void load_elements(DType dtype, const void* address, Element* out, size_t count);
void store_elements(DType dtype, const Element* values, void* address, size_t count);

}  // namespace tessera
