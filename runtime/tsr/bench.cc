// tsr bench: entries timed on random tensors. Shapes come from --dims.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "ir/numbers/peak_figures.h"
#include "runtime/files/text.h"
#include "runtime/format/bundle_check.h"
#include "runtime/format/expr.h"
#include "runtime/format/replay.h"
#include "runtime/tsr/command.h"
#include "runtime/tsr/measured_rates.h"
#include "runtime/tsr/state_files.h"
#include "runtime/tsr/stopwatch.h"
#include "runtime/tsr/tensor_files.h"
#include "runtime/tsr/terminal.h"
#include "support/diagnostic_rows.h"
#include "support/render/units.h"
#include "tools/command_line/sizes.h"
#include "tools/report/report.h"

namespace tessera::tool {

namespace {

using format::cat;
using format::Dtype;
using format::in_quotes;

struct BenchOptions {
  std::string bundle;
  std::vector<std::string> entries;
  std::vector<std::string> dims;
  std::vector<std::string> params;
  DeviceOptions device;
  int warmup = 3;
  int runs = 0;
  double seconds = 1;
  bool json = false;
};

constexpr const char* bench_epilogue =
    "Inputs and parameters that no --params file gives are random, and the same in every run. Floating\n"
    "values have a random sign and a magnitude in [0.5, 1). Integers are 0, which is a valid index\n"
    "everywhere. An integer input of rank 0 takes the size of its name in --dims. Tensors that an entry\n"
    "updates keep their values from call to call. Numbers that it updates, such as the length of a cache,\n"
    "are set again before each call: to 0, or to their size in --dims.\n"
    "\n"
    "After --warmup calls, bench calls an entry --runs times, or until --seconds are over and at least\n"
    "5 times. It prints the median, the minimum and the 95th percentile. On a GPU the GPU itself\n"
    "measures the times, and ten calls are queued at a time.\n"
    "\n"
    "Where the bundle has the work of an entry, bench also prints FLOP/s and bytes/s at the median, and\n"
    "the share of the roofline. On a CPU, bench measures the roofline of this machine: with as many\n"
    "threads, and with as many bytes as each kernel moves. On a GPU, it takes the roofline from the data\n"
    "sheet of a typical GPU of the target.\n"
    "\n"
    "Examples:\n"
    "  tsr bench mlp.bundle mlp --dims B=64\n"
    "  tsr bench llama.bundle decode --dims B=1,caches.0.length=100\n"
    "\n"
    "Exit status:\n"
    "  0   success\n"
    "  1   an error in command line or bundle\n"
    "  70  an internal error";

/// SplitMix64 (Steele, Lea and Flood, 2014).
class Random {
 public:
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_ = 0;
};

/// The bits of 0.5 and those of sign and mantissa, which are set at random.
struct FloatBits {
  uint64_t half;
  uint64_t random;
};

FloatBits float_bits(Dtype dtype) {
  switch (dtype) {
    case Dtype::F64:
      return {0x3fe0000000000000, 0x800fffffffffffff};
    case Dtype::F32:
    case Dtype::Tf32:
      return {0x3f000000, 0x807fffff};
    case Dtype::Bf16:
      return {0x3f00, 0x807f};
    case Dtype::F16:
      return {0x3800, 0x83ff};
    case Dtype::F8E4M3:
      return {0x30, 0x87};
    case Dtype::F8E5M2:
      return {0x38, 0x83};
    case Dtype::Bool:
      return {0, 1};
    default:
      return {0, 0};
  }
}

uint64_t bytes_of_memory() { return uint64_t(::sysconf(_SC_PHYS_PAGES)) * uint64_t(::sysconf(_SC_PAGE_SIZE)); }

void fill_random(Dtype dtype, std::string& content, Random& random) {
  FloatBits bits = float_bits(dtype);
  size_t width = size_t(std::max(format::dtype_bits(dtype), 8)) / 8;
  for (size_t i = 0; i + width <= content.size(); i += width) {
    uint64_t value = bits.half | (random.next() & bits.random);
    std::memcpy(content.data() + i, &value, width);
  }
}

struct Timing {
  std::string entry;
  size_t runs = 0;
  double median = 0;
  double least = 0;
  double p95 = 0;
  std::optional<report::EntryWork> work{};

