// The interpreter's matmul. An element of the result is acc = fma(a, b, acc) over k in
// ascending order, starting from 0, in the accumulator's dtype. Rows of c are the inner loop, so
// that this order is kept while the loop runs on vectors: elements of a row do not depend on each
// other.

#include <algorithm>
#include <type_traits>
#include <vector>

#include "ir/graph/eval_ops.h"
#include "support/check.h"

namespace tessera::graph {

namespace {

[[gnu::always_inline]] inline float fused(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
[[gnu::always_inline]] inline double fused(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}
/// Integers wrap, so that their products may be taken modulo 2^64 and cut down at the end.
[[gnu::always_inline]] inline uint64_t fused(uint64_t a, uint64_t b, uint64_t c) {
  return a * b + c;
}

/// A matmul c[m, n] += a[m, k] b[k, n] of row-major matrices whose rows are that far apart.
template <typename T>
struct Matmul {
  const T* a;
  const T* b;
  T* c;
  int64_t m, n, k;
  int64_t a_row, b_row, c_row;
};

template <int rows, int steps, typename T>
[[gnu::always_inline]] inline void accumulate_block(const Matmul<T>& p, int64_t i, int64_t l) {
#pragma GCC ivdep
  for (int64_t j = 0; j < p.n; ++j) {
    for (int r = 0; r < rows; ++r) {
      T sum = p.c[(i + r) * p.c_row + j];
      for (int s = 0; s < steps; ++s) {
        sum = fused(p.a[(i + r) * p.a_row + l + s], p.b[(l + s) * p.b_row + j], sum);
      }
      p.c[(i + r) * p.c_row + j] = sum;
    }
  }
}

template <int rows, typename T>
[[gnu::always_inline]] inline void accumulate_rows(const Matmul<T>& p, int64_t i) {
  int64_t l = 0;
  for (; l + 4 <= p.k; l += 4) accumulate_block<rows, 4>(p, i, l);
  for (; l < p.k; ++l) accumulate_block<rows, 1>(p, i, l);
}

template <typename T>
[[gnu::always_inline]] inline void accumulate_all(const Matmul<T>& p) {
  int64_t i = 0;
  for (; i + 2 <= p.m; i += 2) accumulate_rows<2>(p, i);
  for (; i < p.m; ++i) accumulate_rows<1>(p, i);
}

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void accumulate_with_fma(const Matmul<float>& p) {
  accumulate_all(p);
}
[[gnu::target("avx2,fma")]] void accumulate_with_fma(const Matmul<double>& p) {
  accumulate_all(p);
}
#endif

/// The same bits in both cases: without the instruction, fma is a function of the C library.
template <typename T>
void accumulate(const Matmul<T>& p) {
#if defined(__x86_64__)
  static const bool has_fma = __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
  if constexpr (!std::is_same_v<T, uint64_t>) {
    if (has_fma) return accumulate_with_fma(p);
  }
#endif
  accumulate_all(p);
}

template <typename T>
T number(Element element) {
  if constexpr (std::is_same_v<T, uint64_t>) {
    return uint64_t(element.i);
  } else {
    return T(element.f);
  }
}

/// The elements [first, first + rows*columns) of a value as a matrix, transposed when asked.
template <typename T>
std::vector<T> matrix(const TensorValue& value, int64_t first, int64_t rows, int64_t columns,
                      bool transposed) {
  std::vector<T> out(size_t(rows * columns));
  std::vector<Element> row(static_cast<size_t>(columns));
  for (int64_t i = 0; i < rows; ++i) {
    const std::byte* at = value.data() + size_t(first + i * columns) * byte_size(value.dtype());
    load_elements(value.dtype(), at, row.data(), row.size());
    for (int64_t j = 0; j < columns; ++j) {
      out[size_t(transposed ? j * rows + i : i * columns + j)] = number<T>(row[size_t(j)]);
    }
  }
  return out;
}

/// How partial sums along k are rounded, see docs/numerics.md.
struct Rounding {
  int64_t every = 0;      ///< elements of k between roundings; 0: never
  bool separate = false;  ///< the partial sum starts from 0 and is added, instead of being rounded
};

Rounding rounding_of(const GemmOptions& options, bool exact) {
  if (!exact || !is_float(options.accum)) return {};
  if (dtype_info(options.accum).bits == 16) return {64, false};
  if (dtype_info(options.operand).bits == 8) return {128, true};
  return {};
}

template <typename T>
void multiply(const Matmul<T>& p, const Rounding& rounding, DType accum) {
  int64_t step = rounding.every ? rounding.every : std::max<int64_t>(p.k, 1);
  std::vector<T> partial(rounding.separate ? size_t(p.m * p.n) : 0);
  for (int64_t l = 0; l < p.k; l += step) {
    Matmul<T> part = p;
    part.k = std::min(step, p.k - l);
    part.a += l;
    part.b += l * p.b_row;
    if (rounding.separate) {
      std::fill(partial.begin(), partial.end(), T(0));
      part.c = partial.data();
    }
    accumulate(part);
    if (!rounding.every) continue;
    for (int64_t i = 0; i < p.m * p.n; ++i) {
      if (rounding.separate) {
        p.c[i] += partial[size_t(i)];
      } else if constexpr (std::is_floating_point_v<T>) {
        p.c[i] = T(decode_float(accum, encode_float(accum, double(p.c[i]))));
      }
    }
  }
}

template <typename T>
void eval_typed(const TensorValue& a, const TensorValue& b, const GemmOptions& options,
                TensorValue& result) {
  int64_t m = result.dims()[result.rank() - 2], n = result.dims().back();
  int64_t k = a.dims()[a.rank() - 2 + (options.transpose_a ? 0 : 1)];
  if (result.count() == 0) return;
  bool exact = result.dtype() == options.accum;
  int64_t batches = result.count() / (m * n);
  std::vector<T> b_matrix, c(size_t(m * n));
  std::vector<Element> out(size_t(m * n));
  for (int64_t batch = 0; batch < batches; ++batch) {
    std::vector<T> a_matrix = matrix<T>(a, batch * m * k, options.transpose_a ? k : m,
                                        options.transpose_a ? m : k, options.transpose_a);
    if (batch == 0 || b.rank() > 2) {
      b_matrix = matrix<T>(b, b.rank() > 2 ? batch * k * n : 0, options.transpose_b ? n : k,
                           options.transpose_b ? k : n, options.transpose_b);
    }
    std::fill(c.begin(), c.end(), T(0));
    multiply<T>({a_matrix.data(), b_matrix.data(), c.data(), m, n, k, k, n, n},
                rounding_of(options, exact), options.accum);
    for (size_t i = 0; i < c.size(); ++i) {
      if constexpr (std::is_same_v<T, uint64_t>) {
        out[i].i = int64_t(c[i]);
      } else {
        out[i].f = double(c[i]);
      }
    }
    store_elements(result.dtype(), out.data(),
                   result.data() + size_t(batch * m * n) * byte_size(result.dtype()), out.size());
  }
}

}  // namespace

void eval_gemm(const TensorValue& a, const TensorValue& b, const GemmOptions& options,
               TensorValue& result) {
  if (!is_float(result.dtype())) return eval_typed<uint64_t>(a, b, options, result);
  if (result.dtype() == DType::F64) return eval_typed<double>(a, b, options, result);
  eval_typed<float>(a, b, options, result);
}

}  // namespace tessera::graph
