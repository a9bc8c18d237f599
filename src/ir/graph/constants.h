#pragma once
// Values that are known at compile time: gir.full, gir.constant, and their elements.

#include <optional>

#include "ir/core/builder.h"
#include "ir/graph/ops.h"
#include "ir/numbers/elementwise.h"

namespace tessera::graph {

/// The element that an attribute of gir.full or gir.constant states, rounded to the dtype.
Element element_of(Attr value, DType dtype);
/// The attribute that states an element: a Float for float dtypes, else an Int.
Attr attribute_of(Context& context, DType dtype, Element element);
/// Bit for bit, except that a NaN equals any NaN.
bool same_element(DType dtype, Element a, Element b);

/// What states every element when all are the same and known (gir.full, gir.constant, a
/// gir.broadcast of one); null for others.
Attr uniform_value(Value* value);
/// The same as an element of the value's dtype.
std::optional<Element> uniform_element(Value* value);
/// True if a gir.full states it: the upper half of u64 is left to gir.constant, which has the bits.
bool is_full_value(Attr value, DType dtype);
/// A tensor of that type, policies included, all of whose elements are `value`: a gir.full where
/// one can state it.
Value* uniform(Builder& builder, Attr value, Type type);

}  // namespace tessera::graph
