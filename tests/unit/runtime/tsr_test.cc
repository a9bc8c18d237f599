// The tsr command and the C example as programs: output, errors, exit codes, files.

#include <elf.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/files/npy.h"
#include "runtime/files/safetensors.h"
#include "unit/runtime/cuda_sample.h"

using namespace tessera::test;
using namespace tessera::format;
namespace fs = std::filesystem;

namespace {

struct Ran {
  int code;
  std::string output;  ///< standard output and error together
};

Ran run(const std::string& command) {
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe);
  std::string output;
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, n);
  int status = ::pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

std::string_view bytes_of_floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

/// A folder with a bundle, its parameters and inputs.
class Workspace {
 public:
  Workspace() {
    char name[] = "/tmp/tessera-tsr-XXXXXX";
    REQUIRE(::mkdtemp(name));
    folder_ = name;
    write("m.bundle", make_bundle({layer()}));
    write("w.safetensors",
          *write_safetensors({{"layer.w", Dtype::F32, {3}, bytes_of_floats({1, 10, 100})}}));
    write("x.npy", *write_npy({Dtype::F32, {2, 3}, bytes_of_floats({1, 2, 3, 4, 5, 6})}));
  }
  ~Workspace() { fs::remove_all(folder_); }

  /// y[B, D] = x[B, D] * w[D], and the same with a temp.
  static Plan layer() {
    PlanBuilder b("layer");
    b.dim("B");
    b.dim("D");
    uint32_t x = b.input("x", {"B", "D"});
    uint32_t w = b.param("layer.w", {"D"});
    uint32_t y = b.output("y", {"B", "D"});
    b.launch("scale", {x, w, y}, {"B", "D"});
    return b.plan;
  }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    std::stringstream bytes;
    bytes << in.rdbuf();
    return bytes.str();
  }
  /// Runs tsr in the folder.
  Ran tsr(const std::string& arguments) const {
    return run("cd " + folder_ + " && " TESSERA_TSR " " + arguments);
  }
  size_t count_files() const {
    return size_t(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

 private:
  std::string folder_;
};

/// A message without its tag, which it must have.
std::string without_tag(const std::string& message, const std::string& tag) {
  std::string end = " [" + tag + "]\n";
  CHECK(message.ends_with(end));
  return message.ends_with(end) ? message.substr(0, message.size() - end.size()) + "\n" : message;
}

}  // namespace

TEST_CASE("tsr run reads and writes tensors", "[tsr]") {
  Workspace work;
  Ran ran = work.tsr(
      "run m.bundle layer --params w.safetensors --input x=x.npy --output y=y.npy --threads 2");
  CHECK(ran.output == "");
  REQUIRE(ran.code == 0);
  std::string bytes = work.read("y.npy");
  auto y = read_npy(bytes);
  REQUIRE(y);
  CHECK(y->shape == std::vector<int64_t>{2, 3});
  CHECK(y->bytes == bytes_of_floats({1, 20, 300, 4, 50, 600}));
  ran = work.tsr(
      "run m.bundle layer --params w.safetensors --input x=x.npy --repeat 3 --time "
      "--output y=y.safetensors");
  CHECK(ran.code == 0);
  CHECK(ran.output.find("layer: median ") == 0);
  auto view = work.read("y.safetensors");
  CHECK(SafetensorsView::open(view)->find("y")->bytes == y->bytes);
  ran = work.tsr("run m.bundle layer --params w.safetensors --input x=x.npy");
  CHECK(ran.output == "y: f32[2, 3] = [[1, 20, 300], [4, 50, 600]]\n");
  CHECK(work.tsr("run --params w.safetensors --input x=x.npy m.bundle layer").output == ran.output);
}

