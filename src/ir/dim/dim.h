#pragma once
// Symbolic dimensions: integer polynomials over symbols and over the atoms a//b, a%b, min(a,b),
// max(a,b), kept in one normal form, so that equality of polynomials is equality of pointers.
//
// A dimension is a sum of terms coefficient * product of atoms. Terms and factors are sorted by their
// text, so the form depends on nothing but the mathematics. Atoms with a non-polynomial meaning are
// simplified by these rules and by no others:
//   (c*k*x + y) // k = c*x + y//k,  (c*k*x + y) % k = y % k        here k, m > 0 are constants
//   (c*x)//(c*k) = x//k,  (c*x) % (c*k) = c*(x % k),  (x//m + y)//k = (x + m*y)//(m*k),  (x % (k*m)) % k = x % k
//   x//1 = x, x%1 = 0, x%x = 0, x//x = 1 where x > 0; constants fold (remainder with the divisor's sign)
//   min(x, x) = x, and min, max of x and y where intervals show which one is smaller
// Every symbol is a size: at least 0. Inequalities are decided by interval arithmetic on that.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tessera {

struct DimNode;

/// A dimension expression; equal pointers mean equal polynomials.
using Dim = const DimNode*;

enum class DimAtomKind : uint8_t { Symbol, FloorDiv, Mod, Min, Max };

struct DimAtom {
  DimAtomKind kind;
  std::string text;  ///< canonical; the symbol's name for a symbol
  Dim a = nullptr;
  Dim b = nullptr;
};

struct DimTerm {
  int64_t coefficient;
  std::vector<const DimAtom*> factors;  ///< sorted by text; a square is listed twice
};

/// A closed interval; a missing end is unbounded.
struct DimInterval {
  std::optional<int64_t> low;
  std::optional<int64_t> high;
};

struct DimNode {
  std::vector<DimTerm> terms;  ///< the constant term, if any, comes last
  std::string text;
  bool overflow = false;  ///< a coefficient left the range of int64; poisons what uses it

  std::optional<int64_t> constant() const;
  bool is_constant(int64_t value) const { return constant() == value; }
  /// The name when this is one bare symbol, else empty.
  std::string_view symbol() const;
};

/// Makes and owns dimensions. Not thread safe.
class DimTable {
 public:
  DimTable();
  DimTable(const DimTable&) = delete;

  Dim constant(int64_t value);
  Dim symbol(std::string_view name);
  Dim add(Dim a, Dim b);
  Dim sub(Dim a, Dim b);
  Dim mul(Dim a, Dim b);
  Dim floordiv(Dim a, Dim b);
  Dim mod(Dim a, Dim b);
  Dim min(Dim a, Dim b);
  Dim max(Dim a, Dim b);
  /// (a + b - 1) // b
  Dim ceildiv(Dim a, Dim b);
  /// A dimension that stands for an overflow.
  Dim overflow();

  /// Replaces symbols; a symbol for which `replace` returns null stays.
  Dim substitute(Dim dim, const std::function<Dim(std::string_view)>& replace);
  Dim substitute(Dim dim, const std::map<std::string, Dim, std::less<>>& replacements);

  /// The text form read back: + - * // % ( ) min( , ) max( , ) ceildiv( , ), names and integers.
  /// Returns null when the text is not one whole expression.
  Dim parse(std::string_view text);

 private:
  Dim make(std::vector<DimTerm> terms);
  const DimAtom* atom(DimAtomKind kind, std::string text, Dim a, Dim b);
  Dim of_atom(const DimAtom* atom);
  Dim fold(DimAtomKind kind, Dim a, Dim b);

  std::unordered_map<std::string, std::unique_ptr<DimNode>> nodes_;
  std::unordered_map<std::string, std::unique_ptr<DimAtom>> atoms_;
  DimNode overflow_;
};

/// The dims of a shape as a message shows them: "[B, 4*H]".
std::string to_text(std::span<const Dim> dims);
/// The number of elements of a shape: the product of its dims, 1 for none.
Dim element_count(DimTable& table, std::span<const Dim> dims);
/// Value under an assignment of symbols; nullopt for an unbound symbol, a division by zero or an overflow.
std::optional<int64_t> evaluate(Dim dim,
                                const std::function<std::optional<int64_t>(std::string_view)>& env);
/// Values of symbols by their names.
using DimValues = std::map<std::string, int64_t, std::less<>>;
std::optional<int64_t> evaluate(Dim dim, const DimValues& values);
/// The extents of a shape; nullopt when a dim has no value.
std::optional<std::vector<int64_t>> evaluate(std::span<const Dim> dims, const DimValues& values);
/// Bounds that follow from every symbol being at least 0.
DimInterval interval(Dim dim);
/// True if the value is a multiple of k whatever the symbols are.
bool is_multiple_of(Dim dim, int64_t k);
/// True if a <= b for all values of the symbols, as far as intervals show.
bool proves_le(DimTable& table, Dim a, Dim b);
/// Calls `visit` for each symbol, in the order of the text, possibly repeatedly.
void for_each_symbol(Dim dim, const std::function<void(std::string_view)>& visit);

}  // namespace tessera
