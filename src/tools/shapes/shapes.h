#pragma once
// `tesserac --shapes`: the lines of a source with the shapes of their values, and the sizes and
// guards of its entries.

#include <string>
#include <vector>

#include "api/validate_shapes.h"
#include "frontend/index/semantic_index.h"

namespace tessera::shapes {

/// The text about one value of a line.
struct LineValue {
  std::string label;  ///< the name that is given the value, or "return"
  const frontend::PlaceFacts* facts = nullptr;
};

/// The values of a file, in the order of their places: names where they are given one, and results.
/// Values that are plain in the text are left out: functions, files, and numbers that are written
/// there.
std::vector<LineValue> values_of(const frontend::SemanticIndex& index, const SourceManager& sources,
                                 FileId file);

/// Each line with its values beside it, or below it where there is no room for that in a terminal
/// of `width` columns. Several values that a place has in several calls stand below each other. Then
/// the sizes that calls of each entry choose, and its run-time guards.
std::string shapes_text(const frontend::SemanticIndex& index, const api::ShapeReport& report,
                        const SourceManager& sources, FileId file, size_t width);

/// The same as one JSON object; docs/debugging.md states its form.
std::string shapes_json(const frontend::SemanticIndex& index, const api::ShapeReport& report,
                        const SourceManager& sources, FileId file);

}  // namespace tessera::shapes