TEST_CASE("tsr run names what is wrong and leaves no file", "[tsr]") {
  Workspace work;
  size_t files = work.count_files();
  auto expect = [&](const std::string& arguments, const std::string& text, const std::string& tag = "command-line") {
    Ran ran = work.tsr("run m.bundle " + arguments + " --output y=y.npy");
    INFO(arguments);
    CHECK(ran.code == 1);
    CHECK(ran.output == "tsr: error: " + text + " [" + tag + "]\n");
    CHECK(work.count_files() == files);
  };
  expect("layr", "the bundle has no entry 'layr'; it has layer");
  expect("layer --input x=x.npy",
         "the parameter 'layer.w', f32[D], has no value; --params names a file with it, and 'tsr init' makes one of "
         "initial values");
  expect("layer --params w.safetensors",
         "input 'x', f32[B, D], is missing; --input x=FILE gives it");
  expect("layer --params w.safetensors --input z=x.npy", "layer has no input 'z'; its only input is x");
  expect("layer --params w.safetensors --input x=none.npy",
         "cannot read 'none.npy': No such file or directory", "cannot-read");
  expect("layer --params w.safetensors --input x=w.safetensors", "w.safetensors has no tensor 'x'",
         "bad-tensor-file");
  expect("layer --params w.safetensors --input x", "--input takes NAME=VALUE, got 'x'");
  expect("layer --params w.safetensors --input x=x.npy --output y=z.npy",
         "output 'y' is given twice");
  expect("layer --params x.npy --input x=x.npy",
         "'x.npy' seems to be a NumPy array, not a safetensors file", "bad-tensor-file");

  files += 3;
  work.write("extra.safetensors", *write_safetensors({{"layer.ww", Dtype::F32, {1}, "1234"}}));
  work.write("short.safetensors", *write_safetensors({{"layer.w", Dtype::F32, {2}, "12345678"}}));
  work.write("i.npy", *write_npy({Dtype::I32, {2, 3}, std::string(24, '\0')}));
  expect("layer --params extra.safetensors --input x=x.npy",
         "extra.safetensors: the bundle has no parameter 'layer.ww'; did you mean 'layer.w'?");
  expect("layer --params w.safetensors --params w.safetensors --input x=x.npy",
         "w.safetensors: an earlier file has the parameter 'layer.w', too");
  expect("layer --params short.safetensors --input x=x.npy",
         "layer: parameter 'layer.w', axis 0: expected D = 3, got 2; D = 3 from input 'x', axis 1",
         "call-refused");
  expect("layer --params w.safetensors --input x=i.npy",
         "layer: input 'x': expected dtype f32, got i32", "call-refused");
}

TEST_CASE("mistakes in the command line exit with 1", "[tsr]") {
  Workspace work;
  CHECK(work.tsr("").code == 1);
  CHECK(work.tsr("fly").code == 1);
  CHECK(work.tsr("run m.bundle").code == 1);
  CHECK(work.tsr("run m.bundle layer --device cuda:0").code == 1);
  CHECK(work.tsr("run m.bundle layer --threads 0x").code == 1);
  CHECK(work.tsr("run none.bundle layer").output ==
        "tsr: error: cannot read 'none.bundle': No such file or directory [cannot-read]\n");
  for (const char* command : {"", "run ", "inspect ", "verify ", "bench "}) {
    Ran help = work.tsr(std::string(command) + "--help");
    CHECK(help.code == 0);
    CHECK(help.output.find("Exit status:") != std::string::npos);
    CHECK(help.output.find('\x1b') == std::string::npos);
  }
}

TEST_CASE("tsr verify accepts sound bundles and names damage", "[tsr]") {
  Workspace work;
  Ran ran = work.tsr("verify m.bundle");
  CHECK(ran.code == 0);
  CHECK(ran.output.find("m.bundle: sound, ") == 0);
  std::string bytes = work.read("m.bundle");
  bytes[bytes.size() / 2] ^= 1;
  work.write("bad.bundle", bytes);
  ran = work.tsr("verify bad.bundle m.bundle");
  CHECK(ran.code == 1);
  CHECK(ran.output.find("tsr: error: bad.bundle: bundle: ") == 0);
  CHECK(work.tsr("run bad.bundle layer").code == 1);
  CHECK(work.tsr("inspect bad.bundle").code == 1);
}

