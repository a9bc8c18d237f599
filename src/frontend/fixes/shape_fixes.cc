#include "frontend/fixes/shape_fixes.h"

#include <algorithm>
#include <bit>

#include "frontend/fixes/operand_text.h"

namespace tessera::frontend {

namespace {

/// One change: what it does to the shapes and to the source.
struct Change {
  std::string what;
  Shapes shapes;
  std::vector<Edit> edits;  ///< none where the source has the operand in a form that is not edited
};

/// "[:, None]": an axis of extent 1 at each bit of `added`.
std::string index_of(uint32_t added, size_t rank) {
  size_t last = size_t(std::bit_width(added));
  size_t first = size_t(std::countr_zero(added));
  bool are_last = last == rank && first + size_t(std::popcount(added)) == rank;
  std::string text;
  for (size_t i = are_last && first > 1 ? first : 0; i < last; ++i) {
    text += text.empty() ? "" : ", ";
    text += added >> i & 1 ? "None" : ":";
  }
  return are_last && first > 1 ? "[..., " + text + "]" : "[" + text + "]";
}

class Attempts {
 public:
  Attempts(DimTable& dims, const SourceManager& sources, const ShapeQuestion& question)
      : sources_(sources), question_(question), one_(dims.constant(1)) {
    for (const ShapedOperand& operand : question.operands) before_.push_back(operand.dims);
  }

  std::vector<Change> found() {
    for (size_t i = 0; i < question_.operands.size(); ++i) attempt_reduced(i);
    if (!found_.empty()) return std::move(found_);
    for (size_t i = 0; i < question_.operands.size(); ++i) attempt_kept(i);
    for (size_t i = 0; i < question_.operands.size(); ++i) attempt_axes(i);
    if (!found_.empty()) return std::move(found_);  // what has fewer axes lacks one, more likely than an order
    for (size_t i = question_.operands.size(); i-- > 0;) attempt_transpose(i);
    for (size_t i = 0; found_.empty() && question_.swaps_axes && i < question_.operands.size(); ++i)
      attempt_axis_swaps(i);
    for (size_t j = 1; question_.may_exchange && j < question_.operands.size(); ++j) {
      for (size_t i = 0; i < j; ++i) attempt_exchange(i, j);
    }
    if (found_.empty() && question_.may_combine && question_.operands.size() == 2) {
      for (size_t i : {1, 0}) attempt_exchange_and_transpose(i);
    }
    return std::move(found_);
  }

 private:
  /// Keeps a change that fits, unless another gives the same shapes.
  void attempt(std::string what, Shapes shapes, std::vector<Edit> edits) {
    auto is_same = [&](const Change& other) { return other.shapes == shapes; };
    if (shapes == before_ || !question_.fits(shapes) || std::ranges::any_of(found_, is_same)) return;
    found_.push_back({std::move(what), std::move(shapes), std::move(edits)});
  }

  Shapes changed(size_t i, std::vector<Dim> dims) const {
    Shapes shapes = before_;
    shapes[i] = std::move(dims);
    return shapes;
  }

  void attempt_transpose(size_t i) {
    std::vector<Dim> dims = before_[i];
    if (dims.size() < 2 || question_.operands[i].is_target) return;
    std::swap(dims[dims.size() - 2], dims.back());
    const ShapedOperand& operand = question_.operands[i];
    attempt(operand.what + " transposed", changed(i, std::move(dims)), postfixed(sources_, operand.loc, ".T"));
  }

  void attempt_axis_swaps(size_t i) {
    const ShapedOperand& operand = question_.operands[i];
    size_t rank = operand.dims.size();
    for (size_t b = 1; b < rank; ++b) {
      for (size_t a = 0; a < b; ++a) {
        std::vector<Dim> dims = operand.dims;
        std::vector<size_t> order(rank);
        for (size_t k = 0; k < rank; ++k) order[k] = k;
        std::swap(dims[a], dims[b]);
        std::swap(order[a], order[b]);
        std::vector<Edit> edits;
        if (is_operand(sources_, operand.loc)) {
          edits = {{operand.loc.before(), "transpose("},
                   {operand.loc.behind(), fmt::format(", {})", fmt::join(order, ", "))}};
        }
        attempt(fmt::format("axes {} and {} of {} exchanged", a, b, operand.what), changed(i, std::move(dims)),
                std::move(edits));
      }
    }
  }

  void attempt_exchange(size_t i, size_t j) {
    Shapes shapes = before_;
    std::swap(shapes[i], shapes[j]);
    const ShapedOperand&a = question_.operands[i], &b = question_.operands[j];
    if (a.is_target || b.is_target) return;
    bool is_operator = question_.sign != ",";
    std::string what = is_operator ? "the operands exchanged" : fmt::format("{} and {} exchanged", a.what, b.what);
    attempt(std::move(what), std::move(shapes), exchanged(sources_, a.loc, b.loc, is_operator));
  }

  /// Exchanges two operands, and transposes what is then operand i.
  void attempt_exchange_and_transpose(size_t i) {
    const ShapedOperand&a = question_.operands[0], &b = question_.operands[1];
    Shapes shapes{before_[1], before_[0]};
    std::vector<Dim>& dims = shapes[i];
    if (dims.size() < 2 || a.is_target || b.is_target) return;
    std::swap(dims[dims.size() - 2], dims.back());
    std::vector<Edit> edits = exchanged(sources_, a.loc, b.loc, true);
    if (!edits.empty()) edits[i].replacement += ".T";
    std::string what = fmt::format("the operands exchanged and the {} one transposed", i == 0 ? "left" : "right");
    attempt(std::move(what), std::move(shapes), std::move(edits));
  }

