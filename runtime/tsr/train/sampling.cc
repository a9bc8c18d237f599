#include "runtime/tsr/train/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera::tool::train {

namespace {

/// The tokens that count, the highest scores first.
std::vector<size_t> highest(const std::vector<double>& scores, int64_t count) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t(0));
  auto is_higher = [&](size_t a, size_t b) { return scores[a] > scores[b] || (scores[a] == scores[b] && a < b); };
  size_t kept = count <= 0 ? order.size() : std::min(size_t(count), order.size());
  std::partial_sort(order.begin(), order.begin() + long(kept), order.end(), is_higher);
  order.resize(kept);
  return order;
}

}  // namespace

int64_t choose_token(const std::vector<double>& scores, const Sampling& sampling, uint64_t random) {
  if (scores.empty() || std::ranges::any_of(scores, [](double score) { return std::isnan(score); })) return -1;
  std::vector<size_t> order = highest(scores, sampling.temperature == 0 ? 1 : sampling.top_k);
  double top = scores[order[0]];
  if (!std::isfinite(top)) return -1;
  if (order.size() == 1) return int64_t(order[0]);
  std::vector<double> weights;
  for (size_t token : order) weights.push_back(std::exp((scores[token] - top) / sampling.temperature));
  double total = std::accumulate(weights.begin(), weights.end(), 0.0), sum = 0;
  size_t count = 0;
  while (count < weights.size() && (count == 0 || sum < sampling.top_p * total)) sum += weights[count++];
  double wanted = double(random >> 11) * 0x1p-53 * sum, passed = 0;
  for (size_t i = 0; i < count; ++i) {
    passed += weights[i];
    if (wanted < passed) return int64_t(order[i]);
  }
  return int64_t(order[count - 1]);
}

}  // namespace tessera::tool::train