TEST_CASE("tsr verify reads every part of a bundle, and loading refuses what it reads", "[tsr]") {
  Workspace work;
  const std::string sound = work.read("m.bundle");
  auto refusal = [&](const std::function<void(Manifest&, std::map<std::string, std::string>&)>& change) {
    work.write("bad.bundle", changed_bundle(sound, change));
    Ran ran = work.tsr("verify bad.bundle");
    CHECK(ran.code == 1);
    const std::string head = "tsr: error: bad.bundle: ";
    CHECK(ran.output.starts_with(head));
    return without_tag(ran.output.substr(std::min(head.size(), ran.output.size())), "bad-bundle");
  };
  auto with_file = [&](const std::string& name, const std::string& bytes) {
    return refusal([&](Manifest&, auto& entries) { entries[name] = bytes; });
  };
  auto without_file = [&](const std::string& name) {
    return refusal([&](Manifest&, auto& entries) { REQUIRE(entries.erase(name) == 1); });
  };
  auto with_reflection = [&](const std::function<void(Reflection&)>& change) {
    return refusal([&](Manifest&, auto& entries) {
      std::string& text = entries[std::string(reflection_name)];
      Reflection reflection = *read_reflection(text);
      change(reflection);
      text = write_reflection(reflection);
    });
  };
  const std::string code = kernels_path(sample_target), plan = plan_path("layer", sample_target);
  CHECK(without_file(code) == "the bundle has no kernels/cpu-x86-64-v3/kernels.so\n");
  CHECK(with_file(code, "") == "the bundle's kernels/cpu-x86-64-v3/kernels.so: it is too short\n");
  CHECK(with_file(code, std::string(9000, 'x')) ==
        "the bundle's kernels/cpu-x86-64-v3/kernels.so: it is not an ELF file\n");
  CHECK(refusal([](Manifest& manifest, auto&) {
          manifest.abi_minor = 99;
        }).starts_with("the bundle was built for ABI 2.99"));
  CHECK(refusal([](Manifest& manifest, auto&) {
          manifest.abi_major = 1;
        }).starts_with("the bundle was built for ABI 1.0"));
  CHECK(refusal([](Manifest& manifest, auto&) { manifest.targets = {}; }) == "the bundle has code for no target\n");
  CHECK(refusal([](Manifest& manifest, auto&) { manifest.targets = {"vax"}; }) ==
        "the bundle has no plan/layer/vax.plan\n");
  CHECK(refusal([](Manifest& manifest, auto&) { manifest.entries[0].inputs[0].dtype = Dtype::I32; }) ==
        "the manifest and the plan of 'layer' disagree about its signature\n");
  CHECK(refusal([](Manifest& manifest, auto&) { manifest.entries[0].inputs[0].shape[0] = "B + 1"; }) ==
        "the manifest and the plan of 'layer' disagree about its signature\n");
  CHECK(refusal([](Manifest& manifest, auto&) { manifest.params[0].dtype = Dtype::F64; }) ==
        "the manifest and the plan of 'layer' disagree about the parameter 'layer.w'\n");
  CHECK(without_file(plan) == "the bundle has no plan/layer/cpu-x86-64-v3.plan\n");
  CHECK(with_file(plan, "x").starts_with("the bundle's plan/layer/cpu-x86-64-v3.plan: "));
  CHECK(without_file(std::string(reflection_name)) == "the bundle has no reflection.json\n");
  CHECK(with_reflection([](Reflection& r) {
          std::erase_if(r.kernels[sample_target], [](auto& k) { return k.name == "scale"; });
        }) == "the plan of 'layer' launches the unknown kernel 'scale'\n");
  CHECK(with_reflection([](Reflection& r) { r.kernels[sample_target][0].name = "aaa"; }) ==
        "the bundle's kernels/cpu-x86-64-v3/kernels.so: it has no kernel 'aaa'\n");
  CHECK(with_reflection([](Reflection& r) { r.kernels["cpu:x86-64-v4"] = {}; }) ==
        "the bundle's reflection.json tells of the target 'cpu:x86-64-v4', which the manifest does not list\n");
  CHECK(with_reflection([](Reflection& r) { r.steps[sample_target]["layer"] = {"a", "b"}; }) ==
        "the bundle's reflection.json tells of 2 steps of 'layer', which has 1\n");
  CHECK(with_file("ir/graph.tir", "module @").starts_with("ir/graph.tir:1:"));
  CHECK(with_file("ir/kernels.tir", "nothing").starts_with("ir/kernels.tir:1:1: "));
  CHECK(with_file("schedules.json", "{").starts_with("the bundle's schedules.json: "));
  CHECK(with_file("weights/a.safetensors", "{").starts_with("the bundle's weights/a.safetensors: "));
  CHECK(with_file("weights/a.safetensors", *write_safetensors({{"layer.v", Dtype::F32, {1}, "1234"}})) ==
        "the bundle's weights/a.safetensors has the tensor 'layer.v', which fits no parameter\n");
}

