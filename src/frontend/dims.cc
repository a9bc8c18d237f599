#include "frontend/dims.h"

namespace tessera::frontend {

Dim as_dimension(DimTable& dims, const Datum& datum) {
  if (datum.is(DatumKind::Int)) return dims.constant(datum.as_int());
  if (datum.is(DatumKind::Dim)) return datum.as_dim();
  return nullptr;
}

Dim combine(DimTable& dims, ast::BinaryOp op, Dim a, Dim b, bool& by_zero) {
  by_zero = false;
  switch (op) {
    case ast::BinaryOp::Add:
      return dims.add(a, b);
    case ast::BinaryOp::Sub:
      return dims.sub(a, b);
    case ast::BinaryOp::Mul:
      return dims.mul(a, b);
    case ast::BinaryOp::FloorDiv:
    case ast::BinaryOp::Mod:
      by_zero = b->is_constant(0);
      if (by_zero) return nullptr;
      return op == ast::BinaryOp::Mod ? dims.mod(a, b) : dims.floordiv(a, b);
    default:
      return nullptr;
  }
}

std::optional<Relation> as_relation(ast::CompareOp op) {
  switch (op) {
    case ast::CompareOp::Equal:
      return Relation::Equal;
    case ast::CompareOp::NotEqual:
      return Relation::NotEqual;
    case ast::CompareOp::Less:
      return Relation::Less;
    case ast::CompareOp::LessEqual:
      return Relation::LessEqual;
    case ast::CompareOp::Greater:
      return Relation::Greater;
    case ast::CompareOp::GreaterEqual:
      return Relation::GreaterEqual;
    default:
      return std::nullopt;
  }
}

std::optional<bool> decide(DimTable& dims, ast::CompareOp op, Dim a, Dim b,
                           std::span<const DimFact> facts) {
  std::optional<Relation> relation = as_relation(op);
  if (!relation) return std::nullopt;
  return tessera::decide(dims, {*relation, a, b}, facts);
}

Dim reduced_quotient(DimTable& dims, Dim a, Dim b) {
  if (b->terms.size() == 1) {
    std::vector<const DimAtom*> common = b->terms[0].factors;
    for (const DimAtom* atom : common) {
      if (atom->kind != DimAtomKind::Symbol) continue;
      Dim factor = dims.symbol(atom->text);
      Dim rest = exact_quotient(dims, a, factor);
      if (!rest) continue;
      a = rest;
      b = exact_quotient(dims, b, factor);
    }
  }
  return dims.floordiv(a, b);
}

bool has_size(DimTable& table, std::span<const Dim> dims) {
  Dim bytes = table.constant(8);  // of an element of the widest dtype
  for (Dim dim : dims) {
    // Strides are products, too, and know nothing of an extent of 0 further out.
    if (!dim->is_constant(0)) bytes = table.mul(bytes, dim);
  }
  return !bytes->overflow;
}

}  // namespace tessera::frontend
