// Matmuls of compiled bundles beside oneDNN and OpenBLAS: one process, the same random data, all
// in turn.
//
// Times are medians over rounds in which each runs, so that a change of the machine's speed
// affects all of them. Before a row counts, elements of each result are compared with sums in double:
// |difference| <= bound * sum |a||b|, where the bound allows for the rounding of the sums (K terms,
// f32) and of the result (bf16). The process asks for AMX before oneDNN looks for it.

#include <cblas.h>
#include <fmt/format.h>
#include <omp.h>
#include <sys/syscall.h>
#include <tessera.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <oneapi/dnnl/dnnl.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

extern "C" void openblas_set_num_threads(int threads);

namespace {

struct Case {
  std::string entry;  ///< f32_kn, f32_nk, bf16_kn, bf16_nk
  int64_t m, n, k;
  int threads;

  bool is_bf16() const { return entry.starts_with("bf16"); }
  bool is_turned() const { return entry.ends_with("_nk"); }
  std::string name() const {
    return fmt::format("{} {}x{}x{} {} thread{}", entry, m, n, k, threads, threads == 1 ? "" : "s");
  }
};

/// A bundle, named after its file.
struct Code {
  std::string name, target;
  tsr_module_t module = nullptr;
};

struct Row {
  std::string name, code, target, peer_name;
  double ours, peer;  ///< GFLOP/s
};

[[noreturn]] void die(const std::string& message) {
  fmt::print(stderr, "gemm_peers: {}\n", message);
  std::exit(1);
}

void expect(tsr_status_t status, const char* what) {
  if (status != TSR_SUCCESS) die(fmt::format("{}: {}", what, tsrGetLastError()));
}

/// Linux gives tile registers to a process that asks; one without the permission runs on without.
void ask_for_amx() {
  constexpr int arch_req_xcomp_perm = 0x1023;
  constexpr int tile_data = 18;
  ::syscall(SYS_arch_prctl, arch_req_xcomp_perm, tile_data);
}

uint16_t to_bf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
float from_bf16(uint16_t value) {
  return std::bit_cast<float>(uint32_t(value) << 16);
}

/// A matrix of f32 or bf16.
class Matrix {
 public:
  Matrix(int64_t rows, int64_t columns, bool bf16)
      : shape_{rows, columns}, bf16_(bf16), bytes_(size_t(rows * columns) * (bf16 ? 2 : 4)) {
    data_ = std::aligned_alloc(64, (bytes_ + 63) / 64 * 64);
    if (!data_) die("out of memory");
    std::memset(data_, 0, bytes_);
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  ~Matrix() { std::free(data_); }

  void fill(std::mt19937& random) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (int64_t i = 0; i < shape_[0] * shape_[1]; ++i) {
      float value = uniform(random);
      if (bf16_) {
        static_cast<uint16_t*>(data_)[i] = to_bf16(value);
      } else {
        static_cast<float*>(data_)[i] = value;
      }
    }
  }
  float at(int64_t row, int64_t column) const {
    int64_t i = row * shape_[1] + column;
    return bf16_ ? from_bf16(static_cast<uint16_t*>(data_)[i]) : static_cast<float*>(data_)[i];
  }
  void* data() const { return data_; }
  float* floats() const { return static_cast<float*>(data_); }
  tsr_tensor_t tensor() {
    tsr_dtype_t dtype{uint8_t(bf16_ ? 4 : 2), uint8_t(bf16_ ? 16 : 32), 1};
    return {data_, {1, 0}, 2, dtype, shape_, nullptr, 0};
  }

 private:
  int64_t shape_[2];
  bool bf16_;
  size_t bytes_;
  void* data_;
};

/// One matmul on the same data by any number of contestants, each with its own result.
class Contest {
 public:
  struct Contestant {
    std::string name;
    std::function<void()> run;
    std::unique_ptr<Matrix> result;
  };

  Contest(tsr_context_t context, const std::vector<Code>& codes, const Case& c)
      : case_(c),
        a_(c.m, c.k, c.is_bf16()),
        b_(c.is_turned() ? c.n : c.k, c.is_turned() ? c.k : c.n, c.is_bf16()) {
    std::mt19937 random(1);
    a_.fill(random);
    b_.fill(random);
    expect(tsrSetThreads(context, uint32_t(c.threads)), "tsrSetThreads");
    omp_set_num_threads(c.threads);
    openblas_set_num_threads(c.threads);
    for (const Code& code : codes) add_ours(code);
    add_dnnl();
    if (!c.is_bf16()) add_openblas();
  }

