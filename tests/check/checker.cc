#include "check/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "check/bounds.h"
#include "check/random.h"

namespace tessera::check {

namespace {

/// More elements than that, summed over all ops and counting the steps of products, take too long.
constexpr int64_t most_work = 400000, most_work_elsewhere = 30000;
/// A size is not made smaller than that to save work; slices and loops of the generator fit it.
constexpr int64_t smallest = 8;

int64_t work_of(Block* block, const DimValues& dims) {
  constexpr int64_t iterations_of_while = 8;
  int64_t total = 0;
  for (Op* op : *block) {
    for (unsigned i = 0; i < op->result_count(); ++i) {
      auto extents = evaluate(op->result(i)->type()->dims, dims);
      int64_t elements = extents ? count_elements(*extents).value_or(INT32_MAX) : INT32_MAX;
      if (op->is(graph::info(graph::OpKind::Gemm))) {
        const std::vector<Dim>& a = op->operand(0)->type()->dims;
        // A sum of nothing still makes an element.
        elements *= std::max<int64_t>(
            1, *evaluate(a[a.size() - (op->attr(graph::attr::Gemm::transpose_a) ? 2 : 1)], dims));
      }
      if (op->is(graph::info(graph::OpKind::FlashAttention))) {
        const std::vector<Dim>&q = op->operand(0)->type()->dims, &v = op->operand(2)->type()->dims;
        elements += *evaluate(q[3], dims) * elements + elements / std::max<int64_t>(1, *evaluate(v[3], dims));
        elements *= std::max<int64_t>(1, *evaluate(v[2], dims));
      }
      total += elements;
    }
    int64_t iterations = op->is(graph::info(graph::OpKind::While)) ? iterations_of_while : 1;
    DimValues inside = dims;
    if (op->is(graph::info(graph::OpKind::For))) {
      iterations = *evaluate(op->attr(graph::attr::For::count), dims);
      inside[std::string(op->attr(graph::attr::For::counter))] =
          0;  // loops in this one are longest then
    }
    for (unsigned r = 0; r < op->region_count(); ++r) total += iterations * work_of(op->region(r)->front(), inside);
  }
  return total;
}

double random_float(Random& random, Fill fill) {
  static constexpr double special[] = {0.0,    -0.0, INFINITY, -INFINITY, NAN,   1e-40,
                                       -3e-39, 1e-7, 1.0,      -1.0,      65504, 3e38};
  switch (fill) {
    case Fill::Integers:
    case Fill::Indices:
    case Fill::Below: return double(int64_t(random.pick(9)) - 4);
    case Fill::Positive: return random.unit();
    case Fill::Wide: return std::ldexp(random.unit() * 2 - 1, int(random.pick(41)) - 20);
    case Fill::Special:
      if (random.one_in(6)) return random.of(special);
      [[fallthrough]];
    default: return random.unit() * 2 - 1;
  }
}

int64_t random_integer(Random& random, Fill fill, DType dtype) {
  Element value{.i = int64_t(random.pick(11)) - 3};
  if (fill == Fill::Special || fill == Fill::Wide) value.i = int64_t(random.next()) >> random.pick(60);
  return evaluate_elementwise(ElementwiseKind::Cast, DType::I64, dtype, {&value, 1}).i;
}

bool same_bits(const Tensors& a, const Tensors& b) {
  bool same = a.size() == b.size();
  for (size_t i = 0; same && i < a.size(); ++i) same = check::same_bits(a[i], b[i]);
  return same;
}

struct Sample {
  DimValues dims;  ///< of all symbols of the entry
  int64_t work;
  Tensors arguments, wanted;
  std::vector<RangeTensor> bounds;
};

class Checker {
 public:
  Checker(const Program& program, const CheckOptions& options)
      : program_(program), options_(options), reference_(source_of(program, true)) {}

  Outcome run() {
    subject_ = &reference_;
    if (!reference_.entry()) {
      refuse_or_fail("front end", reference_.messages());
      return std::move(outcome_);
    }
    for (const DimValues& dims : program_.samples) {
      if (!make_sample(dims)) return std::move(outcome_);
    }
    if (samples_.empty()) {
      outcome_.verdict = Verdict::Skipped;
      return std::move(outcome_);
    }
    size_t forms = program_.kernel ? program_.kernel->schedules.size() : 1;
    bool passed = check_graph();
    for (size_t i = 0; passed && i < forms; ++i) passed = check_form(i);
    if (passed && !outcome_.refused.empty() && outcome_.ways.size() == 1) outcome_.verdict = Verdict::Refused;
    return std::move(outcome_);
  }

