#include "unit/codegen/amx_emulator.h"

#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace tessera::test {

namespace {

struct Tile {
  uint8_t rows[16][64];
};

struct Tiles {
  bool configured = false;
  int rows[8] = {};
  int bytes[8] = {};
  Tile tiles[8] = {};
};

thread_local Tiles state;
std::atomic<long> product_count = 0;
struct sigaction before;

/// One instruction with a three-byte VEX prefix of the map 0F38.
struct Instruction {
  int prefix;  ///< 0 none, 1 66, 2 F3, 3 F2
  uint8_t opcode;
  bool has_memory;
  int reg, rm, vvvv;
  uint8_t* address;
  int64_t index;  ///< of a tile's memory operand: bytes from row to row
  const uint8_t* end;
};

/// General registers in the order of their encoding.
constexpr int registers[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                               REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                               REG_R12, REG_R13, REG_R14, REG_R15};

int64_t read_displacement(const uint8_t*& at, int bytes) {
  int8_t near;
  int32_t far;
  if (bytes == 1) std::memcpy(&near, at, 1);
  if (bytes == 4) std::memcpy(&far, at, 4);
  at += bytes;
  return bytes == 1 ? near : far;
}

/// Reads the memory operand after the ModRM byte.
void read_memory(Instruction& found, const uint8_t* at, const greg_t* values, int mod, int rm,
                 bool x, bool b) {
  int64_t base = 0;
  bool relative = false;
  if (rm == 4) {
    int scale = *at >> 6, index = (*at >> 3 & 7) + 8 * x, low = *at & 7;
    ++at;
    if (index != 4) found.index = values[registers[index]] << scale;
    if (low == 5 && mod == 0) {
      base = read_displacement(at, 4);
    } else {
      base = values[registers[low + 8 * b]];
    }
  } else if (rm == 5 && mod == 0) {
    base = read_displacement(at, 4);
    relative = true;
  } else {
    base = values[registers[rm + 8 * b]];
  }
  if (mod == 1) base += read_displacement(at, 1);
  if (mod == 2) base += read_displacement(at, 4);
  if (relative) base += int64_t(at);
  found.address = reinterpret_cast<uint8_t*>(base);
  found.end = at;
}

bool decode(const uint8_t* at, const greg_t* values, Instruction& found) {
  if (at[0] != 0xc4 || (at[1] & 0x1f) != 2) return false;
  bool r = !(at[1] & 0x80), x = !(at[1] & 0x40), b = !(at[1] & 0x20);
  found = {at[2] & 3, at[3], false, 0, 0, ~(at[2] >> 3) & 15, nullptr, 0, nullptr};
  int mod = at[4] >> 6, rm = at[4] & 7;
  found.reg = (at[4] >> 3 & 7) + 8 * r;
  found.rm = rm + 8 * b;
  found.has_memory = mod != 3;
  found.end = at + 5;
  if (found.has_memory) read_memory(found, at + 5, values, mod, rm, x, b);
  return true;
}

float from_bf16(const uint8_t* at) {
  uint16_t bits;
  std::memcpy(&bits, at, 2);
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

/// Denormals are zeros, before and after.
float flush(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}
float multiply_add(float a, float b, float c) {
  return flush(std::fmaf(flush(a), flush(b), flush(c)));
}

void multiply(int into, int a, int b) {
  for (int m = 0; m < state.rows[into]; ++m) {
    for (int n = 0; n < state.bytes[into] / 4; ++n) {
      float even = 0, odd = 0;
      for (int k = 0; k < state.bytes[a] / 4; ++k) {
        const uint8_t *x = &state.tiles[a].rows[m][4 * k], *y = &state.tiles[b].rows[k][4 * n];
        even = multiply_add(from_bf16(x), from_bf16(y), even);
        odd = multiply_add(from_bf16(x + 2), from_bf16(y + 2), odd);
      }
      float sum;
      std::memcpy(&sum, &state.tiles[into].rows[m][4 * n], 4);
      sum = flush(flush(sum) + flush(even + odd));
      std::memcpy(&state.tiles[into].rows[m][4 * n], &sum, 4);
    }
  }
  ++product_count;
}

void configure(const uint8_t* config) {
  state = {};
  state.configured = true;
  for (int tile = 0; tile < 8; ++tile) {
    state.bytes[tile] = config[16 + 2 * tile];
    state.rows[tile] = config[48 + tile];
  }
}

void move(const Instruction& it, bool stores) {
  for (int row = 0; row < state.rows[it.reg]; ++row) {
    uint8_t* memory = it.address + row * it.index;
    uint8_t* tile = state.tiles[it.reg].rows[row];
    std::memcpy(stores ? memory : tile, stores ? tile : memory, size_t(state.bytes[it.reg]));
  }
}

bool execute(const Instruction& it) {
  constexpr int none = 0, f3 = 2, f2 = 3;
  if (it.opcode == 0x49 && it.prefix == none && it.has_memory) {
    if (it.address[0] != 1) return false;
    configure(it.address);
  } else if (it.opcode == 0x49 && it.prefix == none) {
    state = {};
  } else if (!state.configured) {
    return false;
  } else if (it.opcode == 0x49 && it.prefix == f2 && !it.has_memory) {
    state.tiles[it.reg] = {};
  } else if (it.opcode == 0x4b && (it.prefix == f2 || it.prefix == f3) && it.has_memory) {
    move(it, it.prefix == f3);
  } else if (it.opcode == 0x5c && it.prefix == f3 && !it.has_memory) {
    multiply(it.reg, it.rm, it.vvvv);
  } else {
    return false;
  }
  return true;
}

void on_illegal_instruction(int, siginfo_t*, void* raw) {
  auto* context = static_cast<ucontext_t*>(raw);
  greg_t* values = context->uc_mcontext.gregs;
  Instruction found;
  if (decode(reinterpret_cast<const uint8_t*>(values[REG_RIP]), values, found) && execute(found)) {
    values[REG_RIP] = greg_t(found.end);
    return;
  }
  sigaction(SIGILL, &before, nullptr);
}

}  // namespace

AmxEmulator::AmxEmulator() {
  if (is_native()) return;
  struct sigaction action {};
  action.sa_sigaction = on_illegal_instruction;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGILL, &action, &before);
}

AmxEmulator::~AmxEmulator() {
  if (!is_native()) sigaction(SIGILL, &before, nullptr);
}

bool AmxEmulator::is_native() {
  constexpr int request_permission = 0x1023, tile_data = 18;
  static const bool native = __builtin_cpu_supports("amx-bf16") &&
                             syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  return native;
}

long AmxEmulator::products() {
  return product_count;
}
bool AmxEmulator::is_configured() {
  return state.configured;
}

}  // namespace tessera::test
