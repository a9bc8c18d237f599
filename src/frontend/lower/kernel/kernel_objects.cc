#include "frontend/lower/kernel/kernel_objects.h"

namespace tessera::frontend {

namespace {

/// Whether two sizes are written as different names. What else they are may be one size.
bool are_two_names(const ast::Expr* a, const ast::Expr* b) {
  const auto *x = ast::as<ast::Name>(a), *y = ast::as<ast::Name>(b);
  return x && y && x->text != y->text;
}

}  // namespace

bool KernelAxis::is_one_tile() const {
  return frontend::is_one_tile(extent, tile);
}

bool is_one_tile(Dim extent, Dim tile) {
  std::optional<int64_t> elements = extent->constant(), most = tile->constant();
  return tile == extent || (elements && most && *elements <= *most);
}

bool may_be_one(const KernelAxis& a, const KernelAxis& b) {
  if (&a == &b) return true;
  if (a.extent != b.extent) return false;
  bool are_whole = a.is_one_tile() && b.is_one_tile();
  return are_whole || !a.extent->constant() || !are_two_names(a.source, b.source);
}

}  // namespace tessera::frontend
