#include "unit/runtime/sample.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "runtime/core/tensor.h"

namespace tessera::test {

namespace {

using format::Expr;
using format::KernelMeta;
using format::ManifestEntry;
using format::ManifestTensor;
using format::Plan;

Expr parse(const std::string& text, const std::vector<std::string>& dims) {
  auto expr = format::parse_expr(text, dims);
  INFO(text);
  REQUIRE(expr);
  return *expr;
}

std::vector<std::string> names_of(const Plan& plan) {
  std::vector<std::string> names;
  for (const format::PlanDim& dim : plan.dims) names.push_back(dim.name);
  return names;
}

struct BufferText {
  std::string name;
  std::vector<std::string> shape;
  bool result = false;
  Dtype dtype = Dtype::F32;
};

KernelMeta kernel(const std::string& name, const std::vector<std::string>& dims,
                  const std::vector<BufferText>& buffers, const std::vector<std::string>& grid,
                  const std::string& scratch = "0") {
  KernelMeta meta;
  meta.name = name;
  meta.dims = dims;
  for (const BufferText& text : buffers) {
    format::KernelBuffer buffer{text.name, text.dtype, {}, 4, text.result};
    for (const std::string& extent : text.shape) buffer.shape.push_back(parse(extent, dims));
    meta.buffers.push_back(buffer);
  }
  for (const std::string& extent : grid) meta.grid.push_back(parse(extent, dims));
  meta.scratch = parse(scratch, dims);
  return meta;
}

ManifestTensor manifest_tensor(const Plan& plan, const format::PlanBuffer& buffer) {
  ManifestTensor tensor;
  tensor.name = buffer.name;
  tensor.dtype = buffer.dtype;
  for (uint32_t extent : buffer.shape) {
    tensor.shape.push_back(format::expr_text(plan.exprs[extent], names_of(plan)));
  }
  return tensor;
}

ManifestEntry manifest_entry(const Plan& plan, const EntryFacts& facts) {
  ManifestEntry entry;
  entry.name = plan.entry;
  entry.dims = names_of(plan);
  for (const format::PlanBuffer& buffer : plan.buffers) {
    ManifestTensor tensor = manifest_tensor(plan, buffer);
    if (buffer.kind == BufferKind::Param) entry.params.push_back(buffer.name);
    if (buffer.kind == BufferKind::Input) {
      tensor.seed = std::count(facts.seeds.begin(), facts.seeds.end(), buffer.name) != 0;
      entry.inputs.push_back(tensor);
    }
    if (buffer.kind == BufferKind::Output) {
      auto donor = facts.donated.find(buffer.name);
      if (donor != facts.donated.end()) tensor.alias_of = donor->second;
      entry.outputs.push_back(tensor);
    }
  }
  return entry;
}

}  // namespace

std::vector<KernelMeta> sample_kernels() {
  std::vector<KernelMeta> out;
  out.push_back(kernel("add_one", {"N"}, {{"x", {"N"}}, {"y", {"N"}, true}}, {"(N + 15) // 16"}));
  out.push_back(kernel("checked", {"N"}, {{"x", {"N"}}, {"y", {"N"}, true}}, {"(N + 15) // 16"}));
  out.back().checks = {{"load", 0, "checked.tsr:4:9"}, {"store", 1, "checked.tsr:5:3"}};
  out.push_back(
      kernel("copy_seed", {}, {{"seed", {}, false, Dtype::U64}, {"y", {}, true, Dtype::U64}}, {}));
  out.push_back(kernel("is_positive", {}, {{"x", {"1"}}, {"flag", {}, true, Dtype::Bool}}, {"1"}));
  for (const char* name : {"overread", "overrun", "ratio", "reciprocal"}) {
    out.push_back(kernel(name, {"N"}, {{"x", {"N"}}, {"y", {"N"}, true}}, {"1"}));
  }
  out.push_back(
      kernel("row_sum", {"M", "N"}, {{"x", {"M", "N"}}, {"y", {"M"}, true}}, {"M"}, "4*N"));
  out.push_back(kernel("scale", {"M", "N"},
                       {{"x", {"M", "N"}}, {"s", {"N"}}, {"y", {"M", "N"}, true}}, {"M", "N"}));
  out.push_back(kernel("tile_linear", {"M", "N", "K"},
                       {{"a", {"M", "K"}}, {"b", {"K", "N"}}, {"c", {"M", "N"}, true}},
                       {"(M + 3) // 4", "(N + 3) // 4"}));
  out.push_back(kernel("unfinished", {"N"}, {{"x", {"N"}}, {"y", {"N"}, true}}, {"1"}));
  out.push_back(kernel("wait_for", {}, {{"x", {"1"}}, {"y", {"1"}, true}}, {"1"}));
  return out;
}

KernelMeta sample_kernel(const std::string& name) {
  std::vector<KernelMeta> kernels = sample_kernels();
  auto found = std::ranges::find(kernels, name, &KernelMeta::name);
  REQUIRE(found != kernels.end());
  return *found;
}

std::string sample_object() {
  std::ifstream in(TESSERA_TEST_KERNELS, std::ios::binary);
  REQUIRE(in);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

std::string long_sum(size_t ones) {
  std::string sum = "N";
  while (ones-- > 0) sum += " + 1";
  return sum;
}

PlanBuilder::PlanBuilder(std::string entry) {
  plan.entry = std::move(entry);
  plan.target = sample_target;
}

void PlanBuilder::step(format::PlanStep step) {
  plan.steps.push_back(std::move(step));
}

uint32_t PlanBuilder::dim(const std::string& name) {
  plan.dims.push_back({name, format::DimSource::Shape, format::no_index});
  return uint32_t(plan.dims.size() - 1);
}

uint32_t PlanBuilder::scalar_dim(const std::string& name, uint32_t input) {
  plan.dims.push_back({name, format::DimSource::Scalar, input});
  return uint32_t(plan.dims.size() - 1);
}

uint32_t PlanBuilder::loop_dim(const std::string& name) {
  plan.dims.push_back({name, format::DimSource::Loop, format::no_index});
  return uint32_t(plan.dims.size() - 1);
}

uint32_t PlanBuilder::expr(const std::string& text) {
  return format::intern_expr(plan, parse(text, names_of(plan)));
}

uint32_t PlanBuilder::buffer(BufferKind kind, const std::string& name,
                             std::vector<std::string> shape, Dtype dtype) {
  format::PlanBuffer buffer;
  buffer.kind = kind;
  buffer.name = name;
  buffer.dtype = dtype;
  for (const std::string& extent : shape) buffer.shape.push_back(expr(extent));
  plan.buffers.push_back(buffer);
  return uint32_t(plan.buffers.size() - 1);
}

uint32_t PlanBuilder::input(const std::string& name, std::vector<std::string> shape, Dtype dtype) {
  return buffer(BufferKind::Input, name, std::move(shape), dtype);
}

uint32_t PlanBuilder::param(const std::string& name, std::vector<std::string> shape) {
  return buffer(BufferKind::Param, name, std::move(shape), Dtype::F32);
}

uint32_t PlanBuilder::output(const std::string& name, std::vector<std::string> shape, Dtype dtype) {
  return buffer(BufferKind::Output, name, std::move(shape), dtype);
}

uint32_t PlanBuilder::temp(std::vector<std::string> shape, uint32_t first, uint32_t last,
                           Dtype dtype) {
  uint32_t index =
      buffer(BufferKind::Temp, "t" + std::to_string(plan.buffers.size()), std::move(shape), dtype);
  plan.buffers[index].first_step = first;
  plan.buffers[index].last_step = last;
  return index;
}

uint32_t PlanBuilder::constant(const std::vector<float>& values) {
  uint32_t index = buffer(BufferKind::Constant, "c" + std::to_string(plan.buffers.size()),
                          {std::to_string(values.size())}, Dtype::F32);
  plan.data.resize((plan.data.size() + 63) / 64 * 64);
  plan.buffers[index].offset = plan.data.size();
  plan.data.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return index;
}

void PlanBuilder::guard(const std::string& condition, const std::string& message) {
  plan.guards.push_back({expr(condition), message});
}

void PlanBuilder::launch(const std::string& kernel, std::vector<uint32_t> buffers,
                         std::vector<std::string> dims) {
  format::LaunchStep step;
  auto found = std::find(plan.kernels.begin(), plan.kernels.end(), kernel);
  step.kernel = uint32_t(found - plan.kernels.begin());
  if (found == plan.kernels.end()) plan.kernels.push_back(kernel);
  step.buffers = std::move(buffers);
  for (const std::string& dim : dims) step.dims.push_back(expr(dim));
  plan.steps.push_back(step);
}

format::Manifest manifest_for(const std::vector<Plan>& plans,
                              const std::map<std::string, EntryFacts>& facts) {
  format::Manifest manifest;
  manifest.compiler = "by hand";
  manifest.targets = {sample_target};
  std::map<std::string, ManifestTensor> params;
  for (const Plan& plan : plans) {
    auto found = facts.find(plan.entry);
    manifest.entries.push_back(
        manifest_entry(plan, found == facts.end() ? EntryFacts() : found->second));
    for (const format::PlanBuffer& buffer : plan.buffers) {
      if (buffer.kind == BufferKind::Param) params[buffer.name] = manifest_tensor(plan, buffer);
    }
  }
  for (auto& [name, param] : params) manifest.params.push_back(param);
  return manifest;
}

std::string make_bundle(const std::vector<Plan>& plans,
                        const std::map<std::string, EntryFacts>& facts,
                        const std::map<std::string, std::string>& more) {
  format::BundleWriter writer;
  format::Reflection reflection;
  reflection.kernels[sample_target] = sample_kernels();
  REQUIRE(writer.add(std::string(format::reflection_name), format::write_reflection(reflection)));
  REQUIRE(writer.add(format::kernels_path(sample_target), sample_object()));
  for (const Plan& plan : plans) {
    format::Outcome checked = format::check_plan(plan);
    INFO((checked ? "" : checked.error().text));
    REQUIRE(checked);
    REQUIRE(writer.add(format::plan_path(plan.entry, sample_target), format::encode_plan(plan)));
  }
  for (const auto& [name, bytes] : more) REQUIRE(writer.add(name, bytes));
  auto bundle = writer.finish(manifest_for(plans, facts));
  INFO((bundle ? "" : bundle.error().text));
  REQUIRE(bundle);
  return *bundle;
}

std::string changed_bundle(
    const std::string& bundle,
    const std::function<void(format::Manifest&, std::map<std::string, std::string>&)>& change) {
  auto view = format::BundleView::open(bundle);
  REQUIRE(view);
  format::Manifest manifest = view->manifest();
  std::map<std::string, std::string> entries;
  for (const format::BundleEntry& entry : view->entries()) {
    if (entry.name != format::manifest_name) entries[entry.name] = entry.bytes;
  }
  change(manifest, entries);
  format::BundleWriter writer;
  for (const auto& [name, bytes] : entries) REQUIRE(writer.add(name, bytes));
  auto changed = writer.finish(manifest);
  INFO((changed ? "" : changed.error().text));
  REQUIRE(changed);
  return *changed;
}

tsr_status_t create_on(const char* device, tsr_context_t* context, uint32_t checks) {
  auto options = sized<tsr_context_options_t>();
  options.device = device;
  options.checks = checks;
  return tsrCreateContextWith(&options, context);
}

tsr_status_t load_with(tsr_context_t context, const std::string& bundle, uint32_t flags, tsr_module_t* module) {
  auto options = sized<tsr_module_options_t>();
  options.flags = flags;
  return tsrLoadModuleWith(context, bundle.data(), bundle.size(), &options, module);
}

Loaded::Loaded(const std::string& bundle, uint32_t checks) {
  REQUIRE(create_on("cpu", &context, checks) == TSR_SUCCESS);
  tsr_status_t status = tsrLoadModule(context, bundle.data(), bundle.size(), &module);
  INFO(tsrGetLastError());
  REQUIRE(status == TSR_SUCCESS);
}

tsr_function_t Loaded::function(const char* name) const {
  tsr_function_t out = nullptr;
  REQUIRE(tsrGetFunction(module, name, &out) == TSR_SUCCESS);
  return out;
}

HostTensor::HostTensor(std::vector<int64_t> extents, Dtype dtype) : shape(std::move(extents)) {
  count_ = *format::element_count(shape);
  size_t bytes = size_t(*format::bytes_of(dtype, count_));
  storage_.resize(bytes + 64);
  size_t skip = (64 - reinterpret_cast<uintptr_t>(storage_.data()) % 64) % 64;
  tensor.data = storage_.data() + skip;
  tensor.device = {1, 0};
  tensor.ndim = int32_t(shape.size());
  tensor.dtype = runtime::dlpack_dtype(dtype);
  tensor.shape = shape.data();
}

HostTensor::HostTensor(std::vector<int64_t> extents, const std::vector<float>& values)
    : HostTensor(std::move(extents)) {
  REQUIRE(int64_t(values.size()) == count_);
  std::copy(values.begin(), values.end(), floats());
}

std::vector<float> HostTensor::values() {
  return {floats(), floats() + count_};
}

namespace {

std::string make_temporary(const std::string& bytes) {
  char path[] = "/tmp/tessera-test-XXXXXX";
  int fd = ::mkstemp(path);
  REQUIRE(fd >= 0);
  ::close(fd);
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

}  // namespace

TemporaryFile::TemporaryFile(const std::string& bytes) : path(make_temporary(bytes)) {}

TemporaryFile::~TemporaryFile() {
  ::unlink(path.c_str());
}

tsr_status_t call(tsr_function_t function, std::vector<const tsr_tensor_t*> inputs,
                  std::vector<tsr_tensor_t*> outputs, tsr_stream_t stream) {
  return tsrCall(function, stream, inputs.data(), inputs.size(), outputs.data(), outputs.size(), nullptr);
}

}  // namespace tessera::test
