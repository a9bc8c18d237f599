// The errors of functions of one number over all their inputs: machine code beside MPFR.
//
// A function of bf16, f16 or f8 is that of f32, rounded once. Where the f32 result lies within its error of the middle
// between two numbers of the dtype, it is rounded to the wrong one; how often that happens, and the largest error in
// units of the dtype's last place, is a table of docs/numerics.md. Functions of f32 have another one, of the largest
// error over all 2^32 arguments and where it is (function_search.cc).
//
//   check-functions                  prints the table of narrow dtypes
//   check-functions --check FILE     fails unless the file has it, and for f32 the errors at the arguments it names
//   check-functions --write FILE     replaces both in the file
//   check-functions --singles        prints the table of f32, which takes about a minute for each function;
//                                    --function NAME, of one; --shard 0/4, of a part of the arguments

#include <fmt/format.h>
#include <mpfr.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "check/range.h"
#include "check/tools/function_table.h"
#include "unit/codegen/exact.h"

namespace tessera::check {

namespace {

using Kind = ElementwiseKind;
using test::exact;
using Number = test::ExactNumber;

constexpr DType dtypes[] = {DType::BF16, DType::F16, DType::F8E4M3, DType::F8E5M2};

constexpr Function functions[] = {
    {"exp", "exp(x)", Kind::Exp},          {"exp2", "exp2(x)", Kind::Exp2},
    {"expm1", "expm1(x)", Kind::Expm1},    {"log", "log(x)", Kind::Log},
    {"log2", "log2(x)", Kind::Log2},       {"log1p", "log1p(x)", Kind::Log1p},
    {"sqrt", "sqrt(x)", Kind::Sqrt},       {"rsqrt", "rsqrt(x)", Kind::Rsqrt},
    {"reciprocal", "reciprocal(x)", Kind::Reciprocal}, {"sin", "sin(x)", Kind::Sin},
    {"cos", "cos(x)", Kind::Cos},          {"tanh", "tanh(x)", Kind::Tanh},
    {"sigmoid", "sigmoid(x)", Kind::Sigmoid}, {"erf", "erf(x)", Kind::Erf},
    {"gelu", "gelu(x)", Kind::Gelu},       {"silu", "silu(x)", Kind::Silu},
    {"relu", "relu(x)", Kind::Relu},       {"abs", "abs(x)", Kind::Abs},
    {"neg", "-x", Kind::Neg},              {"sign", "sign(x)", Kind::Sign},
    {"floor", "floor(x)", Kind::Floor},    {"ceil", "ceil(x)", Kind::Ceil},
    {"round", "round(x)", Kind::Round},    {"trunc", "trunc(x)", Kind::Trunc},
};

/// How far a dtype's results are from the mathematics.
struct Errors {
  double units = 0;      ///< the largest, in units of the last place of the exact result
  int64_t misrounded = 0;  ///< results that are not the nearest number
  int64_t wrong = 0;     ///< NaN, infinities and signs of zeros that are not what they should be
};

/// The exponent of the last place of a number of the dtype.
long last_place(DType dtype, mpfr_ptr value) {
  static constexpr int least[] = {-133, -24, -9, -16};
  size_t index = size_t(std::find(std::begin(dtypes), std::end(dtypes), dtype) - dtypes);
  return mpfr_zero_p(value) ? least[index] : std::max<long>(mpfr_get_exp(value) - precision(dtype), least[index]);
}

/// The exact result rounded to the dtype. 160 bits are rounded to a double by way of odd, so that nothing is rounded
/// twice to nearest.
double nearest(DType dtype, mpfr_ptr value) {
  double down = mpfr_get_d(value, MPFR_RNDZ);
  if (std::isinf(down) || std::isnan(down) || mpfr_cmp_d(value, down) == 0) return rounded(dtype, down);
  auto bits = std::bit_cast<uint64_t>(down) | 1;
  return rounded(dtype, std::bit_cast<double>(bits));
}

void measure(const Function& function, DType dtype, double x, double got, Errors& errors) {
  Element operand{.f = x};
  if (!std::isfinite(x) || x == 0) {
    // What is not a finite number has its limit, which the table of elements knows.
    double wanted = evaluate_elementwise(function.kind, dtype, dtype, {&operand, 1}).f;
    bool same = std::isnan(wanted) ? std::isnan(got) : got == wanted && std::signbit(got) == std::signbit(wanted);
    errors.wrong += !same;
    return;
  }
  Number argument, wanted, apart;
  mpfr_set_d(argument, x, MPFR_RNDN);
  exact(function.kind, wanted, argument);
  double best = mpfr_nan_p(wanted) ? NAN : nearest(dtype, wanted);
  if (std::isnan(best) || std::isnan(got) || std::isinf(best) || std::isinf(got)) {
    bool same = std::isnan(best) ? std::isnan(got) : got == best;
    errors.wrong += !same;
    return;
  }
  errors.wrong += got == 0 && best == 0 && std::signbit(got) != std::signbit(best);
  errors.misrounded += got != best;
  mpfr_sub_d(apart, wanted, got, MPFR_RNDN);
  mpfr_mul_2si(apart, apart, -last_place(dtype, wanted), MPFR_RNDN);
  errors.units = std::max(errors.units, std::fabs(mpfr_get_d(apart, MPFR_RNDN)));
}

/// Every number of the dtype.
TensorValue all_of(DType dtype) {
  int64_t count = int64_t(1) << dtype_info(dtype).bits;
  TensorValue values = std::move(*TensorValue::make(dtype, {count}));
  for (int64_t i = 0; i < count; ++i) {
    std::byte* at = values.data() + i * byte_size(dtype);
    for (unsigned b = 0; b < byte_size(dtype); ++b) at[b] = std::byte(i >> (8 * b) & 255);
  }
  return values;
}

/// The results of all functions, the same on all machines that this processor can be.
Tensors computed(DType dtype, const Tensors& arguments) {
  Subject subject(source_of(functions, dtype));
  if (!subject.entry()) throw std::runtime_error(subject.messages());
  Tensors results;
  Tensors shapes = std::move(*subject.interpret(arguments));
  for (const Machine* machine : runnable_cpus()) {
    if (!subject.prepare(Way::Code, machine)) throw std::runtime_error(subject.messages() + subject.problem());
    auto found = subject.compute(arguments, shapes, *subject.bind(arguments));
    if (!found) throw std::runtime_error(subject.problem());
    for (size_t f = 0; !results.empty() && f < results.size(); ++f) {
      if (same_bits(results[f], (*found)[f])) continue;
      throw std::runtime_error(
          fmt::format("{} of {} differs on {}", functions[f].name, to_string(dtype), machine->name));
    }
    results = std::move(*found);
  }
  return results;
}

std::string table() {
  std::string text = "| function |";
  std::string line = "\n| --- |";
  std::vector<std::string> rows;
  for (const Function& function : functions) rows.push_back(fmt::format("| {} |", function.name));
  for (DType dtype : dtypes) {
    text += fmt::format(" {} |", to_string(dtype));
    line += " --- |";
    Tensors arguments;
    arguments.push_back(all_of(dtype));
    Tensors results = computed(dtype, arguments);
    for (size_t f = 0; f < results.size(); ++f) {
      Errors errors;
      for (int64_t i = 0; i < arguments[0].count(); ++i) {
        measure(functions[f], dtype, arguments[0].get(i).f, results[f].get(i).f, errors);
      }
      rows[f] += errors.misrounded ? fmt::format(" {:.4f}, {} |", errors.units, errors.misrounded)
                                   : fmt::format(" {:.4f} |", errors.units);
      if (errors.wrong) rows[f] += fmt::format(" **{} wrong** |", errors.wrong);
    }
  }
  text += line + "\n";
  for (const std::string& row : rows) text += row + "\n";
  return text;
}

constexpr std::string_view narrow_mark = "<!-- check-functions -->\n";
constexpr std::string_view single_mark = "<!-- check-functions --singles -->\n";
constexpr std::string_view end_mark = "<!-- end -->\n";

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The part of the text between a mark and the next end.
std::string_view part_behind(std::string_view text, std::string_view mark) {
  size_t begin = text.find(mark);
  size_t end = begin == std::string::npos ? begin : text.find(end_mark, begin);
  if (end == std::string::npos) throw std::runtime_error("the file has no place for the table");
  begin += mark.size();
  return text.substr(begin, end - begin);
}

/// The text with another part behind a mark.
std::string with_part(const std::string& text, std::string_view mark, const std::string& made) {
  std::string_view part = part_behind(text, mark);
  size_t begin = size_t(part.data() - text.data());
  return text.substr(0, begin) + made + text.substr(begin + part.size());
}

/// What the file should say.
std::string mended(const std::string& text) {
  std::string made = with_part(text, narrow_mark, table());
  return with_part(made, single_mark, remeasured_singles(std::string(part_behind(made, single_mark))));
}

std::string singles(const std::string& name, const std::string& part) {
  unsigned shard = 0, shards = 1;
  if (!part.empty() && (std::sscanf(part.c_str(), "%u/%u", &shard, &shards) != 2 || shard >= shards))
    throw std::runtime_error("--shard is a number and how many there are: 0/4");
  auto wanted = std::ranges::find_if(functions, [&](const Function& each) { return name == each.name; });
  if (name.empty()) return search_singles(functions, shard, shards);
  if (wanted == std::end(functions)) throw std::runtime_error("there is no function " + name);
  return search_singles({wanted, 1}, shard, shards);
}

}  // namespace

std::span<const Function> measured_functions() { return functions; }

std::string source_of(std::span<const Function> wanted, DType dtype) {
  std::string types, values;
  for (const Function& function : wanted) {
    types += fmt::format("{}Tensor[N, {}]", types.empty() ? "" : ", ", to_string(dtype));
    values += fmt::format("{}{}", values.empty() ? "" : ", ", function.text);
  }
  return fmt::format("@jit\ndef f(x: Tensor[N, {}]) -> {}:\n    return {}\n", to_string(dtype),
                     wanted.size() == 1 ? types : "(" + types + ")", values);
}

}  // namespace tessera::check