TEST_CASE("tsr verify reads the code of a GPU", "[tsr]") {
  Workspace work;
  CudaBundle bundle{{Workspace::layer()}};
  const std::string target = bundle.targets[0];
  const std::string sound = bundle.bytes();
  auto verified = [&](const std::string& form, const std::string& bytes) {
    work.write("c.bundle", changed_bundle(sound, [&](Manifest&, auto& entries) {
                 if (bytes == "absent") entries.erase(kernels_path(target, form));
                 if (bytes != "absent") entries[kernels_path(target, form)] = bytes;
               }));
    std::string output = work.tsr("verify c.bundle").output;
    return output.starts_with("tsr: error:") ? without_tag(output, "bad-bundle") : output;
  };
  const std::string error = "tsr: error: c.bundle: the bundle";
  CHECK(verified("cubin", "absent").find(": sound, ") != std::string::npos);
  CHECK(verified("ptx", "absent") == error + " has no kernels/cuda-sm_90a/kernels.ptx\n");
  CHECK(verified("ptx", "") == error + "'s kernels/cuda-sm_90a/kernels.ptx: it is not PTX\n");
  CHECK(verified("ptx", "garbage") == error + "'s kernels/cuda-sm_90a/kernels.ptx: it is not PTX\n");
  CHECK(verified("ptx", ".version 8.0\n.entry add_one_more\n") ==
        error + "'s kernels/cuda-sm_90a/kernels.ptx: it has no kernel 'add_one'\n");
  CHECK(verified("cubin", "") == error + "'s kernels/cuda-sm_90a/kernels.cubin: it is not a cubin\n");
  CHECK(verified("cubin", std::string(5000, 'x')) ==
        error + "'s kernels/cuda-sm_90a/kernels.cubin: it is not a cubin\n");
  CHECK(verified("cubin", sample_object()) == error + "'s kernels/cuda-sm_90a/kernels.cubin: it is not a cubin\n");
  // The sections are: nothing, a table of symbols, its names.
  const std::string cubin(BundleView::open(sound)->find(kernels_path(target, "cubin"))->bytes);
  uint64_t sections = 0;
  std::memcpy(&sections, cubin.data() + offsetof(Elf64_Ehdr, e_shoff), sizeof sections);
  auto changed = [&](size_t at, auto value) {
    std::string bytes = cubin;
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return verified("cubin", bytes);
  };
  auto in_section = [&](size_t section, size_t field) { return sections + section * sizeof(Elf64_Shdr) + field; };
  const std::string no_cubin = error + "'s kernels/cuda-sm_90a/kernels.cubin: it is not a cubin\n";
  CHECK(verified("cubin", cubin).find(": sound, ") != std::string::npos);
  CHECK(changed(in_section(1, offsetof(Elf64_Shdr, sh_type)), uint32_t(SHT_PROGBITS)) == no_cubin);
  CHECK(changed(in_section(2, offsetof(Elf64_Shdr, sh_type)), uint32_t(SHT_PROGBITS)) == no_cubin);
  for (uint64_t beyond : {uint64_t(-1), uint64_t(-64), uint64_t(cubin.size())}) {
    CHECK(changed(offsetof(Elf64_Ehdr, e_shoff), beyond) == no_cubin);
    CHECK(changed(in_section(1, offsetof(Elf64_Shdr, sh_offset)), beyond) == no_cubin);
    CHECK(changed(in_section(1, offsetof(Elf64_Shdr, sh_size)), beyond) == no_cubin);
    CHECK(changed(in_section(2, offsetof(Elf64_Shdr, sh_offset)), beyond) == no_cubin);
    CHECK(changed(in_section(1, offsetof(Elf64_Shdr, sh_link)), uint32_t(beyond)) == no_cubin);
  }
  // Two tables that share the symbols; and sections before the file, to which a sum that wraps around leads.
  std::string twice = cubin.substr(0, sections) + cubin.substr(sections, 2 * sizeof(Elf64_Shdr)) +
                      cubin.substr(sections + sizeof(Elf64_Shdr), 2 * sizeof(Elf64_Shdr));
  const uint16_t four = 4;
  const uint32_t third = 3;
  std::memcpy(twice.data() + offsetof(Elf64_Ehdr, e_shnum), &four, sizeof four);
  for (size_t section : {1, 2}) {
    std::memcpy(twice.data() + in_section(section, offsetof(Elf64_Shdr, sh_link)), &third, sizeof third);
  }
  CHECK(verified("cubin", twice) == no_cubin);
}

TEST_CASE("what is no file is not read", "[tsr]") {
  Workspace work;
  REQUIRE(::mkfifo(work.path("pipe").c_str(), 0600) == 0);
  REQUIRE(::mkdir(work.path("folder").c_str(), 0700) == 0);
  const std::pair<const char*, const char*> others[] = {
      {"/dev/zero", "it is a device, not a file"}, {"/dev/null", "it is a device, not a file"},
      {"pipe", "it is a named pipe, not a file"},        {"folder", "it is a directory"}};
  for (auto [name, why] : others) {
    std::string path = name, refusal = "cannot read '" + path + "': " + why + " [cannot-read]\n";
    for (const std::string& command :
         {"verify " + path, "inspect " + path, "run --interpret=exact " + path + " layer", "run " + path + " layer",
          "init -o o.safetensors " + path, "run m.bundle layer --params " + path + " --input x=x.npy",
          "run m.bundle layer --params w.safetensors --input x=" + path}) {
      Ran ran = work.tsr(command);
      INFO(command << ": " << ran.output);
      CHECK(ran.code == 1);
      CHECK(ran.output.find(refusal) != std::string::npos);
    }
  }
}

