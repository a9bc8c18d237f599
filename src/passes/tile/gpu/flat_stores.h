#pragma once
// Results as tiles of the axes that they have.

#include "ir/core/op.h"

namespace tessera {

/// Makes stores of tiles of [1, rows, columns] ones of [rows, columns]: of the memory's other axes a store takes one
/// index each anyway, and matrix units and the copy engine know tiles of two axes. What computes the tile from one of
/// [rows, columns] that was reshaped, element by element, does so without the axes of one element.
void flatten_stores(Op* kernel);

}  // namespace tessera