  const std::vector<Contestant>& contestants() const { return contestants_; }

  /// Compares sampled elements with sums in double.
  void check(const Contestant& contestant) const {
    std::mt19937 random(2);
    double unit = case_.is_bf16() ? 0x1p-8 : 0;
    for (int sample = 0; sample < 512; ++sample) {
      int64_t i = int64_t(random() % uint64_t(case_.m)), j = int64_t(random() % uint64_t(case_.n));
      double exact = 0, size = 0;
      for (int64_t k = 0; k < case_.k; ++k) {
        double x = a_.at(i, k), y = case_.is_turned() ? b_.at(j, k) : b_.at(k, j);
        exact += x * y;
        size += std::fabs(x * y);
      }
      double bound = double(case_.k) * 0x1p-24 * size + unit * std::fabs(exact) + 1e-30;
      double found = contestant.result->at(i, j);
      if (std::fabs(found - exact) <= bound) continue;
      die(fmt::format("{}: {} gives {} at ({}, {}), expected {}", case_.name(), contestant.name,
                      found, i, j, exact));
    }
  }

 private:
  Matrix& add(const std::string& name) {
    auto result = std::make_unique<Matrix>(case_.m, case_.n, case_.is_bf16());
    contestants_.push_back({name, {}, std::move(result)});
    return *contestants_.back().result;
  }

  void add_ours(const Code& code) {
    Matrix& y = add(code.name);
    tsr_function_t function = nullptr;
    expect(tsrGetFunction(code.module, case_.entry.c_str(), &function), "tsrGetFunction");
    contestants_.back().run = [this, &y, function] {
      tsr_tensor_t a = a_.tensor(), b = b_.tensor(), result = y.tensor();
      const tsr_tensor_t* inputs[] = {&a, &b};
      tsr_tensor_t* outputs[] = {&result};
      expect(tsrCall(function, nullptr, inputs, 2, outputs, 1, nullptr), "tsrCall");
    };
  }

  void add_dnnl() {
    using dnnl::memory;
    auto dtype = case_.is_bf16() ? memory::data_type::bf16 : memory::data_type::f32;
    auto plain = memory::format_tag::ab;
    memory::desc a({case_.m, case_.k}, dtype, plain);
    memory::desc b({case_.k, case_.n}, dtype, case_.is_turned() ? memory::format_tag::ba : plain);
    memory::desc y({case_.m, case_.n}, dtype, plain);
    dnnl::matmul::primitive_desc description({a, b, y}, engine_);
    matmul_ = dnnl::matmul(description);
    arguments_ = {{DNNL_ARG_SRC, memory(a, engine_, a_.data())},
                  {DNNL_ARG_WEIGHTS, memory(b, engine_, b_.data())},
                  {DNNL_ARG_DST, memory(y, engine_, add("onednn").data())}};
    contestants_.back().run = [this] {
      matmul_.execute(stream_, arguments_);
      stream_.wait();
    };
    implementation_ = description.impl_info_str();
  }

  void add_openblas() {
    float* y = add("openblas").floats();
    contestants_.back().run = [this, y] {
      auto turned = case_.is_turned() ? CblasTrans : CblasNoTrans;
      int m = int(case_.m), n = int(case_.n), k = int(case_.k);
      cblas_sgemm(CblasRowMajor, CblasNoTrans, turned, m, n, k, 1, a_.floats(), k, b_.floats(),
                  case_.is_turned() ? k : n, 0, y, n);
    };
  }

 public:
  /// What oneDNN calls the code that it chose.
  const std::string& implementation() const { return implementation_; }

