#include "ir/numbers/philox.h"

#include "support/hash.h"

namespace tessera::philox {

Counter block(Counter counter, Key key) {
  for (int round = 0; round < rounds; ++round) {
    uint64_t p0 = uint64_t(multiplier_0) * counter[0];
    uint64_t p1 = uint64_t(multiplier_1) * counter[2];
    counter = {uint32_t(p1 >> 32) ^ counter[1] ^ key[0], uint32_t(p1),
               uint32_t(p0 >> 32) ^ counter[3] ^ key[1], uint32_t(p0)};
    key[0] += increment_0;
    key[1] += increment_1;
  }
  return counter;
}

Counter block(uint64_t n, uint64_t key) {
  return block(Counter{uint32_t(n), uint32_t(n >> 32), 0, 0},
               Key{uint32_t(key), uint32_t(key >> 32)});
}

uint64_t stream_of(std::string_view name) {
  return hash64(name) >> 1;  // attributes are signed
}

}  // namespace tessera::philox