TEST_CASE("texts of a bundle do not steer a terminal", "[tsr]") {
  Workspace work;
  const std::string turn = "\xe2\x80\xae", unseen = "\xe2\x80\x8b";
  const std::string escape = "\x1b[2J\x07", control = "\xc2\x9b";  // of the IR, as other texts have none
  work.write("m.bundle", changed_bundle(work.read("m.bundle"), [&](Manifest& manifest, auto& entries) {
    manifest.compiler = "compiler" + unseen;
    manifest.tools = {"tool" + turn};
    manifest.entries[0].effects = {"effect" + unseen};
    std::string& text = entries[std::string(reflection_name)];
    Reflection reflection = *read_reflection(text);
    for (KernelMeta& kernel : reflection.kernels[sample_target]) {
      kernel.source = "source" + turn + ".tsr:1:2";
      kernel.features = {"feature" + turn};
      kernel.epilogue = {"epilogue" + unseen};
    }
    reflection.steps[sample_target]["layer"] = {"step" + turn + unseen + ".tsr:3:4"};
    text = write_reflection(reflection);
    entries["ir/graph.tir"] = "// " + escape + control + turn + "\nmodule";
  }));
  for (const char* command :
       {"verify m.bundle", "inspect m.bundle", "inspect --yaml m.bundle", "inspect --json m.bundle",
        "inspect --report m.bundle", "inspect --report --dims B=2,D=3 m.bundle", "inspect --report --json m.bundle",
        "inspect --ir graph --fn f m.bundle --error-format=json", "inspect --ir plan m.bundle",
        "inspect --ir graph m.bundle", "inspect --ir graph --fn f m.bundle",
        "run m.bundle layer --params w.safetensors --input x=x.npy --trace-shapes"}) {
    Ran ran = work.tsr(command);
    INFO(command << ": " << ran.output);
    CHECK(!ran.output.empty());
    for (const std::string& piece : {std::string("\x1b"), std::string("\x07"), turn, control, unseen}) {
      CHECK(ran.output.find(piece) == std::string::npos);
    }
  }
  CHECK(work.tsr("inspect m.bundle").output.find("compiler  compiler\\u200b, ABI") != std::string::npos);
  CHECK(work.tsr("inspect m.bundle").output.find("with      tool\\u202e\n") != std::string::npos);
  work.write("i.json", work.tsr("inspect --json m.bundle").output);
  CHECK(run("python3 -m json.tool " + work.path("i.json")).code == 0);
}