 private:
  Case case_;
  Matrix a_, b_;
  std::vector<Contestant> contestants_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::matmul matmul_;
  std::unordered_map<int, dnnl::memory> arguments_;
  std::string implementation_;
};

double seconds(const std::function<void()>& work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  auto middle = values.begin() + int64_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Threads of the one before spin for a while; after a rest and a run that is not timed each has
/// the processors and the caches for itself.
constexpr std::chrono::milliseconds rest(5);

std::vector<Row> measure(tsr_context_t context, const std::vector<Code>& codes, const Case& c,
                         int rounds) {
  Contest contest(context, codes, c);
  const auto& all = contest.contestants();
  std::vector<std::vector<double>> times(all.size());
  for (int round = -1; round < rounds; ++round) {
    for (size_t i = 0; i < all.size(); ++i) {
      std::this_thread::sleep_for(rest);
      all[i].run();
      double taken = seconds(all[i].run);
      if (round >= 0) times[i].push_back(taken);
      if (round < 0) contest.check(all[i]);
    }
  }
  double work = 2e-9 * double(c.m) * double(c.n) * double(c.k);
  std::vector<Row> rows;
  for (size_t ours = 0; ours < codes.size(); ++ours) {
    for (size_t i = codes.size(); i < all.size(); ++i) {
      std::string peer =
          all[i].name == "onednn" ? "onednn " + contest.implementation() : all[i].name;
      rows.push_back({c.name(), codes[ours].name, codes[ours].target, peer,
                      work / median(times[ours]), work / median(times[i])});
    }
  }
  return rows;
}

std::vector<Case> all_cases(const std::vector<int64_t>& sizes, const std::vector<int>& threads,
                            const std::string& only) {
  std::vector<Case> cases;
  for (const char* entry : {"bf16_kn", "bf16_nk", "f32_kn", "f32_nk"}) {
    if (!std::string(entry).starts_with(only)) continue;
    for (int64_t size : sizes) {
      for (int count : threads) cases.push_back({entry, size, size, size, count});
    }
  }
  return cases;
}

void write_json(const std::string& path, const std::vector<Row>& rows) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    all.push_back({{"case", row.name},
                   {"code", row.code},
                   {"target", row.target},
                   {"ours", row.ours},
                   {"peer", row.peer},
                   {"peer_name", row.peer_name},
                   {"ratio", row.ours / row.peer}});
  }
  std::ofstream out(path);
  out << nlohmann::ordered_json{{"unit", "GFLOP/s"}, {"rows", all}}.dump(2) << '\n';
  if (!out) die("cannot write " + path);
}

void print_row(const Row& row) {
  fmt::print("{:34} {:10} {:9.1f} {:9.1f} {:6.2f}  {}\n", row.name, row.code, row.ours, row.peer,
             row.ours / row.peer, row.peer_name);
  std::fflush(stdout);
}

/// Bundles whose targets this machine lacks are named and left out.
std::vector<Code> load_all(tsr_context_t context, const std::vector<std::string>& paths) {
  std::vector<Code> codes;
  for (const std::string& path : paths) {
    Code code{std::filesystem::path(path).stem().string(), "", nullptr};
    if (tsrLoadModuleFile(context, path.c_str(), nullptr, &code.module) != TSR_SUCCESS) {
      fmt::print("left out: {}\n", tsrGetLastError());
      continue;
    }
    const char* target = nullptr;
    expect(tsrGetModuleTarget(code.module, &target), "tsrGetModuleTarget");
    code.target = target;
    fmt::print("{}: code for {}\n", code.name, code.target);
    codes.push_back(std::move(code));
  }
  if (codes.empty()) die("no bundle can run here");
  return codes;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> bundles;
  std::string json, only;
  std::vector<int64_t> sizes = {1024, 2048};
  std::vector<int> threads = {1, 2};
  int rounds = 7;
  CLI::App app("Matmuls of bundles beside oneDNN and OpenBLAS, in GFLOP/s");
  app.add_option("bundles", bundles, "compiled from bench/gemm.tsr")->required();
  app.add_option("--json", json, "also write the rows to FILE");
  app.add_option("--only", only, "entries that start so: f32, bf16, f32_nk");
  app.add_option("--sizes", sizes, "M = N = K")->delimiter(',');
  app.add_option("--threads", threads)->delimiter(',');
  app.add_option("--rounds", rounds, "each runs once a round")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);

  ask_for_amx();
  tsr_context_t context = nullptr;
  expect(tsrCreateContext(&context), "tsrCreateContext");
  std::vector<Code> codes = load_all(context, bundles);
  fmt::print("medians of {} rounds, GFLOP/s\n{:34} {:10} {:>9} {:>9} {:>6}  {}\n", rounds, "case",
             "code", "tessera", "peer", "ratio", "peer");
  std::vector<Row> rows;
  for (const Case& c : all_cases(sizes, threads, only)) {
    for (Row& row : measure(context, codes, c, rounds)) {
      print_row(row);
      rows.push_back(std::move(row));
    }
  }
  if (!json.empty()) write_json(json, rows);
  for (const Code& code : codes) expect(tsrUnloadModule(code.module), "tsrUnloadModule");
  expect(tsrDestroyContext(context), "tsrDestroyContext");
}