int main(int argc, char** argv) {
  using namespace tessera::check;
  std::string check, write, function, shard;
  bool all_singles = false;
  CLI::App app{"The errors of functions of bf16, f16, f8 and f32 over all inputs."};
  app.add_option("--check", check,
                 "fail unless this file has the table, and the errors of f32 at the arguments it names");
  app.add_option("--write", write, "replace the table in this file, and the errors of f32 at the arguments it names");
  auto* search =
      app.add_flag("--singles", all_singles, "search all arguments of f32, about a minute for each function");
  app.add_option("--function", function, "of this function alone")->needs(search);
  app.add_option("--shard", shard, "search a part of the arguments, such as 0/4")->needs(search);
  CLI11_PARSE(app, argc, argv);
  try {
    if (all_singles) {
      std::cout << singles(function, shard);
      return 0;
    }
    if (!write.empty()) {
      std::string text = mended(read(write));
      std::ofstream(write) << text;
    }
    if (!check.empty() && read(check) != mended(read(check))) {
      std::cout << mended(read(check)) << check << " has other errors; check-functions --write " << check
                << " mends it\n";
      return 1;
    }
    if (check.empty() && write.empty()) std::cout << table();
  } catch (const std::exception& problem) {
    std::cerr << problem.what() << "\n";
    return 1;
  }
  return 0;
}
