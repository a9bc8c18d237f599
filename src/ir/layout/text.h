#pragma once
// Layouts as text, and back.
//
//   #wgmma<acc, 128 x 256, warps = 8>      acc; rows: a row reduction of acc; a, with bits = 8 or
//   32 #wgmma<rows, 128, warps = 8>           or 128 x 1, with the axis kept #mma<acc, 128 x 128,
//   warps = 2 x 4>    acc, a, b #amx<acc, 32 x 32>                     acc; a, b, with bits = 8
//   #blocked<128 x 64, vector = 8, warps = 4>         also lanes = 16, order = [0, 1]
//   #layout<16 x 44, register = [[0, 1], [8, 0]], repeats = [register 1 11 by 4]>   also lane, warp
//   #shared<128 x 64, bytes = 2, swizzle = 128>       or pad = 16, or panel = 16; also order
//
// A layout prints as the first family above that it belongs to, however it was made, else in
// the general form. Keys after "also" are left out when they have their defaults: 32 lanes, the
// last axis fastest, an empty list. A repeat is a dim, an axis (or none), a count and a stride.

#include <optional>
#include <string>
#include <string_view>

#include "ir/layout/layout.h"
#include "ir/layout/shared_layout.h"

namespace tessera::layout {

std::string print(const Layout& layout);
std::string print(const SharedLayout& layout);

/// An error in a text, and its place.
struct TextError {
  std::string message;
  size_t position = 0;
};

/// Reads a whole text, with keys in the order of print(). Memory and time are bounded by the limits
/// of Layout whatever the text.
std::optional<Layout> parse_layout(std::string_view text, TextError* error = nullptr);
std::optional<SharedLayout> parse_shared_layout(std::string_view text, TextError* error = nullptr);

/// The length of the layout text that `text` starts with: from '#' to the '>' that closes it, or 0.
size_t layout_text_length(std::string_view text);

/// Elements that draw() shows at most.
inline constexpr int64_t max_drawn_elements = 1 << 16;
/// A grid of rows and columns whose cells are warp:lane:register of the canonical owner. Layouts of
/// rank 0, 1 or 2 with at most max_drawn_elements.
std::string draw(const Layout& layout);
/// A grid of rows and columns whose cells are the offset of an element in bytes. Layouts of rank 1 or 2 with at most
/// max_drawn_elements.
std::string draw(const SharedLayout& layout);

}  // namespace tessera::layout
