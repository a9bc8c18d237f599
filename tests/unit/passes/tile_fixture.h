#pragma once
// Runs kernels of the schedule level through the tile passes and compares what they compute at each
// step.

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "ir/core/common_attributes.h"
#include "ir/host/ops.h"
#include "ir/schedule/ops.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/text/verifier.h"
#include "ir/tile/eval.h"
#include "passes/pass.h"
#include "unit/ir/text_fixture.h"

namespace tessera {

/// The module's text around a kernel of the schedule level.
inline std::string schedule_module(const std::string& kernel) {
  return "module @m level(schedule) version(1) {\n" + kernel + "}\n";
}

class TileTest : public TextFixture {
 public:
  explicit TileTest(const std::string& text, const char* machine = "cpu:x86-64-v4")
      : pass_{diagnostics, find_machine(machine)} {
    auto modules = parse_modules(context, sources.add("test.tir", text), diagnostics);
    INFO(messages());
    REQUIRE(modules);
    module = std::move(modules->front());
    module->set(common::Module::target, machine);
  }

  std::string messages() const { return render_all(diagnostics, {}); }
  std::string text() { return print(*module, {.locations = false}); }

  /// Runs a pass and verifies what it leaves.
  bool run(Status (*pass)(Module&, PassContext&)) {
    if (pass(*module, pass_).failed()) return false;
    if (verify(*module, diagnostics).failed()) FAIL(messages() + text());
    return true;
  }
  /// To whole tiles, and to fragments; false where a pass refuses the kernel.
  void to_tiles() { REQUIRE(run(schedule_to_tile)); }
  bool to_fragments() {
    for (auto* pass : {merge_loops, simplify_tiles, propagate_masks, simplify_tiles,
                       split_to_fragments, simplify_tiles, allocate_scratch}) {
      if (!run(pass)) return false;
    }
    return true;
  }

  Op* kernel() { return module->body()->front(); }

  /// Tensors of the kernel's parameters: inputs random (integers below `id_limit`), results full of
  /// a poison.
  std::vector<TensorValue> make_tensors(const DimValues& dims, int64_t id_limit = 5) {
    std::vector<TensorValue> tensors;
    Block* body = kernel()->region()->front();
    unsigned inputs = body->arg_count() - unsigned(kernel()->attr(common::Kernel::outputs));
    std::mt19937 random(7);
    std::uniform_real_distribution<double> real(-2, 2);
    for (unsigned i = 0; i < body->arg_count(); ++i) {
      Type type = body->arg(i)->type();
      tensors.push_back(*TensorValue::make(type->dtype, *evaluate(type->dims, dims)));
      for (int64_t e = 0; e < tensors.back().count(); ++e) {
        Element value;
        if (is_float(type->dtype)) {
          double number = i < inputs ? real(random) : 12345;
          value.f = decode_float(type->dtype, encode_float(type->dtype, number));
        } else {
          value.i = i < inputs ? int64_t(random() % uint64_t(id_limit)) : 77;
        }
        tensors.back().set(e, value);
      }
    }
    return tensors;
  }

  void run_kernel(std::vector<TensorValue>& tensors, const DimValues& dims) {
    std::vector<TensorValue*> pointers;
    for (TensorValue& tensor : tensors) pointers.push_back(&tensor);
    bool ran = bool(tile::run_kernel(kernel(), pointers, dims, diagnostics));
    INFO(messages() << text());
    REQUIRE(ran);
  }

  size_t count(std::string_view op) {
    size_t found = 0;
    walk(kernel(), [&](Op* inner) { found += inner->name() == op; });
    return found;
  }

  std::unique_ptr<Module> module;

 private:
  PassContext pass_;
};

/// The largest difference relative to 1 + the wanted value; infinite where one is NaN and the other
/// is not.
inline double difference(const TensorValue& got, const TensorValue& wanted) {
  double most = 0;
  for (int64_t e = 0; e < got.count(); ++e) {
    if (!is_float(got.dtype())) {
      most = std::max(most, got.get(e).i == wanted.get(e).i ? 0.0 : INFINITY);
      continue;
    }
    double x = got.get(e).f, y = wanted.get(e).f;
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    double error = std::fabs(x - y) / (1 + std::fabs(y));
    most = std::max(most, std::isnan(error) ? INFINITY : error);
  }
  return most;
}

/// Runs a kernel of fragments: by the interpreter here, as machine code in unit_codegen, which is
/// built from the same tests. False where this host cannot.
bool run_fragments(TileTest& split, std::vector<TensorValue>& tensors, const DimValues& dims,
                   const char* machine);
/// How far results of `dtype` may be from the interpreter's when whole tiles and fragments may
/// differ by `bound`: machine code has its own transcendentals.
double allowed_difference(DType dtype, double bound);

/// Runs a kernel as whole tiles and as fragments, on the same inputs; results must agree within
/// `bound` (0: bit for bit).
inline void check_split(const std::string& kernel, const std::vector<DimValues>& sizes,
                        double bound, const char* machine = "cpu:x86-64-v4") {
  TileTest whole(schedule_module(kernel)), split(schedule_module(kernel), machine);
  whole.to_tiles();
  REQUIRE(whole.run(propagate_masks));
  split.to_tiles();
  bool fine = split.to_fragments();
  INFO(split.messages());
  REQUIRE(fine);
  for (const DimValues& dims : sizes) {
    std::string at;
    for (const auto& [name, value] : dims) at += name + "=" + std::to_string(value) + " ";
    INFO(at << machine);
    std::vector<TensorValue> wanted = whole.make_tensors(dims), got = split.make_tensors(dims);
    whole.run_kernel(wanted, dims);
    if (!run_fragments(split, got, dims, machine)) return;
    for (size_t i = wanted.size() - size_t(split.kernel()->attr(common::Kernel::outputs));
         i < wanted.size(); ++i) {
      double error = difference(got[i], wanted[i]);
      double most = allowed_difference(got[i].dtype(), bound);
      if (error > most) FAIL("result " << i << " differs by " << error << "\n" << split.text());
      CHECK(error <= most);
    }
  }
}

}  // namespace tessera
