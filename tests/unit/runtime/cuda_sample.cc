#include "unit/runtime/cuda_sample.h"

#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

#include "runtime/core/tensor.h"
#include "runtime/format/cuda_image.h"

namespace tessera::test {

namespace {

template <typename Function>
Function* find_symbol(void* library, const char* name, Function*) {
  auto* found = reinterpret_cast<Function*>(::dlsym(library, name));
  REQUIRE(found);
  return found;
}

/// A function of the fake driver.
#define FAKE(name) find_symbol(library_, #name, static_cast<decltype(&name)>(nullptr))

template <typename T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// An ELF object for the machine "CUDA": the header, the fake driver's text, and symbols of the kernels.
std::string cubin_of(const std::string& text, const std::vector<format::KernelMeta>& kernels) {
  std::string names(1, '\0'), symbols(sizeof(Elf64_Sym), '\0');
  for (const format::KernelMeta& kernel : kernels) {
    Elf64_Sym symbol{};
    symbol.st_name = Elf64_Word(names.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    append(symbols, symbol);
    names += kernel.name + '\0';
  }
  std::string body = text + '\0';
  Elf64_Shdr table{}, strings{};
  table.sh_type = SHT_SYMTAB;
  table.sh_offset = sizeof(Elf64_Ehdr) + body.size();
  table.sh_size = symbols.size();
  table.sh_link = 2;
  strings.sh_type = SHT_STRTAB;
  strings.sh_offset = table.sh_offset + symbols.size();
  strings.sh_size = names.size();
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = 190;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shoff = strings.sh_offset + names.size();
  header.e_shnum = 3;
  std::string out;
  append(out, header);
  out += body + symbols + names;
  for (const Elf64_Shdr& section : {Elf64_Shdr{}, table, strings}) append(out, section);
  return out;
}

}  // namespace

std::vector<format::KernelMeta> cuda_kernels() {
  std::vector<format::KernelMeta> kernels;
  for (const format::KernelMeta& meta : sample_kernels()) {
    bool is_there = meta.name == "add_one" || meta.name == "checked" || meta.name == "overrun" ||
                    meta.name == "ratio" || meta.name == "copy_seed" ||
                    meta.name == "is_positive" || meta.name == "scale";
    if (!is_there) continue;
    kernels.push_back(meta);
    kernels.back().block = {128, 1, 1};
  }
  format::KernelMeta persistent = kernels[0];
  persistent.name = "add_one_persistent";
  persistent.persistent = true;
  persistent.cluster = {2, 1, 1};
  persistent.waits = true;
  persistent.smem_per_cta = 100 << 10;
  kernels.insert(kernels.begin() + 1, persistent);

  format::KernelMeta boxes;
  boxes.name = "copy_boxes";
  boxes.dims = {"M", "N"};
  boxes.block = {384, 1, 1};
  boxes.smem_per_cta = 64 * 32 * 4 + 16;  // a box and a barrier
  auto expr = [&](const char* text) { return *format::parse_expr(text, boxes.dims); };
  boxes.grid = {expr("(M + 63) // 64")};
  boxes.buffers = {{"x", Dtype::F32, {expr("M"), expr("N")}, 16, false},
                   {"y", Dtype::F32, {expr("M"), expr("N")}, 16, true}};
  for (uint32_t buffer : {0u, 1u}) {
    boxes.descriptors.push_back(
        {buffer, Dtype::F32, {expr("N"), expr("M")}, {expr("4*N")}, expr("0"), {32, 64}, 128});
  }
  kernels.insert(kernels.begin() + 3, boxes);

  auto is_positive = std::ranges::find(kernels, "is_positive", &format::KernelMeta::name);
  format::KernelMeta trap = *is_positive;
  trap.name = "trap";
  kernels.push_back(trap);
  return kernels;
}

std::string CudaBundle::bytes() const {
  std::string entries, parts;
  for (const format::KernelMeta& meta : kernels) {
    if (!meta.code.empty()) continue;
    std::string entry = ".entry " + meta.name + "\n";
    format::append_cubin_object(parts, cubin_of(cubin_target + entry, {meta}));
    entries += entry;
  }
  format::BundleWriter writer;
  format::Reflection reflection;
  for (const std::string& target : targets) {
    reflection.kernels[target] = kernels;
    std::string cubin = has_parts ? parts : cubin_of(cubin_target + entries, kernels);
    if (has_cubin) REQUIRE(writer.add(format::kernels_path(target, "cubin"), cubin));
    std::string text = ptx.empty() ? ptx_head + entries : ptx;
    if (has_ptx) REQUIRE(writer.add(format::kernels_path(target, "ptx"), text));
    for (format::Plan plan : plans) {
      plan.target = target;
      format::Outcome checked = format::check_plan(plan);
      INFO((checked ? "" : checked.error().text));
      REQUIRE(checked);
      REQUIRE(writer.add(format::plan_path(plan.entry, target), format::encode_plan(plan)));
    }
  }
  REQUIRE(writer.add(std::string(format::reflection_name), format::write_reflection(reflection)));
  format::Manifest manifest = manifest_for(plans, facts);
  manifest.targets = targets;
  auto bundle = writer.finish(manifest);
  INFO((bundle ? "" : bundle.error().text));
  REQUIRE(bundle);
  return *bundle;
}

FakeGpu::FakeGpu(const FakeKnobs& knobs) {
  ::setenv("TESSERA_CUDA_DRIVER", TESSERA_FAKE_CUDA, 1);
  library_ = ::dlopen(TESSERA_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library_);
  FAKE(fake_reset)(&knobs);
}

FakeGpu::~FakeGpu() {
  FakeCounts left = counts();
  ::unsetenv("TESSERA_CUDA_DRIVER");
  CHECK(left.contexts == 0);
  CHECK(left.modules == 0);
  CHECK(left.streams == 0);
  CHECK(left.events == 0);
  CHECK(left.allocations == 0);
  CHECK(left.pinned == 0);
  CHECK(left.graphs == 0);
}

FakeCounts FakeGpu::counts() const {
  FakeCounts out;
  FAKE(fake_counts)(&out);
  return out;
}

std::vector<FakeLaunch> FakeGpu::launches() const {
  std::vector<FakeLaunch> out(FAKE(fake_launch_count)());
  for (size_t i = 0; i < out.size(); ++i) FAKE(fake_launch)(i, &out[i]);
  return out;
}

FakeTensorMap FakeGpu::last_map() const {
  FakeTensorMap out;
  FAKE(fake_last_map)(&out);
  return out;
}

void* FakeGpu::create_stream(intptr_t context) const {
  return FAKE(fake_create_stream)(context);
}

void FakeGpu::destroy_stream(void* stream) const {
  FAKE(fake_destroy_stream)(stream);
}

void FakeGpu::fail(const char* symbol, int result, int skip) const {
  FAKE(fake_fail)(symbol, result, skip);
}

CudaLoaded::CudaLoaded(const std::string& bundle, uint32_t flags) {
  tsr_status_t status = create_on("cuda:0", &context);
  INFO(tsrGetLastError());
  REQUIRE(status == TSR_SUCCESS);
  status = load_with(context, bundle, flags, &module);
  INFO(tsrGetLastError());
  REQUIRE(status == TSR_SUCCESS);
}

tsr_function_t CudaLoaded::function(const char* name) const {
  tsr_function_t out = nullptr;
  REQUIRE(tsrGetFunction(module, name, &out) == TSR_SUCCESS);
  return out;
}

CudaTensor::CudaTensor(tsr_context_t context, std::vector<int64_t> extents, Dtype dtype)
    : shape(std::move(extents)), context_(context) {
  bytes_ = size_t(*format::bytes_of(dtype, *format::element_count(shape)));
  REQUIRE(tsrAlloc(context, bytes_, TSR_DEVICE, &memory_) == TSR_SUCCESS);
  tensor.data = memory_;
  tensor.device = {2, 0};
  tensor.ndim = int32_t(shape.size());
  tensor.dtype = runtime::dlpack_dtype(dtype);
  tensor.shape = shape.data();
}

CudaTensor::CudaTensor(tsr_context_t context, std::vector<int64_t> extents,
                       const std::vector<float>& values)
    : CudaTensor(context, std::move(extents)) {
  REQUIRE(values.size() * sizeof(float) == bytes_);
  REQUIRE(tsrCopy(context, nullptr, tensor.data, values.data(), bytes_) == TSR_SUCCESS);
}

std::vector<float> CudaTensor::values() {
  std::vector<float> out(bytes_ / sizeof(float));
  read(out.data());
  return out;
}

void CudaTensor::read(void* to) {
  tsr_status_t status = tsrCopy(context_, nullptr, to, memory_, bytes_);
  INFO(tsrGetLastError());
  REQUIRE(status == TSR_SUCCESS);
}

format::Plan add_one_plan() {
  PlanBuilder b("add_one");
  b.dim("N");
  uint32_t x = b.input("x", {"N"});
  uint32_t y = b.output("y", {"N"});
  b.launch("add_one", {x, y}, {"N"});
  return b.plan;
}

format::Plan twice_plan() {
  PlanBuilder b("twice");
  b.dim("N");
  uint32_t x = b.input("x", {"N"});
  uint32_t y = b.output("y", {"N"});
  uint32_t t = b.temp({"N"}, 0, 1);
  b.launch("add_one", {x, t}, {"N"});
  b.launch("add_one", {t, y}, {"N"});
  return b.plan;
}

}  // namespace tessera::test
