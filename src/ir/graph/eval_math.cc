// Softmax, norms, losses and random numbers: row by row, each step rounded to the working type T,
// which is double for f64 and float for everything narrower; the row is rounded to its dtype at the
// end.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "ir/graph/eval_ops.h"
#include "ir/numbers/philox.h"

namespace tessera::graph {

namespace {

// Functions of one number as docs/numerics.md has them: computed in double, then rounded to T.
template <typename T>
T exponential(T x) {
  return T(std::exp(double(x)));
}
template <typename T>
T logarithm(T x) {
  return T(std::log(double(x)));
}

template <typename T>
class Rows {
 public:
  explicit Rows(const TensorValue& value)
      : value_(value), length_(value.dims().back()), buffer_(static_cast<size_t>(length_)) {}

  int64_t length() const { return length_; }
  int64_t count() const { return length_ ? value_.count() / length_ : 0; }

  void load(int64_t row, std::vector<T>& out) {
    load_elements(value_.dtype(), value_.data() + offset(row), buffer_.data(), buffer_.size());
    out.resize(buffer_.size());
    for (size_t i = 0; i < out.size(); ++i) out[i] = T(buffer_[i].f);
  }
  void store(int64_t row, const std::vector<T>& values, TensorValue& to) {
    for (size_t i = 0; i < values.size(); ++i) {
      to.set(row * length_ + int64_t(i), {.f = rounded(values[i])});
    }
  }
  double rounded(T value) const {
    return decode_float(value_.dtype(), encode_float(value_.dtype(), double(value)));
  }

 private:
  size_t offset(int64_t row) const { return size_t(row * length_) * byte_size(value_.dtype()); }
  const TensorValue& value_;
  int64_t length_;
  std::vector<Element> buffer_;
};

/// The greatest element, NaN if one is NaN, -inf of none.
template <typename T>
T greatest(const std::vector<T>& row) {
  T most = -std::numeric_limits<T>::infinity();
  for (T x : row) {
    if (std::isnan(x)) return x;
    if (x > most) most = x;
  }
  return most;
}

template <typename T>
void softmax_rows(const TensorValue& a, TensorValue& result) {
  Rows<T> rows(a);
  std::vector<T> row;
  for (int64_t r = 0; r < rows.count(); ++r) {
    rows.load(r, row);
    T most = greatest(row), sum = 0;
    bool masked = most == -std::numeric_limits<T>::infinity();
    for (T& x : row) {
      x = masked ? T(0) : exponential<T>(x - most);
      sum += x;
    }
    for (T& x : row) x = masked ? T(0) : x / sum;
    rows.store(r, row, result);
  }
}

template <typename T>
void rmsnorm_rows(const TensorValue& x, const TensorValue* scale, double eps, TensorValue& result) {
  Rows<T> rows(x);
  std::vector<T> row, scales;
  if (scale) Rows<T>(*scale).load(0, scales);
  for (int64_t r = 0; r < rows.count(); ++r) {
    rows.load(r, row);
    T sum = 0;
    for (T value : row) sum += value * value;
    T root = std::sqrt(sum / T(rows.length()) + T(eps));
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] /= root;
      if (scale) row[i] *= scales[i];
    }
    rows.store(r, row, result);
  }
}

template <typename T>
T cross_entropy(const std::vector<T>& row, int64_t target) {
  if (target < 0 || target >= int64_t(row.size())) return std::numeric_limits<T>::quiet_NaN();
  T most = greatest(row), sum = 0;
  if (most == -std::numeric_limits<T>::infinity()) return -most;  // the softmax is 0
  for (T x : row) sum += exponential<T>(x - most);
  return logarithm<T>(sum) - (row[size_t(target)] - most);
}

template <typename T>
void cross_entropy_rows(const TensorValue& logits, const TensorValue& targets,
                        TensorValue& result) {
  Rows<T> rows(logits);
  std::vector<T> row;
  for (int64_t r = 0; r < result.count(); ++r) {
    rows.load(r, row);
    result.set(r, {.f = rows.rounded(cross_entropy(row, targets.get(r).i))});
  }
}

/// The four numbers of a block.
template <typename T>
using Four = std::array<T, 4>;

template <typename T>
Four<T> uniform_block(const philox::Counter& words) {
  Four<T> out;
  for (size_t i = 0; i < 4; ++i) out[i] = T(words[i] >> 8) * T(0x1p-24);
  return out;
}

/// Two pairs of normal numbers from two pairs of words (Box and Muller).
template <typename T>
Four<T> normal_block(const philox::Counter& words) {
  Four<T> out;
  for (size_t even = 0; even < 4; even += 2) {
    T u1 = T(uint64_t(words[even]) + 1) * T(0x1p-32);
    T u2 = T(words[even + 1] >> 8) * T(0x1p-24);
    T radius = std::sqrt(T(-2) * logarithm<T>(u1));
    double angle = double(T(2 * std::numbers::pi) * u2);
    out[even] = radius * T(std::cos(angle));
    out[even + 1] = radius * T(std::sin(angle));
  }
  return out;
}

/// Fills a tensor block by block; the last one may be needed in part.
template <typename T>
void draw(uint64_t key, Four<T> (*block)(const philox::Counter&), TensorValue& result) {
  std::span<T> out = result.as<T>();
  for (size_t i = 0; i < out.size(); i += 4) {
    Four<T> four = block(philox::block(uint64_t(i / 4), key));
    std::copy_n(four.begin(), std::min<size_t>(4, out.size() - i), out.begin() + ptrdiff_t(i));
  }
}

}  // namespace

void eval_softmax(const TensorValue& a, TensorValue& result) {
  if (a.dtype() == DType::F64) return softmax_rows<double>(a, result);
  softmax_rows<float>(a, result);
}

void eval_rmsnorm(const TensorValue& x, const TensorValue* scale, double eps, TensorValue& result) {
  if (x.dtype() == DType::F64) return rmsnorm_rows<double>(x, scale, eps, result);
  rmsnorm_rows<float>(x, scale, eps, result);
}

void eval_cross_entropy(const TensorValue& logits, const TensorValue& targets,
                        TensorValue& result) {
  if (logits.dtype() == DType::F64) return cross_entropy_rows<double>(logits, targets, result);
  cross_entropy_rows<float>(logits, targets, result);
}

void eval_philox_uniform(uint64_t key, TensorValue& result) {
  if (result.dtype() == DType::F64) return draw(key, uniform_block<double>, result);
  draw(key, uniform_block<float>, result);
}

void eval_philox_normal(uint64_t key, TensorValue& result) {
  if (result.dtype() == DType::F64) return draw(key, normal_block<double>, result);
  draw(key, normal_block<float>, result);
}

}  // namespace tessera::graph
