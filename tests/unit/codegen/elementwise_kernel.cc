#include "unit/codegen/elementwise_kernel.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <random>

#include "ir/core/op_info.h"

namespace tessera::test {

namespace {

std::string kernel_text(size_t number, const ElementwiseCase& test) {
  auto [kind, from, to] = test;
  const ElementwiseInfo& row = elementwise_info(kind);
  std::string parameters, loads, operands;
  for (unsigned i = 0; i < row.operands; ++i) {
    std::string_view dtype = to_string(operand_dtype(kind, from, i));
    parameters += fmt::format("%x{}: tensor<N, {}>, ", i, dtype);
    loads += fmt::format("    %t{0}: tile<20, {1}> = tile.load %x{0}, [%at], [%left]\n", i, dtype);
    operands += fmt::format("{}%t{}", i ? ", " : "", i);
  }
  return fmt::format(
      R"(  tile.kernel @k{}({}%y: tensor<N, {}>) {{grid = [<((N + 19)//20)>], outputs = 1, schedule = {{}}, scratch = 0}} {{
    %p: i64 = tile.program_id {{axis = 0}}
    %b: i64 = tile.constant {{value = 20}}
    %at: i64 = tile.mul %p, %b
    %n: i64 = tile.dim {{value = <N>}}
    %left: i64 = tile.sub %n, %at
{}    %r: tile<20, {}> = tile.{} {}
    tile.store %r, %y, [%at], [%left]
    tile.return
  }}
)",
      number, parameters, to_string(to), loads, to_string(to), snake_case(row.name), operands);
}

std::string module_text(const std::vector<ElementwiseCase>& cases) {
  std::string text = "module @m level(tile) version(1) {\n";
  for (size_t n = 0; n < cases.size(); ++n) text += kernel_text(n, cases[n]);
  return text + "}\n";
}

std::string show(DType dtype, const uint8_t* address) {
  Element value = load_element(dtype, address);
  uint64_t bits = 0;
  std::memcpy(&bits, address, byte_size(dtype));
  return is_float(dtype) ? fmt::format("{} (0x{:x})", value.f, bits) : fmt::format("{}", value.i);
}

bool equal(DType dtype, const uint8_t* a, const uint8_t* b) {
  if (is_float(dtype) && std::isnan(load_element(dtype, a).f) && std::isnan(load_element(dtype, b).f)) return true;
  return std::memcmp(a, b, byte_size(dtype)) == 0;
}

}  // namespace

DType operand_dtype(ElementwiseKind kind, DType dtype, unsigned n) {
  return kind == ElementwiseKind::Select && n == 0 ? DType::Bool : dtype;
}

ElementwiseKernels::ElementwiseKernels(const std::vector<ElementwiseCase>& cases, const Machine& machine)
    : cases_(cases), module_(module_text(cases), machine) {}

std::vector<uint8_t> ElementwiseKernels::run(size_t n, const std::vector<std::vector<uint8_t>>& operands,
                                             int64_t count) {
  std::vector<uint8_t> out(size_t(count) * byte_size(cases_[n].to) + 64, 0xa5);
  std::vector<void*> buffers;
  for (const auto& operand : operands) buffers.push_back(const_cast<uint8_t*>(operand.data()));
  buffers.push_back(out.data());
  module_.kernel("k" + std::to_string(n))(buffers.data(), &count, 0, (count + 19) / 20, nullptr);
  for (size_t i = out.size() - 64; i < out.size(); ++i) {
    if (out[i] != 0xa5) throw std::runtime_error("the kernel wrote past the end");
  }
  return out;
}

std::string ElementwiseKernels::first_difference(size_t n, const std::vector<std::vector<uint8_t>>& operands,
                                                 int64_t count) {
  auto [kind, from, to] = cases_[n];
  std::vector<uint8_t> out = run(n, operands, count);
  for (int64_t i = 0; i < count; ++i) {
    std::vector<Element> elements;
    std::string text;
    auto address = [&](unsigned operand) {
      return &operands[operand][size_t(i) * byte_size(operand_dtype(kind, from, operand))];
    };
    for (unsigned operand = 0; operand < operands.size(); ++operand) {
      elements.push_back(load_element(operand_dtype(kind, from, operand), address(operand)));
    }
    uint8_t wanted[8];
    store_element(to, evaluate_elementwise(kind, from, to, elements), wanted);
    const uint8_t* found = &out[size_t(i) * byte_size(to)];
    if (equal(to, found, wanted)) continue;
    for (unsigned operand = 0; operand < operands.size(); ++operand) {
      text += (operand ? ", " : "") + show(operand_dtype(kind, from, operand), address(operand));
    }
    return fmt::format("{} {} -> {} on {}: ({}) gives {}, not {}", elementwise_info(kind).name, to_string(from),
                       to_string(to), module_.machine().name, text, show(to, found), show(to, wanted));
  }
  return {};
}

std::vector<uint8_t> all_patterns(DType dtype) {
  size_t size = byte_size(dtype);
  size_t count = size_t(1) << (8 * size);
  std::vector<uint8_t> bytes(count * size);
  for (size_t i = 0; i < count; ++i) std::memcpy(&bytes[i * size], &i, size);
  return bytes;
}

std::vector<uint8_t> sample(DType dtype, int64_t count, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint8_t> bytes(size_t(count) * byte_size(dtype));
  const double specials[] = {0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.0, INFINITY, -INFINITY, NAN, 1e-40, -1e-42,
                             65504, 65520, 3.4e38, -3.4e38, 2147483647.0, -2147483648.0, 4294967296.0, 9.3e18, 255.5};
  for (int64_t i = 0; i < count; ++i) {
    uint8_t* at = &bytes[size_t(i) * byte_size(dtype)];
    uint64_t bits = random();
    bool special = random() % 3 == 0;
    if (dtype == DType::Bool) {
      *at = bits & 1;
    } else if (is_float(dtype)) {
      if (special) {
        bits = encode_float(dtype, specials[random() % std::size(specials)]);
      } else if (random() % 2) {
        bits = encode_float(dtype, (double(bits >> 11) * 0x1p-53 - 0.5) * 40);
      }
      std::memcpy(at, &bits, byte_size(dtype));
    } else {
      unsigned width = dtype_info(dtype).bits;
      const int64_t edges[] = {0, 1, -1, 2, -2, 3, 7, 31, 8, 16, 64, int64_t(uint64_t(1) << (width - 1)),
                               int64_t((uint64_t(1) << (width - 1)) - 1)};
      if (special) bits = uint64_t(edges[random() % std::size(edges)]);
      if (!special && random() % 2) bits >>= random() % 64;
      std::memcpy(at, &bits, byte_size(dtype));
    }
  }
  return bytes;
}

}  // namespace tessera::test