 private:
  /// The program itself, or its kernel with one of its schedules.
  bool check_form(size_t index) {
    std::optional<Subject> kernel;
    if (program_.kernel || program_.has_plain()) {
      subject_ = &kernel.emplace(program_.kernel ? kernel_source_of(program_, index) : source_of(program_));
      if (!subject_->entry()) return refuse_or_fail("front end", subject_->messages());
    }
    return check_tiles() && check_code() && check_elsewhere();
  }

  bool fail(const std::string& way, const std::string& message) {
    outcome_.verdict = Verdict::Failed;
    outcome_.way = way;
    outcome_.message = message;
    return false;
  }

  /// True where the way was refused for what the compiler says it cannot do.
  bool refuse_or_fail(const std::string& way, const std::string& message) {
    if (!subject_->is_unsupported()) return fail(way, message);
    ++outcome_.refused[way];
    if (way == "front end" && subject_ == &reference_) {
      outcome_.verdict = Verdict::Refused;
      outcome_.message = message;
    }
    return true;
  }

  /// Takes a sample, with smaller extents where they would take too long.
  bool make_sample(DimValues dims) {
    for (;;) {
      std::optional<Sample> sample = sample_of(dims);
      if (!sample) return false;
      if (sample->work <= most_work) return interpret(std::move(*sample));
      auto largest = std::max_element(dims.begin(), dims.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
      if (largest == dims.end() || largest->second <= smallest) break;
      largest->second = std::max(smallest, largest->second / 2);
    }
    ++outcome_.skipped;
    return true;
  }

  /// What an entry is given at some extents; nullopt when that failed.
  std::optional<Sample> sample_of(const DimValues& dims) {
    Sample sample;
    size_t index = samples_.size();
    for (const Node& node : program_.nodes) {
      if (node.is_argument() && !node.is_param) sample.arguments.push_back(filled(node, dims, index));
    }
    Block* body = subject_->entry()->region()->front();
    if (subject_->has_seed()) {
      sample.arguments.push_back(std::move(*TensorValue::make(DType::U64, {})));
      sample.arguments.back().set(0, {.i = int64_t(program_.seed)});
    }
    for (const Node& node : program_.nodes) {
      if (node.is_param) sample.arguments.push_back(filled(node, dims, index));
    }
    if (body->arg_count() != sample.arguments.size()) {
      fail("front end", "the entry has other arguments");
      return std::nullopt;
    }
    std::optional<DimValues> bound = subject_->bind(sample.arguments);
    if (!bound) {
      fail("front end", subject_->messages());
      return std::nullopt;
    }
    sample.dims = std::move(*bound);
    sample.work = work_of(subject_->entry()->region()->front(), sample.dims);
    return sample;
  }

  bool interpret(Sample sample) {
    std::optional<Tensors> wanted = subject_->interpret(sample.arguments);
    if (!wanted) return fail("interpreter", subject_->messages());
    sample.wanted = std::move(*wanted);
    sample.bounds = bounds_of(subject_->entry(), sample.arguments, sample.dims).results;
    samples_.push_back(std::move(sample));
    return compare("interpreter", samples_.back(), samples_.back().wanted);
  }

  bool compare(const std::string& way, const Sample& sample, const Tensors& got) {
    ++outcome_.ways[way];
    for (size_t r = 0; r < got.size(); ++r) {
      const RangeTensor& bounds = sample.bounds[r];
      if (got[r].dims() != bounds.dims || got[r].dtype() != bounds.dtype) {
        return fail(way, fmt::format("result {} has another shape", r));
      }
      for (int64_t e = 0; e < got[r].count(); ++e) {
        Element value = got[r].get(e);
        const Range& range = bounds.ranges[size_t(e)];
        if (!contains(bounds.dtype, range, value)) return fail(way, mismatch(sample, r, e, value));
        ++outcome_.elements;
        if (is_point(bounds.dtype, range)) ++outcome_.exact;
        Range all = any_value(bounds.dtype);
        if (contains(bounds.dtype, range, all.low) && contains(bounds.dtype, range, all.high)) ++outcome_.unbounded;
      }
    }
    return true;
  }

  std::string mismatch(const Sample& sample, size_t result, int64_t element, Element value) const {
    const RangeTensor& bounds = sample.bounds[result];
    std::string dims;
    for (const auto& [name, extent] : sample.dims) dims += fmt::format("{} = {}, ", name, extent);
    Range got = point_range(bounds.dtype, value);
    return fmt::format("{}result {}, element {}: {} is not in {}; the interpreter gives {}", dims, result, element,
                       to_text(bounds.dtype, got), to_text(bounds.dtype, bounds.ranges[size_t(element)]),
                       to_text(bounds.dtype, point_range(bounds.dtype, sample.wanted[result].get(element))));
  }

  /// Computes all samples in the way that was prepared.
  bool compare_all(const std::string& way, int64_t limit, bool exactly) {
    for (const Sample& sample : samples_) {
      if (sample.work > limit) continue;
      std::optional<Tensors> got = subject_->compute(sample.arguments, sample.wanted, sample.dims);
      if (!got) return fail(way, subject_->problem());
      if (!compare(way, sample, *got)) return false;
      if (exactly && !same_bits(*got, sample.wanted)) return fail(way, "other bits than before the passes");
    }
    return true;
  }

  bool prepare(const std::string& name, Way way, const Machine* machine, bool& ready) {
    ready = subject_->prepare(way, machine);
    if (ready) return true;
    std::string problem = subject_->problem();
    return problem.empty() ? refuse_or_fail(name, subject_->messages()) : fail(name, problem);
  }

  bool check_graph() {
    bool ready = false;
    if (!prepare("graph", Way::Graph, nullptr, ready)) return false;
    return !ready || compare_all("graph", most_work, true);
  }

  bool check_tiles() {
    if (!options_.tiles) return true;
    bool ready = false;
    if (!prepare("tiles", Way::Tiles, find_machine("cpu:x86-64-v3"), ready)) return false;
    return !ready || compare_all("tiles", most_work, false);
  }

  bool check_code() {
    for (const Machine* machine : options_.cpus) {
      bool ready = false;
      if (!prepare(machine->name, Way::Code, machine, ready)) return false;
      if (!ready) continue;
      if (!compare_all(machine->name, most_work, false)) return false;
      for (const Sample& sample : samples_) {
        std::optional<Tensors> one = subject_->compute(sample.arguments, sample.wanted, sample.dims, 1);
        std::optional<Tensors> three = subject_->compute(sample.arguments, sample.wanted, sample.dims, 3);
        if (!one || !three) return fail(machine->name, subject_->problem());
        if (!same_bits(*one, *three)) return fail(machine->name, "other bits with three threads");
      }
    }
    return true;
  }

  bool check_elsewhere() {
    for (const Machine* machine : options_.elsewhere) {
      bool ready = false;
      if (!prepare(machine->name, Way::MachineTiles, machine, ready)) return false;
      if (ready && !compare_all(machine->name, most_work_elsewhere, false)) return false;
      if (ready && !subject_->finish()) {
        if (!refuse_or_fail(machine->name + " code", subject_->messages())) return false;
      }
    }
    return true;
  }

  const Program& program_;
  const CheckOptions& options_;
  Subject reference_;
  Subject* subject_ = nullptr;  ///< what is prepared now
  std::vector<Sample> samples_;
  Outcome outcome_;
};

}  // namespace

TensorValue filled(const Node& argument, const DimValues& dims, uint64_t salt) {
  Random random(argument.salt + 0x9e37 * salt);
  const ValueType& type = argument.type;
  TensorValue tensor = std::move(*TensorValue::make(type.dtype, *evaluate(type.dims, dims)));
  for (int64_t i = 0; i < tensor.count(); ++i) {
    if (is_float(type.dtype)) {
      double value = random_float(random, argument.fill);
      tensor.set(i, {.f = decode_float(type.dtype, encode_float(type.dtype, value))});
    } else if (type.dtype == DType::Bool) {
      tensor.set(i, {.i = int64_t(random.pick(2))});
    } else {
      int64_t value = argument.fill == Fill::Below ? int64_t(random.pick(argument.salt + 1))
                                                   : random_integer(random, argument.fill, type.dtype);
      tensor.set(i, {.i = value});
    }
  }
  return tensor;
}

CheckOptions options_for(uint64_t seed, bool thorough) {
  CheckOptions options;
  std::vector<const Machine*> cpus = runnable_cpus(), others;
  for (const Machine* machine : all_machines()) {
    if (std::find(cpus.begin(), cpus.end(), machine) == cpus.end()) others.push_back(machine);
  }
  if (thorough) {
    options.cpus = std::move(cpus), options.elsewhere = std::move(others);
    return options;
  }
  if (!cpus.empty()) options.cpus = {cpus[seed % cpus.size()]};
  if (seed % 5 == 0 && !others.empty()) options.elsewhere = {others[seed / 5 % others.size()]};
  options.tiles = seed % 2 == 0;
  return options;
}

Outcome check(const Program& program, const CheckOptions& options) { return Checker(program, options).run(); }

}  // namespace tessera::check