  double roofline_share() const { return work->seconds / median; }
};

Timing summarise(const std::string& entry, std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  size_t last = seconds.size() - 1;
  size_t p95 = (last * 95 + 99) / 100;
  return {entry, seconds.size(), seconds[seconds.size() / 2], seconds[0], seconds[p95], {}};
}

/// Whether --dims may give the input its value.
bool is_sized(const tsr_tensor_info_t& info) {
  return info.ndim == 0 && is_integer(*format::find_dtype(info.dtype));
}

class Bench {
 public:
  explicit Bench(const BenchOptions& options) : options_(options) {}

  int execute() {
    if (int code = read_dims()) return code;
    if (int code = session_.open(options_.bundle, options_.device)) return code;
    if (int code = session_.bind_files(options_.params)) return code;
    std::vector<std::string> entries = options_.entries;
    if (entries.empty()) entries = session_.entry_names();
    if (entries.empty()) return fail("the bundle has no entries to time, only kernels");
    if (int code = check_dims(entries)) return code;
    if (int code = read_target()) return code;
    std::vector<Timing> timings;
    for (const std::string& entry : entries) {
      if (int code = time_entry(entry, timings.emplace_back())) return code;
      if (!options_.json) print_timing(timings.back());
    }
    if (options_.json) print_json(timings);
    return exit_ok;
  }

 private:
  int read_target() {
    auto file = format::MappedFile::map(options_.bundle);
    if (!file) return fail_read(options_.bundle, file.error().text);
    file_ = std::move(*file);
    const char* target = "";
    tsrGetModuleTarget(session_.module(), &target);
    target_ = target;
    machine_ = find_machine(target_);
    int threads = thread_count(options_.device);
    if (session_.is_host() && machine_) rates_.emplace(*machine_, threads);
    if (!options_.json) put(cat("target ", target_, session_.is_host() ? cat(", threads ", threads) : "", "\n"));
    return session_.is_host() ? exit_ok : read_obstacles();
  }

  /// Why calls of the entries are no graphs of the GPU, by entry.
  int read_obstacles() {
    auto bundle = format::BundleView::open(file_->bytes());
    if (!bundle) return fail_read(options_.bundle, bundle.error().text);
    auto contents = format::read_target(*bundle, target_);
    if (!contents) return fail_read(options_.bundle, contents.error().text);
    for (const format::EntryPlan& entry : contents->entries) {
      std::vector<const format::KernelMeta*> kernels;
      for (uint32_t number : entry.kernels) kernels.push_back(&contents->kernels[number]);
      std::string why = format::replay_obstacle(entry.plan, kernels);
      if (!format::replays_calls()) why = "the environment turns graphs off";
      obstacles_[entry.entry->name] = why;
    }
    return exit_ok;
  }

  /// What a launch that moves so many bytes can reach at most.
  PeakFigures figures(double bytes) { return rates_ ? rates_->figures(bytes) : peak_figures(*machine_); }

  /// The work of a call for these dims, where the bundle has it.
  std::optional<report::EntryWork> work_of(const std::string& entry) {
    report::Options sizes{.dims = sizes_.named, .other_dims = 0, .entries = {entry}};  // integers without a size are 0
    auto work = report::work_of(file_->bytes(), target_, sizes, [this](double bytes) { return figures(bytes); });
    return work ? *work : std::nullopt;
  }

  int read_dims() {
    std::string problem = command_line::read_sizes(options_.dims, false, sizes_);
    if (!problem.empty()) return fail(problem);
    for (const auto& [name, size] : sizes_.named) {
      names_.push_back(name);
      values_.push_back(size);
    }
    return exit_ok;
  }

  /// The names of the dims that shapes of an entry mention, and of the inputs --dims may name. An integer that sizes
  /// a result is a dim.
  int dims_of(const std::string& entry, std::set<std::string>& dims, std::set<std::string>& inputs) const {
    tsr_function_t function = nullptr;
    if (int code = session_.find(entry, function)) return code;
    for (const tsr_tensor_info_t& info : input_infos(function)) {
      add_names(info.shape, dims);
      if (is_sized(info)) inputs.insert(info.name);
    }
    for (const tsr_tensor_info_t& info : output_infos(function)) add_names(info.shape, dims);
    size_t count = 0;
    tsrGetFunctionParameterCount(function, &count);
    for (size_t i = 0; i < count; ++i) {
      tsr_tensor_info_t info = unread_info();
      tsrGetFunctionParameterInfo(function, i, &info);
      add_names(info.shape, dims);
    }
    return exit_ok;
  }

