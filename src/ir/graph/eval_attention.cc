// gir.flash_attention by its definition: row by row in double, each weight once.

#include <cmath>
#include <limits>

#include "ir/graph/eval_ops.h"
#include "ir/numbers/philox.h"

namespace tessera::graph {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

class AttentionRows {
 public:
  AttentionRows(const AttentionInputs& in, const AttentionOptions& options)
      : in_(in),
        options_(options),
        heads_(in.q.dims()[1]),
        rows_(in.q.dims()[2]),
        depth_(in.q.dims()[3]),
        groups_(in.k.dims()[1]),
        keys_(in.k.dims()[2]),
        columns_(in.v.dims()[3]),
        shift_(in.length - rows_),
        weights_(size_t(keys_)) {}

  /// Row `row` of head `head` of batch `batch`; gives the log of the sum.
  double run(int64_t batch, int64_t head, int64_t row, std::vector<double>& out) {
    int64_t q = (batch * heads_ + head) * rows_ + row;
    int64_t kv = (batch * groups_ + head * groups_ / heads_) * keys_;
    double most = -infinity;
    for (int64_t key = 0; key < keys_; ++key) {
      double score = is_seen(row, key) ? this->score(q, kv + key, key) : -infinity;
      weights_[size_t(key)] = score;
      if (score > most || std::isnan(score)) most = score;
    }
    out.assign(size_t(columns_), 0.0);
    if (most == -infinity) return -infinity;
    double sum = 0;
    for (double& weight : weights_) sum += weight = std::exp(weight - most);
    for (int64_t key = 0; key < keys_; ++key) {
      double weight = dropped(q * keys_ + key, weights_[size_t(key)]) / sum;
      if (weight == 0) continue;
      for (int64_t c = 0; c < columns_; ++c)
        out[size_t(c)] += weight * in_.v.get((kv + key) * columns_ + c).f;
    }
    return most + std::log(sum);
  }

 private:
  /// The key that number `slot` of k and v is; negative or past the last one where there is none.
  int64_t key_of(int64_t slot) const {
    if (!options_.rolling) return slot;
    int64_t last = in_.length - 1;
    return slot > last ? -1 : last - (last - slot) % keys_;
  }

  bool is_seen(int64_t row, int64_t slot) const {
    int64_t place = row + shift_, key = key_of(slot);
    if (key < 0 || key >= in_.length || (options_.causal && key > place)) return false;
    return !options_.window || (key > place - *options_.window && key < place + *options_.window);
  }

  double score(int64_t q, int64_t k, int64_t key) const {
    double sum = 0;
    for (int64_t d = 0; d < depth_; ++d) sum += in_.q.get(q * depth_ + d).f * in_.k.get(k * depth_ + d).f;
    sum *= options_.scale ? *options_.scale : 1 / std::sqrt(double(depth_));
    return in_.bias ? sum + in_.bias->get(q * keys_ + key).f : sum;
  }

  double dropped(int64_t element, double weight) const {
    if (options_.dropout == 0) return weight;
    philox::Counter words = philox::block(uint64_t(element) / 4, options_.key);
    double uniform = double(words[size_t(element % 4)] >> 8) * 0x1p-24;
    return uniform < options_.dropout ? 0 : weight / (1 - options_.dropout);
  }

  const AttentionInputs& in_;
  const AttentionOptions& options_;
  int64_t heads_, rows_, depth_, groups_, keys_, columns_, shift_;
  std::vector<double> weights_;
};

Element rounded(DType dtype, double value) {
  return {.f = decode_float(dtype, encode_float(dtype, value))};
}

}  // namespace

void eval_flash_attention(const AttentionInputs& in, const AttentionOptions& options,
                          TensorValue& result, TensorValue* sums) {
  AttentionRows attention(in, options);
  std::vector<double> out;
  const std::vector<int64_t>& dims = in.q.dims();
  int64_t row = 0;
  for (int64_t b = 0; b < dims[0]; ++b) {
    for (int64_t h = 0; h < dims[1]; ++h) {
      for (int64_t i = 0; i < dims[2]; ++i, ++row) {
        double sum = attention.run(b, h, i, out);
        for (size_t c = 0; c < out.size(); ++c)
          result.set(row * int64_t(out.size()) + int64_t(c), rounded(result.dtype(), out[c]));
        if (sums) sums->set(row, rounded(sums->dtype(), sum));
      }
    }
  }
}

}  // namespace tessera::graph
