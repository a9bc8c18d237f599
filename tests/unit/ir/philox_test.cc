// Philox4x32-10 gives the published known answers (kat_vectors of Random123).

#include "ir/numbers/philox.h"

#include <catch2/catch.hpp>

using namespace tessera;

TEST_CASE("philox gives its known answers") {
  constexpr uint32_t ones = 0xffffffff;
  CHECK(philox::block({0, 0, 0, 0}, {0, 0}) ==
        philox::Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox::block({ones, ones, ones, ones}, {ones, ones}) ==
        philox::Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox::block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        philox::Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a block's number and key are laid out lowest word first") {
  CHECK(philox::block(0x0000000200000001, 0x0000000400000003) ==
        philox::block({1, 2, 0, 0}, {3, 4}));
}
