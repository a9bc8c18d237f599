// Attention. Implementations differ in how they compute a row: all at once or block by block of keys with a running
// maximum, with weights rounded to v's dtype before the sum divides them or after, as powers of e or of 2. The bounds
// allow each of these.

#include <cmath>
#include <optional>

#include "check/bounds_ops.h"

namespace tessera::check {

namespace {

/// Powers of e of numbers near the row's greatest score.
struct Scores {
  std::vector<double> low, high;
  double least_most, most;  ///< between which the greatest lies
};

class AttentionBounds {
 public:
  AttentionBounds(const AttentionRanges& in, DType accum)
      : in_(in), accum_(accum), u_(unit_roundoff(accum)), scores_(scores()) {}

  void run(RangeTensor& result, RangeTensor* sums) const {
    int64_t rows = in_.q->dims[0] * in_.q->dims[1] * in_.q->dims[2], columns = in_.v->dims[3];
    for (int64_t row = 0; row < rows; ++row) {
      std::optional<Scores> seen = seen_by(row);
      for (int64_t c = 0; c < columns; ++c) {
        result.ranges[size_t(row * columns + c)] = seen ? column(*seen, row, c) : any_value(accum_);
      }
      if (sums) sums->ranges[size_t(row)] = seen ? log_sum(*seen) : any_value(accum_);
    }
  }

 private:
  int64_t keys() const { return in_.k->dims[2]; }

  /// q k^T, times the scale, plus the bias, [B, H, S, T].
  RangeTensor scores() const {
    const RangeTensor &q = *in_.q, &k = *in_.k;
    int64_t heads = q.dims[1], groups = k.dims[1];
    RangeTensor matrix{q.dtype, {q.dims[2], q.dims[3]}, {}}, keys{k.dtype, {k.dims[2], k.dims[3]}, {}};
    RangeTensor all{accum_, {q.dims[0], heads, q.dims[2], k.dims[2]}, {}};
    for (int64_t head = 0; head < q.dims[0] * heads; ++head) {
      int64_t group = head / heads * groups + head % heads * groups / heads;
      auto part = [](const RangeTensor& from, int64_t at, RangeTensor& to) {
        int64_t size = to.dims[0] * to.dims[1];
        to.ranges.assign(from.ranges.begin() + at * size, from.ranges.begin() + (at + 1) * size);
      };
      part(q, head, matrix);
      part(k, group, keys);
      RangeTensor product{accum_, {q.dims[2], k.dims[2]}, {}};
      product.ranges.resize(size_t(q.dims[2] * k.dims[2]));
      multiply(matrix, keys, {accum_, false, true}, product);
      all.ranges.insert(all.ranges.end(), product.ranges.begin(), product.ranges.end());
    }
    for (size_t i = 0; i < all.ranges.size(); ++i) {
      const Range* bias = in_.bias ? &in_.bias->ranges[i] : nullptr;
      all.ranges[i] = scaled(all.ranges[i], bias);
    }
    return all;
  }

  /// The score and what it may be off by: the scale and logarithms in base 2 are numbers of the dtype, and each step
  /// is rounded.
  Range scaled(const Range& product, const Range* bias) const {
    double low = product.low.f * in_.scale, high = product.high.f * in_.scale;
    bool nan = product.nan || (bias && bias->nan);
    double apart = 3 * u_ * std::max(std::fabs(low), std::fabs(high));
    if (bias) {
      low += bias->low.f, high += bias->high.f;
      apart += 2 * u_ * std::max(std::fabs(bias->low.f), std::fabs(bias->high.f));
    }
    double most = std::max(std::fabs(low), std::fabs(high));
    apart += 4 * u_ * most;
    return {{.f = low - apart}, {.f = high + apart}, nan};
  }

  bool is_seen(int64_t place, int64_t key) const {
    if (key >= in_.length || (in_.causal && key > place)) return false;
    return !in_.window || (key > place - *in_.window && key < place + *in_.window);
  }

  /// The scores of a row, -inf for what it does not see; nothing where some of them may be no numbers.
  std::optional<Scores> seen_by(int64_t row) const {
    int64_t place = row % in_.q->dims[2] + in_.length - in_.q->dims[2];
    Scores found{{}, {}, -infinity, -infinity};
    for (int64_t key = 0; key < keys(); ++key) {
      bool seen = is_seen(place, key);
      const Range& score = scores_.ranges[size_t(row * keys() + key)];
      bool masked = !score.nan && score.high.f == -infinity;
      if (seen && !masked && (score.nan || !std::isfinite(magnitude(score)))) return std::nullopt;
      found.low.push_back(seen ? score.low.f : -infinity);
      found.high.push_back(seen ? score.high.f : -infinity);
      found.least_most = std::max(found.least_most, found.low.back());
      found.most = std::max(found.most, found.high.back());
    }
    return found;
  }

