#pragma once
// Functions of one number by MPFR, what the functions of machine code are measured by.

#include <mpfr.h>

#include "ir/numbers/elementwise.h"

namespace tessera::test {

/// A number of 200 bits that frees itself.
class ExactNumber {
 public:
  ExactNumber() { mpfr_init2(value_, 200); }
  ~ExactNumber() { mpfr_clear(value_); }
  ExactNumber(const ExactNumber&) = delete;
  ExactNumber& operator=(const ExactNumber&) = delete;
  operator mpfr_ptr() { return value_; }

 private:
  mpfr_t value_;
};

/// The function of a finite number.
void exact(ElementwiseKind kind, mpfr_ptr y, mpfr_ptr x);

}  // namespace tessera::test