  /// Each name of --dims is a dimension of some entry, and each entry has all of its own.
  int check_dims(const std::vector<std::string>& entries) const {
    std::set<std::string> known;
    for (const std::string& entry : entries) {
      if (int code = dims_of(entry, known, known)) return code;
    }
    if (int code = check_sizes(sizes_.named, {known.begin(), known.end()})) return code;
    for (const std::string& entry : entries) {
      std::set<std::string> dims, inputs;
      if (int code = dims_of(entry, dims, inputs)) return code;
      std::string missing;
      for (const std::string& name : dims) {
        if (!sizes_.named.contains(name)) missing += cat(missing.empty() ? "" : ",", name, "=SIZE");
      }
      if (!missing.empty()) return fail(cat(entry, " needs --dims ", missing));
    }
    return exit_ok;
  }

  /// Evaluates the text "[B, 3*D]".
  int shape_of(const tsr_tensor_info_t& info, std::vector<int64_t>& shape) const {
    for (const std::string& extent : extents_of(info.shape)) {
      if (int code = extent_of(info, extent, shape.emplace_back())) return code;
    }
    return exit_ok;
  }

  int extent_of(const tsr_tensor_info_t& info, std::string_view text, int64_t& extent) const {
    auto expr = format::parse_expr(text, names_);
    if (!expr) {
      return fail(cat(in_quotes(info.name), " has shape ", info.shape,
                      "; --dims NAME=N gives its dimensions (", expr.error().text, ")"));
    }
    format::EvalStatus status = format::evaluate(*expr, values_, extent);
    if (status == format::EvalStatus::Ok && extent >= 0) return exit_ok;
    return fail(cat(in_quotes(info.name), " has no extent ", text, " for these dims"));
  }

  int make_random(const tsr_tensor_info_t& info, bool is_donated, OwnedTensor*& tensor) {
    std::vector<int64_t> shape;
    if (int code = shape_of(info, shape)) return code;
    Dtype dtype = *format::find_dtype(info.dtype);
    auto count = format::element_count(shape);
    auto bytes = count ? format::bytes_of(dtype, *count) : std::nullopt;
    if (!bytes) return fail(cat(in_quotes(info.name), " has no size for these dims"));
    if (uint64_t memory = bytes_of_memory(); uint64_t(*bytes) > memory) {
      return fail(diag::memory_ran_out, cat(in_quotes(info.name), ", ", info.dtype, format::shape_text(shape), ", has ",
                                            bytes_text(double(*bytes)), ", and this machine has ",
                                            bytes_text(double(memory)), "; --dims gives its sizes"));
    }
    std::string content(size_t(*bytes), '\0');
    auto size = is_sized(info) ? sizes_.named.find(info.name) : sizes_.named.end();
    if (size == sizes_.named.end()) {
      fill_random(dtype, content, random_);
    } else if (!encode_number(std::to_string(size->second), dtype, content)) {
      return fail(cat("--dims gives ", info.name, " the size ", size->second, ", which its dtype ", info.dtype,
                      " cannot hold"));
    }
    return is_donated ? session_.make_donated(dtype, shape, content, tensor)
                      : session_.make_tensor(dtype, shape, content, tensor);
  }

  int bind_random_parameters(tsr_function_t function) {
    size_t count = 0;
    tsrGetFunctionParameterCount(function, &count);
    for (size_t i = 0; i < count; ++i) {
      tsr_tensor_info_t info = unread_info();
      tsrGetFunctionParameterInfo(function, i, &info);
      if (info.flags & TSR_TENSOR_BOUND) continue;
      OwnedTensor* tensor = nullptr;
      if (int code = make_random(info, false, tensor)) return code;
      if (int code = session_.bind(info.name, *tensor)) return code;
    }
    return exit_ok;
  }