  void attempt_reduced(size_t i) {
    const ShapedOperand& operand = question_.operands[i];
    if (!operand.reduced) return;
    const auto& [whole, taken, written] = *operand.reduced;
    for (size_t axis = 0; axis < whole.size(); ++axis) {
      if (axis == taken) continue;
      std::vector<Dim> dims = whole;
      dims.erase(dims.begin() + std::ptrdiff_t(axis));
      attempt(fmt::format("axis={}", axis), changed(i, std::move(dims)), {{written, std::to_string(axis)}});
    }
  }

  void attempt_kept(size_t i) {
    const ShapedOperand& operand = question_.operands[i];
    if (!operand.kept || operand.kept->axis > operand.dims.size()) return;
    std::vector<Dim> dims = operand.dims;
    dims.insert(dims.begin() + std::ptrdiff_t(operand.kept->axis), one_);
    attempt("keepdims=True", changed(i, std::move(dims)), {operand.kept->edit});
  }

  void attempt_axes(size_t i) {
    const ShapedOperand& operand = question_.operands[i];
    constexpr size_t most_axes = 8;
    size_t rank = operand.rank, more = rank - operand.dims.size();
    if (rank <= operand.dims.size() || rank > most_axes) return;
    for (uint32_t added = 1; added < 1U << rank; ++added) {
      if (size_t(std::popcount(added)) != more) continue;
      std::vector<Dim> dims;
      size_t next = 0;
      for (size_t axis = 0; axis < rank; ++axis) dims.push_back(added >> axis & 1 ? one_ : operand.dims[next++]);
      std::string suffix = index_of(added, rank);
      attempt(fmt::format("{} behind {}", suffix, operand.what), changed(i, std::move(dims)),
              postfixed(sources_, operand.loc, suffix));
    }
  }

  const SourceManager& sources_;
  const ShapeQuestion& question_;
  Dim one_;
  Shapes before_;
  std::vector<Change> found_;
};

std::string to_text(const Shapes& shapes, std::string_view sign) {
  std::string text;
  for (const std::vector<Dim>& dims : shapes) {
    if (!text.empty()) text += sign == "," ? ", " : fmt::format(" {} ", sign);
    text += tessera::to_text(dims);
  }
  return text;
}

/// The common dims of shapes that are aligned at their last axes; nullopt where they do not broadcast.
std::optional<std::vector<Dim>> broadcast(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  std::vector<Dim> result = a.size() < b.size() ? b : a;
  const std::vector<Dim>& shorter = a.size() < b.size() ? a : b;
  size_t offset = result.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    Dim& dim = result[offset + i];
    if (dim->is_constant(1)) dim = shorter[i];
    if (dim != shorter[i] && !shorter[i]->is_constant(1)) return std::nullopt;
  }
  return result;
}

}  // namespace

bool help_shapes(DiagnosticEngine::Builder& builder, DimTable& dims, const SourceManager& sources,
                 const ShapeQuestion& question) {
  constexpr size_t most_shown = 3;
  std::vector<Change> changes = Attempts(dims, sources, question).found();
  for (size_t i = 0; i < std::min(changes.size(), most_shown); ++i) {
    Change& change = changes[i];
    std::string message =
        fmt::format("the shapes fit with {}: {}", change.what, to_text(change.shapes, question.sign));
    bool is_sure = changes.size() == 1 && !change.edits.empty();
    is_sure ? builder.fix(std::move(message), std::move(change.edits)) : builder.help(std::move(message));
  }
  return !changes.empty();
}

bool has_change(DimTable& dims, const SourceManager& sources, const ShapeQuestion& question) {
  return !Attempts(dims, sources, question).found().empty();
}

bool fits_with(DimTable& dims, const ShapeQuestion& question, Dim size, Dim number) {
  Shapes shapes;
  for (const ShapedOperand& operand : question.operands) {
    shapes.emplace_back();
    for (Dim dim : operand.dims) {
      shapes.back().push_back(dims.substitute(dim, [&](std::string_view name) {
        return name == size->symbol() ? number : nullptr;
      }));
    }
  }
  return question.fits(shapes);
}

bool broadcasts(const Shapes& shapes) {
  std::optional<std::vector<Dim>> common = std::vector<Dim>();
  for (const std::vector<Dim>& dims : shapes) common = common ? broadcast(*common, dims) : std::nullopt;
  return common.has_value();
}

bool has_matmul(const Shapes& shapes) {
  const std::vector<Dim>&a = shapes[0], &b = shapes[1];
  if (a.empty() || b.empty() || a.back() != b[b.size() == 1 ? 0 : b.size() - 2]) return false;
  auto leading = [](const std::vector<Dim>& dims) {
    return std::vector<Dim>(dims.begin(), dims.end() - std::ptrdiff_t(std::min(dims.size(), size_t(2))));
  };
  return broadcasts({leading(a), leading(b)});
}

}  // namespace tessera::frontend
