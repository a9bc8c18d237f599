#pragma once
// Forms that programs have in practice, whole: products of known rows with what follows them, recurrences over parts of
// a tensor, weights of 4 bits, sums over everything. Chance alone puts them together too seldom.

#include "check/generate_large.h"

namespace tessera::check {

class PracticalForms : public LargeParts {
 protected:
  using LargeParts::LargeParts;

  /// One of them.
  void practical_form();

 private:
  DType some_factor();
  Dim some_rows();
  /// A product of factors of its own, and what follows it.
  void product();
  /// What is made of the product `text` of these dims; operands are added.
  std::string followed(const std::string& text, Dim rows, Dim columns, DType dtype, std::vector<int>& operands);
  void recurrence();
  void packed_product();
  void whole_reduction();
  void rows_of_rows();
  void region_sum();
};

}  // namespace tessera::check