  int time_entry(const std::string& entry, Timing& timing) {
    tsr_function_t function = nullptr;
    if (int code = session_.find(entry, function)) return code;
    if (int code = bind_random_parameters(function)) return code;
    std::vector<const tsr_tensor_t*> inputs;
    std::set<std::string> donated = donated_inputs(function);
    std::vector<Count> counts;
    for (const tsr_tensor_info_t& info : input_infos(function)) {
      OwnedTensor *tensor = nullptr, *begin = nullptr;
      bool is_donated = donated.count(info.name) != 0;
      if (int code = make_random(info, is_donated, tensor)) return code;
      inputs.push_back(&tensor->tensor);
      if (info.ndim != 0 || !is_donated) continue;
      if (int code = make_random(info, is_donated, begin)) return code;
      counts.push_back({tensor->tensor.data, begin->tensor.data, size_t(info.element.bits) / 8});
    }
    std::vector<tsr_tensor_t*> outputs;
    for (const tsr_tensor_info_t& info : output_infos(function)) {
      std::vector<int64_t> shape(size_t(info.ndim));
      int32_t ndim = 0;
      tsr_status_t status =
          tsrGetOutputShape(function, outputs.size(), inputs.data(), inputs.size(), shape.data(),
                            int32_t(shape.size()), &ndim);
      if (status != TSR_SUCCESS) return fail_status(status);
      OwnedTensor* tensor = nullptr;
      if (int code = session_.make_tensor(*format::find_dtype(info.dtype), shape, "", tensor)) {
        return code;
      }
      if (info.flags & TSR_TENSOR_DONATED) tensor->tensor.data = nullptr;
      outputs.push_back(&tensor->tensor);
    }
    auto reset = [&] {
      tsr_status_t status = TSR_SUCCESS;
      for (size_t i = 0; i < counts.size() && status == TSR_SUCCESS; ++i) {
        status = tsrCopy(session_.context(), nullptr, counts[i].value, counts[i].begin, counts[i].bytes);
      }
      return status;
    };
    auto call = [&] {
      return tsrCall(function, nullptr, inputs.data(), inputs.size(), outputs.data(), outputs.size(), nullptr);
    };
    return measure(entry, reset, call, timing);
  }

  /// A number that an entry updates where it lies, such as the length of a cache, and what it is before each call.
  struct Count {
    void* value;
    const void* begin;
    size_t bytes;
  };

  int measure(const std::string& entry, const Stopwatch::Call& reset, const Stopwatch::Call& call,
              Timing& timing) {
    constexpr size_t least_runs = 5;
    tsr_status_t status = TSR_SUCCESS;
    for (int i = 0; i < options_.warmup && status == TSR_SUCCESS; ++i) {
      status = reset();
      if (status == TSR_SUCCESS) status = call();
    }
    if (status == TSR_SUCCESS) status = tsrSynchronize(session_.context(), nullptr, TSR_FOREVER);
    if (status != TSR_SUCCESS) return fail_status(status);
    Stopwatch stopwatch(session_.context(), !session_.is_host());
    std::vector<double> seconds;
    double total = 0;
    size_t wanted = size_t(options_.runs);
    Progress progress(entry, wanted != 0 ? wanted : 100);
    for (bool done = false; !done;) {
      size_t runs = seconds.size();
      double before = total;
      if (int code = stopwatch.time(reset, call, seconds)) return code;
      for (size_t i = runs; i < seconds.size(); ++i) total += seconds[i];
      progress.advance(wanted != 0 ? seconds.size() - runs
                                   : size_t(total / options_.seconds * 100) -
                                         size_t(before / options_.seconds * 100));
      done = wanted != 0 ? seconds.size() >= wanted
                         : total >= options_.seconds && seconds.size() >= least_runs;
    }
    if (wanted != 0) seconds.resize(wanted);
    timing = summarise(entry, std::move(seconds));
    timing.work = work_of(entry);
    return exit_ok;
  }

  /// Whose roofline it is, and its figures for this work.
  std::string roofline_text(const report::EntryWork& work) {
    PeakFigures peak = figures(work.bytes);
    std::string rates = cat(flop_text(peak.f32 * 1e9), "/s in f32");
    if (work.memory_seconds > 0) rates = cat(rates, ", ", bytes_text(work.bytes / work.memory_seconds), "/s");
    return cat(rates_ ? std::string_view("this machine") : peak.of, " (", rates, ")");
  }