TEST_CASE("a long expression that many launches share is not told with each", "[tsr]") {
  Workspace work;
  PlanBuilder b("many");
  b.dim("N");
  uint32_t x = b.input("x", {"N"});
  uint32_t y = b.output("y", {"N"});
  std::string sum = long_sum(400);
  const uint32_t dim = b.expr(sum);
  for (int i = 0; i < 500; ++i) {
    b.launch("add_one", {x, y}, {"N"});
    std::get<LaunchStep>(b.plan.steps.back()).dims = {dim};
  }
  work.write("many.bundle", make_bundle({b.plan}));
  std::string plan = work.tsr("inspect --ir plan many.bundle").output;
  CHECK(plan.find("dims($" + std::to_string(dim) + ")") != std::string::npos);
  CHECK(plan.size() < 50'000);
  for (const char* form : {"--report", "--report --json"}) {
    std::string report = work.tsr(std::string("inspect many.bundle ") + form).output;
    CHECK(report.find("N = N + 1 + 1 + 1") != std::string::npos);
    CHECK(report.find(" + 1 + ...") != std::string::npos);
    CHECK(report.size() < 400'000);
  }
}

TEST_CASE("tsr inspect shows a bundle in each form", "[tsr]") {
  Workspace work;
  std::string summary = work.tsr("inspect m.bundle").output;
  CHECK(summary.find("  layer(x: f32[B, D]) -> (y: f32[B, D])\n      reads layer.w\n") !=
        std::string::npos);
  CHECK(summary.find("target    cpu:x86-64-v3, 13 kernels\n") != std::string::npos);
  std::string yaml = work.tsr("inspect --yaml m.bundle").output;
  CHECK(yaml.find("---\ntarget: cpu:x86-64-v3\nname: add_one\n") == 0);
  std::string json = work.tsr("inspect --json m.bundle").output;
  CHECK(json.find("{\n  \"format\": 1,\n  \"identity\": \"") == 0);
  work.write("i.json", json);
  CHECK(run("python3 -c 'import json,sys; d = json.load(open(sys.argv[1])); "
            "print(d[\"manifest\"][\"entries\"][0][\"name\"])' " +
            work.path("i.json"))
            .output == "layer\n");
  CHECK(work.tsr("inspect --ir plan m.bundle").output.find("launch @scale(%x, %layer.w, %y)") !=
        std::string::npos);
  Ran ran = work.tsr("inspect --ir tile m.bundle");
  CHECK(ran.code == 1);
  CHECK(ran.output == "tsr: error: the bundle has no stage 'tile'; it has plan [command-line]\n");
}

TEST_CASE("tsr bench times entries for given dims", "[tsr]") {
  Workspace work;
  Ran ran = work.tsr("bench m.bundle layer --dims B=4 --dims D=8 --runs 10 --warmup 1");
  CHECK(ran.code == 0);
  CHECK(ran.output.find("target cpu:x86-64-v3, threads ") == 0);
  CHECK(ran.output.find("\nlayer  median ") != std::string::npos);
  CHECK(ran.output.find("(10 runs)") != std::string::npos);
  ran = work.tsr("bench m.bundle --dims B=4 --dims D=8 --runs 2 --json");
  CHECK(ran.output.find("{\"format\": 1, \"target\": \"cpu:x86-64-v3\", \"dims\": {\"B\": 4, \"D\": 8}, "
                        "\"entries\": [\n  {\"entry\": \"layer\", \"runs\": 2, ") == 0);
  ran = work.tsr("bench m.bundle layer --dims D=8 --runs 1");
  CHECK(ran.code == 1);
  CHECK(ran.output.find("tsr: error: layer needs --dims B=SIZE") ==
        0);
}

TEST_CASE("numpy reads what tsr writes", "[tsr]") {
  Workspace work;
  if (run("python3 -c 'import numpy'").code != 0) return;
  CHECK(run("cd " + work.path("") +
            " && python3 -c \"import numpy as n; n.save('p.npy', n.load('x.npy') * 2)\"")
            .code == 0);
  CHECK(
      work.tsr("run m.bundle layer --params w.safetensors --input x=p.npy --output y=y.npy").code ==
      0);
  CHECK(run("cd " + work.path("") +
            " && python3 -c \"import numpy as n; print(n.load('y.npy').tolist())\"")
            .output == "[[2.0, 40.0, 600.0], [8.0, 100.0, 1200.0]]\n");
}

TEST_CASE("unzip lists and tests a bundle", "[tsr]") {
  Workspace work;
  if (run("unzip -v").code != 0) return;
  Ran ran = run("unzip -t " + work.path("m.bundle"));
  CHECK(ran.code == 0);
  CHECK(ran.output.find("No errors detected") != std::string::npos);
}

TEST_CASE("the C example runs against the shared library", "[tsr]") {
  PlanBuilder b("next");
  b.dim("N");
  uint32_t x = b.input("x", {"N"});
  uint32_t y = b.output("y", {"N"});
  b.launch("add_one", {x, y}, {"N"});
  TemporaryFile bundle(make_bundle({b.plan}));
  Ran ran = run(TESSERA_EMBED " " + bundle.path + " next 3");
  CHECK(ran.code == 0);
  CHECK(ran.output == "1\n2\n3\n");
  ran = run(TESSERA_EMBED " " + bundle.path + " last 3");
  CHECK(ran.code == 1);
  CHECK(ran.output == "TSR_ENOTFOUND: the bundle has no entry 'last'; it has next\n");
}

// Sanitizers add to all three.
#if !defined(TESSERA_SANITIZED)
TEST_CASE("libtessera is small, exports its interface only and needs little", "[tsr]") {
  CHECK(fs::file_size(fs::canonical(TESSERA_LIBRARY)) < (size_t(2) << 20));
  std::istringstream symbols(run("nm -D --defined-only " TESSERA_LIBRARY).output);
  for (std::string address, kind, name; symbols >> address >> kind >> name;) {
    INFO(name);
    CHECK(name.rfind("tsr", 0) == 0);
  }
  std::istringstream dynamic(run("readelf -d " TESSERA_LIBRARY).output);
  for (std::string line; std::getline(dynamic, line);) {
    if (line.find("(NEEDED)") == std::string::npos) continue;
    bool known = false;
    for (const char* library :
         {"libtbb.so", "libstdc++.so", "libgcc_s.so", "libc.so", "libm.so", "ld-linux-x86-64.so"}) {
      known |= line.find(library) != std::string::npos;
    }
    INFO(line);
    CHECK(known);
  }
}
#endif

namespace {

/// The graph of y = x * w, and of w's initial values.
const std::string layer_graph = R"(module @m level(graph) version(1) {
  gir.func @layer(%x: tensor<B x D, f32>, %w: tensor<D, f32>) {args = [{kind = "input", name = "x"}, {kind = "param", name = "layer.w"}], results = [{name = "y"}], role = "entry"} {
    %b: tensor<B x D, f32> = gir.broadcast %w
    %y: tensor<B x D, f32> = gir.mul %x, %b
    gir.return [%y]
  }
  gir.func @init.layer.w(%s: tensor<u64>) {args = [{kind = "input", name = "seed"}], params = ["layer.w"], results = [{name = "value"}], role = "init"} {
    %n: tensor<3, f32> = gir.philox_uniform %s {stream = 7}
    gir.return [%n]
  }
}
)";

}  // namespace

