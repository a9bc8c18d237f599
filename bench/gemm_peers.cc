// Products of a compiled bundle beside oneDNN and OpenBLAS: one process, the same random data, the
// three in turn.
//
// Times are medians over rounds in which each library runs once, so that a change of the machine's
// speed meets all of them. Before a row counts, its result is compared with each peer's:
// |difference| <= bound * sum |a||b|, where the bound allows for the rounding of the sums (K terms,
// f32) and of the result (bf16).

#include <cblas.h>
#include <fmt/format.h>
#include <omp.h>
#include <tessera.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <oneapi/dnnl/dnnl.hpp>
#include <random>
#include <string>
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

struct Row {
  std::string name, peer_name;
  double ours, peer;  ///< GFLOP/s
};

[[noreturn]] void die(const std::string& message) {
  fmt::print(stderr, "gemm_peers: {}\n", message);
  std::exit(1);
}

void expect(tsr_status_t status, const char* what) {
  if (status != TSR_SUCCESS) die(fmt::format("{}: {}", what, tsrGetLastError()));
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

/// One product with its three ways of computing it.
class Contest {
 public:
  Contest(tsr_context_t context, tsr_module_t module, const Case& c)
      : case_(c),
        a_(c.m, c.k, c.is_bf16()),
        b_(c.is_turned() ? c.n : c.k, c.is_turned() ? c.k : c.n, c.is_bf16()),
        ours_(c.m, c.n, c.is_bf16()),
        peer_(c.m, c.n, c.is_bf16()) {
    std::mt19937 random(1);
    a_.fill(random);
    b_.fill(random);
    expect(tsrSetThreads(context, uint32_t(c.threads)), "tsrSetThreads");
    expect(tsrGetFunction(module, c.entry.c_str(), &function_), "tsrGetFunction");
    omp_set_num_threads(c.threads);
    openblas_set_num_threads(c.threads);
    make_dnnl();
  }

  void run_ours() {
    tsr_tensor_t a = a_.tensor(), b = b_.tensor(), y = ours_.tensor();
    const tsr_tensor_t* inputs[] = {&a, &b};
    tsr_tensor_t* outputs[] = {&y};
    expect(tsrCall(function_, nullptr, inputs, 2, outputs, 1), "tsrCall");
  }
  void run_dnnl() {
    matmul_.execute(stream_, arguments_);
    stream_.wait();
  }
  void run_openblas() {
    auto turned = case_.is_turned() ? CblasTrans : CblasNoTrans;
    int m = int(case_.m), n = int(case_.n), k = int(case_.k);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, turned, m, n, k, 1, a_.floats(), k, b_.floats(),
                case_.is_turned() ? k : n, 0, peer_.floats(), n);
  }

  /// Compares sampled elements of both results with sums in double.
  void check(const std::string& peer) const {
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
      for (const Matrix* result : {&ours_, &peer_}) {
        double found = result->at(i, j);
        if (std::fabs(found - exact) <= bound) continue;
        die(fmt::format("{}: {} gives {} at ({}, {}), expected {}", case_.name(),
                        result == &ours_ ? "tessera" : peer, found, i, j, exact));
      }
    }
  }

 private:
  void make_dnnl() {
    using dnnl::memory;
    auto dtype = case_.is_bf16() ? memory::data_type::bf16 : memory::data_type::f32;
    auto plain = memory::format_tag::ab;
    memory::desc a({case_.m, case_.k}, dtype, plain);
    memory::desc b({case_.k, case_.n}, dtype, case_.is_turned() ? memory::format_tag::ba : plain);
    memory::desc y({case_.m, case_.n}, dtype, plain);
    matmul_ = dnnl::matmul({{a, b, y}, engine_});
    arguments_ = {{DNNL_ARG_SRC, memory(a, engine_, a_.data())},
                  {DNNL_ARG_WEIGHTS, memory(b, engine_, b_.data())},
                  {DNNL_ARG_DST, memory(y, engine_, peer_.data())}};
  }

  Case case_;
  Matrix a_, b_, ours_, peer_;
  tsr_function_t function_ = nullptr;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::matmul matmul_;
  std::unordered_map<int, dnnl::memory> arguments_;
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

std::vector<Row> measure(tsr_context_t context, tsr_module_t module, const Case& c, int rounds) {
  Contest contest(context, module, c);
  std::vector<std::pair<std::string, std::function<void()>>> runs = {
      {"tessera", [&] { contest.run_ours(); }}, {"onednn", [&] { contest.run_dnnl(); }}};
  if (!c.is_bf16()) runs.push_back({"openblas", [&] { contest.run_openblas(); }});
  std::vector<std::vector<double>> times(runs.size());
  for (int round = -1; round < rounds; ++round) {
    for (size_t i = 0; i < runs.size(); ++i) {
      double taken = seconds(runs[i].second);
      if (round >= 0) times[i].push_back(taken);
      if (round < 0 && i > 0) contest.check(runs[i].first);
    }
  }
  double work = 2e-9 * double(c.m) * double(c.n) * double(c.k);
  std::vector<Row> rows;
  for (size_t i = 1; i < runs.size(); ++i) {
    rows.push_back({c.name(), runs[i].first, work / median(times[0]), work / median(times[i])});
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

void write_json(const std::string& path, const std::vector<Row>& rows, const char* target) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    all.push_back({{"case", row.name},
                   {"ours", row.ours},
                   {"peer", row.peer},
                   {"peer_name", row.peer_name},
                   {"ratio", row.ours / row.peer}});
  }
  std::ofstream out(path);
  out << nlohmann::ordered_json{{"unit", "GFLOP/s"}, {"target", target}, {"rows", all}}.dump(2)
      << '\n';
  if (!out) die("cannot write " + path);
}

}  // namespace

int main(int argc, char** argv) {
  std::string bundle, json, only;
  std::vector<int64_t> sizes = {1024, 2048};
  std::vector<int> threads = {1, 2};
  int rounds = 7;
  CLI::App app("Products of a bundle beside oneDNN and OpenBLAS, in GFLOP/s");
  app.add_option("bundle", bundle, "compiled from bench/gemm.tsr")->required();
  app.add_option("--json", json, "also write the rows to FILE");
  app.add_option("--only", only, "entries that start so: f32, bf16, f32_nk");
  app.add_option("--sizes", sizes, "M = N = K")->delimiter(',');
  app.add_option("--threads", threads)->delimiter(',');
  app.add_option("--rounds", rounds, "each library runs once a round")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);

  tsr_context_t context = nullptr;
  tsr_module_t module = nullptr;
  expect(tsrCreateContext(&context), "tsrCreateContext");
  expect(tsrLoadModuleFile(context, bundle.c_str(), &module), bundle.c_str());
  const char* target = nullptr;
  expect(tsrGetModuleTarget(module, &target), "tsrGetModuleTarget");
  fmt::print("code for {}, medians of {} rounds, GFLOP/s\n{:34} {:>9} {:>9} {:10} {:>6}\n", target,
             rounds, "case", "tessera", "peer", "", "ratio");
  std::vector<Row> rows;
  for (const Case& c : all_cases(sizes, threads, only)) {
    for (const Row& row : measure(context, module, c, rounds)) {
      fmt::print("{:34} {:9.1f} {:9.1f} {:10} {:6.2f}\n", row.name, row.ours, row.peer,
                 row.peer_name, row.ours / row.peer);
      std::fflush(stdout);
      rows.push_back(row);
    }
  }
  if (!json.empty()) write_json(json, rows, target);
  expect(tsrUnloadModule(module), "tsrUnloadModule");
  expect(tsrDestroyContext(context), "tsrDestroyContext");
}