  /// What the exponentials of a row are off by, relatively: each of a difference with the maximum, scaled again with
  /// each block of keys that comes later.
  double relative(const Scores& scores) const {
    double far = 0;
    for (double low : scores.low) {
      if (low != -infinity) far = std::max(far, scores.most - low);
    }
    double blocks = double(keys()) / 8 + 2;
    return u_ * (4 * std::min(far, 800.0) + 6 * blocks + 2 * double(keys()) + 16);
  }

  /// Scores so large that their rounding decides which of them are seen at all.
  bool is_beyond_precision(const Scores& scores) const {
    return relative(scores) > 0.25 || scores.most - scores.least_most > 1000;
  }

  Range column(const Scores& scores, int64_t row, int64_t c) const {
    if (scores.most == -infinity) return {{.f = -0.0}, {.f = 0.0}};
    if (is_beyond_precision(scores)) return any_value(accum_);
    long double all_low = 0, all_high = 0;
    for (size_t i = 0; i < scores.low.size(); ++i) {
      all_low += std::exp(static_cast<long double>(scores.low[i] - scores.most));
      all_high += std::exp(static_cast<long double>(scores.high[i] - scores.most));
    }
    long double low = 0, high = 0, total = 0, tiny = 0;
    const RangeTensor& v = *in_.v;
    int64_t heads = in_.q->dims[1], head = row / in_.q->dims[2], columns = v.dims[3];
    int64_t group = head / heads * v.dims[1] + head % heads * v.dims[1] / heads;
    for (int64_t key = 0; key < keys(); ++key) {
      if (scores.high[size_t(key)] == -infinity) continue;
      const Range& value = v.ranges[size_t((group * keys() + key) * columns + c)];
      if (value.nan || !std::isfinite(magnitude(value))) return any_value(accum_);
      long double own_low = std::exp(static_cast<long double>(scores.low[size_t(key)] - scores.most));
      long double own_high = std::exp(static_cast<long double>(scores.high[size_t(key)] - scores.most));
      long double least = own_low / (own_low + (all_high - own_high));
      long double greatest = own_high / (own_high + (all_low - own_low));
      low += std::min(least * value.low.f, greatest * value.low.f);
      high += std::max(least * value.high.f, greatest * value.high.f);
      total += greatest * magnitude(value);
      tiny += magnitude(value);
    }
    double rounding = v.dtype == DType::F64 ? 0 : 2 * unit_roundoff(v.dtype);
    double least_weight = v.dtype == DType::F16 ? 0x1p-23 : accum_ == DType::F64 ? 0x1p-1000 : 0x1p-120;
    long double apart = total * (2 * relative(scores) + rounding) * 1.01L + tiny * least_weight;
    if (total * 2 > largest_finite(accum_)) return any_value(accum_);
    Range range = rounded_range(accum_, double(low - apart), double(high + apart));
    if (range.low.f == 0) range.low.f = -0.0;
    if (range.high.f == 0) range.high.f = 0.0;
    return range;
  }

  Range log_sum(const Scores& scores) const {
    if (scores.most == -infinity) return point_range(accum_, {.f = -infinity});
    if (is_beyond_precision(scores)) return any_value(accum_);
    long double low = 0, high = 0;
    for (size_t i = 0; i < scores.low.size(); ++i) {
      low += std::exp(static_cast<long double>(scores.low[i] - scores.most));
      high += std::exp(static_cast<long double>(scores.high[i] - scores.most));
    }
    double first = double(scores.most + std::log(low)), last = double(scores.most + std::log(high));
    double apart = relative(scores) + 8 * u_ * (1 + std::fabs(scores.most) + std::log(double(keys()) + 1));
    return rounded_range(accum_, first - apart, last + apart);
  }

  const AttentionRanges& in_;
  DType accum_;
  double u_;
  RangeTensor scores_;
};

}  // namespace

void attend(const AttentionRanges& in, RangeTensor& result, RangeTensor* sums) {
  AttentionBounds(in, result.dtype).run(result, sums);
}

}  // namespace tessera::check