TEST_CASE("tsr init writes what the graph's initialisers give", "[tsr]") {
  Workspace work;
  work.write("g.bundle", make_bundle({Workspace::layer()}, {}, {{"ir/graph.tir", layer_graph}}));
  Ran ran = work.tsr("init g.bundle --seed 42 -o i.safetensors");
  CHECK(ran.output == "");
  REQUIRE(ran.code == 0);
  std::string bytes = work.read("i.safetensors");
  auto view = SafetensorsView::open(bytes);
  REQUIRE(view);
  REQUIRE(view->find("layer.w"));
  CHECK(view->find("layer.w")->shape == std::vector<int64_t>{3});
  REQUIRE(work.tsr("init g.bundle --seed 42 -o j.safetensors").code == 0);
  CHECK(work.read("j.safetensors") == bytes);
  REQUIRE(work.tsr("init g.bundle -o j.safetensors").code == 0);
  CHECK(work.read("j.safetensors") != bytes);
  CHECK(work.tsr("run g.bundle layer --params i.safetensors --input x=x.npy").code == 0);
}

TEST_CASE("tsr init says what a bundle lacks", "[tsr]") {
  Workspace work;
  Ran ran = work.tsr("init m.bundle -o i.safetensors");
  CHECK(ran.code == 1);
  CHECK(
      ran.output ==
      "tsr: error: m.bundle carries no ir/graph.tir: it was compiled from below the graph level [command-line]\n");
  work.write("b.bundle",
             make_bundle({Workspace::layer()}, {}, {{"ir/graph.tir", "module @m what"}}));
  ran = work.tsr("init b.bundle -o i.safetensors");
  CHECK(ran.code == 1);
  CHECK(ran.output.find("b.bundle:ir/graph.tir:1:11: error: ") == 0);
  std::string empty = "module @m level(graph) version(1) {\n}\n";
  work.write("e.bundle", make_bundle({Workspace::layer()}, {}, {{"ir/graph.tir", empty}}));
  ran = work.tsr("init e.bundle -o i.safetensors");
  CHECK(ran.output == "tsr: error: e.bundle has no parameter with an initialiser [command-line]\n");
  CHECK(work.read("i.safetensors").empty());
}

TEST_CASE("tsr inspect --fn prints one function of a stage", "[tsr]") {
  Workspace work;
  work.write("g.bundle", make_bundle({Workspace::layer()}, {}, {{"ir/graph.tir", layer_graph}}));
  std::string graph = work.tsr("inspect g.bundle --ir graph --fn init.layer.w").output;
  CHECK(graph.starts_with("gir.func @init.layer.w("));
  CHECK(graph.find("@layer(") == std::string::npos);
  std::string plan = work.tsr("inspect g.bundle --ir plan --fn layer").output;
  CHECK(plan == work.tsr("inspect g.bundle --ir plan").output);
  Ran ran = work.tsr("inspect g.bundle --ir graph --fn other");
  CHECK(ran.code == 1);
  CHECK(ran.output ==
        "tsr: error: there is no function 'other'; there are layer, init.layer.w [command-line]\n");
  ran = work.tsr("inspect g.bundle --ir plan --fn init.layer.w");
  CHECK(ran.output == "tsr: error: there is no function 'init.layer.w'; there are layer [command-line]\n");
}