  void print_timing(const Timing& timing) {
    put_bold(timing.entry);
    put(cat("  median ", seconds_text(timing.median), "  min ", seconds_text(timing.least), "  p95 ",
            seconds_text(timing.p95), "  (", timing.runs, " runs)\n"));
    if (timing.work && timing.work->seconds > 0) {
      const report::EntryWork& work = *timing.work;
      put(cat("  ", flop_text(work.flop / timing.median), "/s  ", bytes_text(work.bytes / timing.median), "/s  ",
              int64_t(timing.roofline_share() * 100 + 0.5), "% of the roofline of ", roofline_text(work), "\n"));
    }
    if (auto found = obstacles_.find(timing.entry); found != obstacles_.end()) {
      const std::string& why = found->second;
      put(why.empty() ? "  calls are one graph each\n" : cat("  calls go step by step: ", why, "\n"));
    }
    std::fflush(stdout);
  }

  void print_json(const std::vector<Timing>& timings) const {
    constexpr int json_format = 1;  // docs/stability.md
    std::printf("{\"format\": %d, \"target\": \"%s\", \"dims\": {", json_format, target_.c_str());
    for (size_t i = 0; i < names_.size(); ++i) {
      std::printf("%s\"%s\": %lld", i ? ", " : "", names_[i].c_str(), (long long)values_[i]);
    }
    std::printf("}, \"entries\": [");
    for (size_t i = 0; i < timings.size(); ++i) {
      const Timing& t = timings[i];
      std::printf(
          "%s\n  {\"entry\": \"%s\", \"runs\": %zu, \"median_s\": %.9g, \"min_s\": %.9g, "
          "\"p95_s\": %.9g",
          i ? "," : "", t.entry.c_str(), t.runs, t.median, t.least, t.p95);
      if (t.work) {
        std::printf(", \"flop\": %.17g, \"bytes\": %.17g, \"flop_per_s\": %.9g, \"bytes_per_s\": %.9g, "
                    "\"roofline_share\": %.9g",
                    t.work->flop, t.work->bytes, t.work->flop / t.median, t.work->bytes / t.median,
                    t.roofline_share());
      }
      if (auto found = obstacles_.find(t.entry); found != obstacles_.end()) {
        std::printf(", \"graph\": %s", found->second.empty() ? "true" : "false");
      }
      std::printf("}");
    }
    std::printf("\n]}\n");
  }

  const BenchOptions& options_;
  Session session_;
  std::optional<format::MappedFile> file_;
  std::string target_;
  std::map<std::string, std::string> obstacles_;  ///< why calls of an entry are no graphs of a GPU; empty if they are
  const Machine* machine_ = nullptr;
  std::optional<MeasuredRates> rates_;  ///< of a CPU
  command_line::Sizes sizes_;
  std::vector<std::string> names_;  ///< those of sizes_
  std::vector<int64_t> values_;
  Random random_;
};

}  // namespace

void add_bench_command(CLI::App& command, int& exit_code) {
  auto options = std::make_shared<BenchOptions>();
  command.footer(bench_epilogue);
  command.add_option("BUNDLE", options->bundle, "bundle that has the entries")->required();
  command.add_option("ENTRY", options->entries, "entries to time; all when none is named");
  command_line::add_sizes_option(command, options->dims, "sizes of dimensions, as B=8,S=256");
  command.add_option("--params", options->params, "safetensors file with parameters")
      ->type_name("FILE")
      ->allow_extra_args(false);
  add_device_options(command, options->device);
  add_limit_options(command, options->device);
  CLI::Option* warmup = command.add_option("--warmup", options->warmup, "calls before the timed ones");
  command_line::take_count(*warmup->type_name("N")->capture_default_str(), 0, 1'000'000);
  CLI::Option* runs = command.add_option("--runs", options->runs, "timed calls; 0: as many as --seconds allow");
  command_line::take_count(*runs->type_name("N"), 0, 10'000'000);
  CLI::Option* seconds = command.add_option("--seconds", options->seconds, "time for the timed calls of an entry");
  take_seconds(*seconds->capture_default_str(), 86400);
  command.add_flag("--json", options->json, "print JSON, times in seconds");
  command.callback([options, seconds, &exit_code] {
    bool has_both = options->runs != 0 && seconds->count() > 0;
    exit_code = has_both ? fail("--runs does not go with --seconds: each says when to stop")
                         : Bench(*options).execute();
  });
}

}  // namespace tessera::tool