TEST_CASE("tsr run --interpret computes without the compiled code", "[tsr]") {
  Workspace work;
  work.write("g.bundle", make_bundle({Workspace::layer()}, {}, {{"ir/graph.tir", layer_graph}}));
  std::string arguments =
      "run g.bundle layer --params w.safetensors --input x=x.npy --output y=y.npy";
  for (std::string mode : {"exact", "f64"}) {
    Ran ran = work.tsr(arguments + " --interpret " + mode);
    CHECK(ran.output == "");
    REQUIRE(ran.code == 0);
    std::string bytes = work.read("y.npy");
    CHECK(read_npy(bytes)->dtype == Dtype::F32);
    CHECK(read_npy(bytes)->bytes == bytes_of_floats({1, 20, 300, 4, 50, 600}));
  }
  CHECK(work.tsr(arguments + " --interpret fast").code == 1);
  Ran ran = work.tsr("run m.bundle layer --params w.safetensors --input x=x.npy --interpret exact");
  CHECK(ran.code == 1);
  CHECK(ran.output.find("carries no ir/graph.tir") != std::string::npos);
  std::string other = layer_graph;
  other.replace(other.find("@layer("), 6, "@other");
  work.write("o.bundle", make_bundle({Workspace::layer()}, {}, {{"ir/graph.tir", other}}));
  ran = work.tsr("run o.bundle layer --params w.safetensors --input x=x.npy --interpret exact");
  CHECK(ran.output == "tsr: error: the graph in o.bundle has no entry 'layer' [command-line]\n");
}

TEST_CASE("tsr runs and times entries on a GPU", "[tsr][cuda]") {
  Workspace work;
  CudaBundle bundle{{Workspace::layer()}};
  work.write("c.bundle", bundle.bytes());
  std::string arguments =
      "run c.bundle layer --params w.safetensors --input x=x.npy --output y=y.npy "
      "--device cuda:0";
  SECTION("without a driver") {
    ::setenv("TESSERA_CUDA_DRIVER", "/absent/libcuda.so.1", 1);
    Ran ran = work.tsr(arguments);
    ::unsetenv("TESSERA_CUDA_DRIVER");
    CHECK(ran.code == 1);
    CHECK(ran.output ==
          "tsr: error: cuda:0: there is no CUDA driver here: /absent/libcuda.so.1: cannot open "
          "shared object file: No such file or directory [not-on-this-machine]\n");
    CHECK(work.read("y.npy").empty());
  }
  FakeGpu gpu;  // the environment that the command gets
  SECTION("results come back") {
    Ran ran = work.tsr(arguments + " --repeat 3");
    CHECK(ran.output == "");
    REQUIRE(ran.code == 0);
    std::string bytes = work.read("y.npy");
    CHECK(read_npy(bytes)->bytes == bytes_of_floats({1, 20, 300, 4, 50, 600}));
    CHECK(work.tsr(arguments + " --interpret exact").output ==
          "tsr: error: --interpret runs on the CPU, not on cuda:0 [command-line]\n");
  }
  SECTION("times are the GPU's") {
    Ran ran = work.tsr("bench c.bundle --dims B=2 --dims D=3 --device cuda:0 --runs 12 --json");
    REQUIRE(ran.code == 0);
    CHECK(ran.output.find("\"target\": \"cuda:sm_90a\"") != std::string::npos);
    CHECK(ran.output.find("\"runs\": 12, \"median_s\": 0.002") != std::string::npos);
  }
  SECTION("PTX needs leave") {
    bundle.has_cubin = false;
    work.write("c.bundle", bundle.bytes());
    Ran ran = work.tsr(arguments);
    CHECK(ran.code == 1);
    CHECK(ran.output.find("tsr --allow-jit") != std::string::npos);
    CHECK(work.tsr(arguments + " --allow-jit").code == 0);
    CHECK(work.tsr("verify c.bundle").code == 0);
  }
  SECTION("inspect shows how kernels are launched") {
    Ran ran = work.tsr("inspect c.bundle --yaml");
    CHECK(ran.output.find("block: [128, 1, 1], cluster: [2, 1, 1], persistent: true, waits: true}") !=
          std::string::npos);
    CHECK(ran.output.find("descriptors:\n  - {buffer: x, dtype: f32, dims: [N, M]") !=
          std::string::npos);
  }
}
