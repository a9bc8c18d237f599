#include "runtime/format/reflection.h"

#include <set>

#include "runtime/base/tensor_maps.h"
#include "runtime/files/json_cursor.h"
#include "runtime/format/bundle.h"

namespace tessera::format {

namespace {

constexpr int64_t reflection_format = 3;
constexpr size_t max_grid_axes = 16;
constexpr size_t max_kernel_dims = 4096;
constexpr int64_t max_threads = 1024;    // of a block
constexpr int64_t max_cluster = 16;      // blocks of a cluster
constexpr int64_t max_shared = 1 << 20;  // bytes; more than any machine has
constexpr size_t max_descriptors = 16;
constexpr size_t max_descriptor_rank = 5;  // this and what follows: limits of tensor maps
constexpr int64_t max_box = 256;
constexpr int64_t copy_granule = 16;  // bytes
constexpr size_t max_window_axes = 3;
constexpr int64_t max_window_margin[] = {1 << 15, 1 << 7, 1 << 4}, max_window_step = 8;

Json exprs_json(const std::vector<Expr>& exprs, const std::vector<std::string>& dims) {
  Json out = Json::array();
  for (const Expr& expr : exprs) out.push_back(expr_text(expr, dims));
  return out;
}

Json descriptors_json(const KernelMeta& kernel) {
  Json out = Json::array();
  for (const KernelDescriptor& descriptor : kernel.descriptors) {
    Json row = {{"buffer", descriptor.buffer},
                {"dtype", dtype_name(descriptor.dtype)},
                {"dims", exprs_json(descriptor.dims, kernel.dims)},
                {"strides", exprs_json(descriptor.strides, kernel.dims)},
                {"offset", expr_text(descriptor.offset, kernel.dims)},
                {"box", Json(descriptor.box)},
                {"swizzle", descriptor.swizzle}};
    // Bundles without windows are as they were before there were any.
    if (!descriptor.steps.empty()) {
      row["windows"] = {{"lower", Json(descriptor.lower)},
                        {"upper", Json(descriptor.upper)},
                        {"steps", Json(descriptor.steps)}};
    }
    out.push_back(std::move(row));
  }
  return out;
}

Json work_json(const KernelMeta& kernel) {
  const KernelWork& work = kernel.work;
  return {{"flops", work.flops ? Json(expr_text(*work.flops, kernel.dims)) : Json()},
          {"dot_flops", expr_text(work.dot_flops, kernel.dims)},
          {"dot_dtype", work.dot_dtype},
          {"at_most", work.at_most},
          {"infinite", work.infinite},
          {"reads", expr_text(work.reads, kernel.dims)},
          {"writes", expr_text(work.writes, kernel.dims)}};
}

Json checks_json(const KernelMeta& kernel) {
  Json out = Json::array();
  for (const KernelCheck& check : kernel.checks) {
    out.push_back({{"access", check.access}, {"buffer", check.buffer}, {"source", check.source}});
  }
  return out;
}

Json kernel_json(const KernelMeta& kernel) {
  Json buffers = Json::array();
  for (const KernelBuffer& buffer : kernel.buffers) {
    buffers.push_back({{"name", buffer.name},
                       {"dtype", dtype_name(buffer.dtype)},
                       {"shape", exprs_json(buffer.shape, kernel.dims)},
                       {"alignment", buffer.alignment},
                       {"result", buffer.result}});
  }
  Json json = {{"name", kernel.name},
          {"source", kernel.source},
          {"title", kernel.title},
          {"tile", Json(kernel.tile)},
          {"fragments",
           {{"mma", kernel.fragments.mma},
            {"dtype_in", kernel.fragments.dtype_in},
            {"dtype_acc", kernel.fragments.dtype_acc}}},
          {"resources",
           {{"regs_per_thread", kernel.regs_per_thread},
            {"smem_per_cta", kernel.smem_per_cta},
            {"spills", kernel.spills},
            {"scratch", expr_text(kernel.scratch, kernel.dims)}}},
          {"launch",
           {{"grid", exprs_json(kernel.grid, kernel.dims)},
            {"block", Json(kernel.block)},
            {"cluster", Json(kernel.cluster)},
            {"persistent", kernel.persistent}}},
          {"epilogue", kernel.epilogue},
          {"alignment", kernel.alignment},
          {"vector_width", kernel.vector_width},
          {"occupancy", kernel.occupancy},
          {"features", kernel.features},
          {"dims", kernel.dims},
          {"buffers", buffers},
          {"descriptors", descriptors_json(kernel)},
          {"work", work_json(kernel)},
          {"checks", checks_json(kernel)}};
  if (!kernel.code.empty()) json["code"] = kernel.code;
  if (kernel.waits) json["launch"]["waits"] = true;
  if (!kernel.assume.empty()) json["assume"] = exprs_json(kernel.assume, kernel.dims);
  return json;
}

Expr read_expr(JsonCursor in, const DimNumbers& dims) {
  Result<Expr> expr = parse_expr(in.text(), dims);
  if (expr) return std::move(*expr);
  in.refuse(expr.error().text);
  return const_expr(0);
}

std::vector<Expr> read_exprs(JsonCursor in, const DimNumbers& dims) {
  std::vector<Expr> out;
  in.each([&](JsonCursor item) { out.push_back(read_expr(item, dims)); });
  return out;
}

Dtype read_dtype(JsonCursor in) {
  auto dtype = find_dtype(in.text());
  if (!dtype) in.refuse("the dtype is not known");
  return dtype.value_or(Dtype::F32);
}

KernelBuffer read_buffer(JsonCursor in, const DimNumbers& dims) {
  KernelBuffer buffer;
  buffer.name = in["name"].text();
  buffer.dtype = read_dtype(in["dtype"]);
  buffer.shape = read_exprs(in["shape"], dims);
  int64_t alignment = in["alignment"].integer();
  if (alignment < 1 || alignment > 4096) in["alignment"].refuse("the alignment is beyond 4096");
  buffer.alignment = uint32_t(alignment);
  buffer.result = in["result"].boolean();
  return buffer;
}

KernelDescriptor read_descriptor(JsonCursor in, const DimNumbers& dims) {
  KernelDescriptor descriptor;
  int64_t buffer = in["buffer"].integer();
  if (buffer < 0 || buffer > UINT32_MAX) in["buffer"].refuse("it is not an index");
  descriptor.buffer = uint32_t(buffer);
  descriptor.dtype = read_dtype(in["dtype"]);
  descriptor.dims = read_exprs(in["dims"], dims);
  descriptor.strides = read_exprs(in["strides"], dims);
  descriptor.offset = read_expr(in["offset"], dims);
  descriptor.box = in["box"].integers();
  descriptor.swizzle = in["swizzle"].integer();
  if (JsonCursor windows = in["windows"]; !windows.is_null()) {
    descriptor.lower = windows["lower"].integers();
    descriptor.upper = windows["upper"].integers();
    descriptor.steps = windows["steps"].integers();
  }
  return descriptor;
}

KernelWork read_work(JsonCursor in, const DimNumbers& dims) {
  KernelWork work;
  if (!in["flops"].is_null()) work.flops = read_expr(in["flops"], dims);
  work.dot_flops = read_expr(in["dot_flops"], dims);
  work.dot_dtype = in["dot_dtype"].text();
  if (!work.dot_dtype.empty()) read_dtype(in["dot_dtype"]);
  work.at_most = in["at_most"].boolean();
  work.infinite = in["infinite"].boolean();
  work.reads = read_expr(in["reads"], dims);
  work.writes = read_expr(in["writes"], dims);
  return work;
}

std::vector<std::string> read_dims(JsonCursor in) {
  std::vector<std::string> dims = in.texts();
  if (dims.size() > max_kernel_dims) in.refuse(cat("there are more than ", max_kernel_dims));
  std::set<std::string_view> known;
  for (const std::string& dim : dims) {
    if (!is_dim_name(dim)) in.refuse("a dimension name is malformed");
    if (!known.insert(dim).second) in.refuse("a dimension is there twice");
  }
  return dims;
}

KernelMeta read_kernel(JsonCursor in) {
  KernelMeta kernel;
  kernel.name = in["name"].text();
  if (!in["code"].is_null()) kernel.code = in["code"].text();
  if (!kernel.code.empty() && !is_printable_name(kernel.code)) in["code"].refuse("the name is not printable");
  kernel.source = in["source"].text();
  kernel.title = in["title"].text();
  if (!is_printable_name(kernel.name)) in["name"].refuse("the name is not printable");
  in["tile"].each_member(
      [&](const std::string& axis, JsonCursor extent) { kernel.tile[axis] = extent.integer(); });
  kernel.fragments = {in["fragments"]["mma"].text(), in["fragments"]["dtype_in"].text(),
                      in["fragments"]["dtype_acc"].text()};
  kernel.dims = read_dims(in["dims"]);
  DimNumbers dims(kernel.dims);
  if (!in["assume"].is_null()) kernel.assume = read_exprs(in["assume"], dims);
  kernel.regs_per_thread = in["resources"]["regs_per_thread"].integer();
  kernel.smem_per_cta = in["resources"]["smem_per_cta"].integer();
  kernel.spills = in["resources"]["spills"].integer();
  kernel.scratch = read_expr(in["resources"]["scratch"], dims);
  kernel.grid = read_exprs(in["launch"]["grid"], dims);
  kernel.block = in["launch"]["block"].integers();
  kernel.cluster = in["launch"]["cluster"].integers();
  kernel.persistent = in["launch"]["persistent"].boolean();
  if (JsonCursor waits = in["launch"]["waits"]; !waits.is_null()) kernel.waits = waits.boolean();
  kernel.epilogue = in["epilogue"].texts();
  kernel.alignment = in["alignment"].integer();
  kernel.vector_width = in["vector_width"].integer();
  kernel.occupancy = in["occupancy"].integer();
  kernel.features = in["features"].texts();
  in["buffers"].each(
      [&](JsonCursor item) { kernel.buffers.push_back(read_buffer(item, dims)); });
  in["descriptors"].each(
      [&](JsonCursor item) { kernel.descriptors.push_back(read_descriptor(item, dims)); });
  kernel.work = read_work(in["work"], dims);
  in["checks"].each([&](JsonCursor item) {
    kernel.checks.push_back({item["access"].text(), item["buffer"].integer(), item["source"].text()});
    int64_t buffer = kernel.checks.back().buffer;
    if (buffer < -1 || buffer >= int64_t(kernel.buffers.size())) item["buffer"].refuse("it names no buffer");
  });
  if (Outcome checked = check_kernel(kernel); !checked) in.refuse(checked.error().text);
  return kernel;
}

/// True for three counts whose product is at most `limit`.
bool are_counts(const std::vector<int64_t>& extents, int64_t limit) {
  int64_t product = 1;
  for (int64_t extent : extents) {
    if (extent < 1 || extent > limit) return false;
    product *= extent;
  }
  return extents.size() == 3 && product <= limit;
}

/// Windows begin no farther from an image than a map can say.
Outcome check_windows(const KernelDescriptor& descriptor) {
  size_t axes = descriptor.steps.size();
  if (axes > max_window_axes || descriptor.dims.size() != axes + 2) {
    return error("it has windows along ", axes, " axes");
  }
  if (descriptor.lower.size() != axes || descriptor.upper.size() != axes) {
    return error("its windows disagree about the rank");
  }
  for (size_t i = 0; i < axes; ++i) {
    int64_t margin = max_window_margin[axes - 1];
    for (int64_t corner : {descriptor.lower[i], descriptor.upper[i]}) {
      if (corner < -margin || corner >= margin) return error("windows begin ", corner, " from the end of an image");
    }
    if (descriptor.steps[i] < 1 || descriptor.steps[i] > max_window_step) {
      return error("windows begin ", descriptor.steps[i], " from each other");
    }
  }
  return {};
}

Outcome check_descriptor(const KernelMeta& kernel, const KernelDescriptor& descriptor) {
  size_t rank = descriptor.dims.size();
  if (descriptor.buffer >= kernel.buffers.size()) return error("it names no buffer");
  if (!base::has_tensor_map_type(dtype_name(descriptor.dtype))) return error("tensor maps have no such dtype");
  if (rank < 1 || rank > max_descriptor_rank) return error("it has ", rank, " dims");
  bool of_windows = !descriptor.steps.empty() || !descriptor.lower.empty() || !descriptor.upper.empty();
  if (descriptor.strides.size() != rank - 1 || descriptor.box.size() != (of_windows ? 2 : rank)) {
    return error("its dims, strides and box disagree about the rank");
  }
  if (of_windows) {
    if (Outcome outcome = check_windows(descriptor); !outcome) return outcome;
  }
  for (int64_t extent : descriptor.box) {
    if (extent < 1 || extent > max_box) return error("the box extent ", extent, " is beyond 256");
  }
  int64_t row = descriptor.box[0] * dtype_bits(descriptor.dtype) / 8;
  if (row % copy_granule != 0) return error("a row of its box is not a multiple of 16 bytes");
  int64_t swizzle = descriptor.swizzle;
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128) {
    return error("there is no swizzle of ", swizzle, " bytes");
  }
  if (swizzle != 0 && row > swizzle) return error("a row of its box is longer than its swizzle");
  return {};
}

std::string yaml_list(const Json& items) {
  std::string out = "[";
  for (const Json& item : *items.as<Json::Array>()) {
    if (out.size() > 1) out += ", ";
    const auto* text = item.as<std::string>();
    out += text ? yaml_text(*text) : item.compact();
  }
  return out + "]";
}

std::string yaml_expr(const Expr& expr, const KernelMeta& kernel) {
  return yaml_text(expr_text(expr, kernel.dims));
}

/// 49152 as 48KB; other numbers of bytes as they are.
std::string yaml_bytes(int64_t bytes) {
  return bytes != 0 && bytes % 1024 == 0 ? cat(bytes / 1024, "KB") : cat(bytes);
}

std::string yaml_name(const std::string& name) {
  return name.empty() ? "none" : yaml_text(name);
}

std::string yaml_work(const KernelMeta& kernel) {
  const KernelWork& work = kernel.work;
  return cat("{flops: ", work.flops ? yaml_expr(*work.flops, kernel) : "null",
             ", dot_flops: ", yaml_expr(work.dot_flops, kernel),
             ", dot_dtype: ", yaml_name(work.dot_dtype),
             ", at_most: ", work.at_most ? "true" : "false",
             ", reads: ", yaml_expr(work.reads, kernel),
             ", writes: ", yaml_expr(work.writes, kernel), "}");
}

std::string yaml_windows(const KernelDescriptor& descriptor) {
  if (descriptor.steps.empty()) return "";
  return cat(", lower: ", yaml_list(Json(descriptor.lower)), ", upper: ", yaml_list(Json(descriptor.upper)),
             ", steps: ", yaml_list(Json(descriptor.steps)));
}

std::string yaml_descriptors(const KernelMeta& kernel) {
  std::string out;
  for (const KernelDescriptor& descriptor : kernel.descriptors) {
    out +=
        cat("  - {buffer: ", yaml_text(kernel.buffers[descriptor.buffer].name),
            ", dtype: ", dtype_name(descriptor.dtype),
            ", dims: ", yaml_list(exprs_json(descriptor.dims, kernel.dims)),
            ", strides: ", yaml_list(exprs_json(descriptor.strides, kernel.dims)),
            ", offset: ", yaml_expr(descriptor.offset, kernel),
            ", box: ", yaml_list(Json(descriptor.box)), ", swizzle: ", descriptor.swizzle,
            yaml_windows(descriptor), "}\n");
  }
  return out;
}

}  // namespace

Outcome check_kernel(const KernelMeta& kernel) {
  if (kernel.grid.size() > max_grid_axes) return error("the grid has too many axes");
  if (!are_counts(kernel.block, max_threads))
    return error("the block is none of 1 to 1024 threads");
  if (!are_counts(kernel.cluster, max_cluster))
    return error("the cluster is none of 1 to 16 blocks");
  if (kernel.smem_per_cta < 0 || kernel.smem_per_cta > max_shared) {
    return error("there is no machine with ", kernel.smem_per_cta, " bytes of shared memory");
  }
  for (const KernelBuffer& buffer : kernel.buffers) {
    if (buffer.shape.size() > max_kernel_rank) return error("a buffer has more than ", max_kernel_rank, " dims");
  }
  if (kernel.descriptors.size() > max_descriptors) return error("there are too many descriptors");
  for (size_t i = 0; i < kernel.descriptors.size(); ++i) {
    Outcome checked = check_descriptor(kernel, kernel.descriptors[i]);
    if (!checked) return error("descriptor ", i, ": ", checked.error().text);
  }
  return {};
}

std::string write_reflection(const Reflection& reflection) {
  Json targets = Json::object();
  for (const auto& [target, kernels] : reflection.kernels) {
    Json list = Json::array();
    for (const KernelMeta& kernel : kernels) list.push_back(kernel_json(kernel));
    targets[target] = list;
  }
  return Json({{"format", reflection_format}, {"kernels", targets}, {"steps", reflection.steps}}).indented();
}

Result<Reflection> read_reflection(std::string_view json) {
  Result<Json> parsed = parse_json(json);
  if (!parsed) return error("reflection.json: ", parsed.error().text);
  std::string why;
  JsonCursor root(*parsed, why);
  int64_t number = root["format"].integer();
  if (why.empty() && number != reflection_format) {
    return error("reflection.json: it has format ", number, "; this build reads ", reflection_format,
                 ": compile the source again");
  }
  Reflection reflection;
  root["kernels"].each_member([&](const std::string& target, JsonCursor list) {
    std::vector<KernelMeta>& kernels = reflection.kernels[target];
    list.each([&](JsonCursor item) {
      kernels.push_back(read_kernel(item));
      size_t n = kernels.size();
      if (n > 1 && kernels[n - 2].name >= kernels[n - 1].name) item.refuse("it is out of order");
    });
  });
  root["steps"].each_member([&](const std::string& target, JsonCursor entries) {
    auto& steps = reflection.steps[target];
    entries.each_member(
        [&](const std::string& entry, JsonCursor sources) { steps[entry] = sources.texts(); });
  });
  if (why.empty() && write_reflection(reflection) != json)
    why = "it is not in the one form that this version of tesserac writes; compile the source again";
  if (!why.empty()) return error("reflection.json: ", why);
  return reflection;
}

std::string yaml_text(std::string_view text) {
  constexpr std::string_view indicators = "-?:,[]{}#&*!|>'\"%@` ";
  bool is_plain = !text.empty() && indicators.find(text[0]) == text.npos && text.back() != ' ' && text.back() != ':' &&
                  text.find_first_of(",[]{}") == text.npos && text.find(": ") == text.npos &&
                  text.find(" #") == text.npos && one_line(text) == text;
  bool is_number = text.size() > 1 && text[0] == '-' && text.find_first_not_of("0123456789", 1) == text.npos;
  return is_plain || is_number ? std::string(text) : Json(text).compact();
}

std::string kernel_yaml(const KernelMeta& kernel) {
  std::string tile;
  for (const auto& [axis, extent] : kernel.tile) {
    tile += cat(tile.empty() ? "" : ", ", yaml_text(axis), ": ", extent);
  }
  std::string buffers;
  for (const KernelBuffer& buffer : kernel.buffers) {
    buffers += cat("  - {name: ", yaml_text(buffer.name), ", dtype: ", dtype_name(buffer.dtype),
                   ", shape: ", yaml_list(exprs_json(buffer.shape, kernel.dims)),
                   ", alignment: ", buffer.alignment,
                   ", role: ", buffer.result ? "result" : "param", "}\n");
  }
  std::string assume;
  if (!kernel.assume.empty()) assume = cat("assume: ", yaml_list(exprs_json(kernel.assume, kernel.dims)), "\n");
  std::string code = kernel.code.empty() ? "" : cat("code: ", yaml_text(kernel.code), "\n");
  return cat("name: ", yaml_text(kernel.name), "\n", code, "tile: {", tile, "}\n",
             "fragments: {mma: ", yaml_name(kernel.fragments.mma),
             ", dtype_in: ", yaml_text(kernel.fragments.dtype_in),
             ", dtype_acc: ", yaml_text(kernel.fragments.dtype_acc),
             "}\n", "resources: {regs_per_thread: ", kernel.regs_per_thread,
             ", smem_per_cta: ", yaml_bytes(kernel.smem_per_cta),
             ", scratch: ", yaml_expr(kernel.scratch, kernel), ", spills: ", kernel.spills,
             "}\n",
             "launch: {grid: ", yaml_list(exprs_json(kernel.grid, kernel.dims)),
             ", block: ", yaml_list(Json(kernel.block)),
             ", cluster: ", yaml_list(Json(kernel.cluster)),
             ", persistent: ", kernel.persistent ? "true" : "false",
             ", waits: ", kernel.waits ? "true" : "false", "}\n",
             "epilogue: ", yaml_list(Json(kernel.epilogue)), "\n", "alignment: ", kernel.alignment,
             "\n", "vector_width: ", kernel.vector_width, "\n", "occupancy: ", kernel.occupancy,
             "\n", "features: ", yaml_list(Json(kernel.features)), "\n",
             "source: ", yaml_text(kernel.source), "\n",
             "title: ", yaml_text(kernel.title), "\n", "work: ", yaml_work(kernel), "\n",
             "dims: ", yaml_list(Json(kernel.dims)), "\n", assume, "buffers:\n", buffers,
             kernel.descriptors.empty() ? "" : "descriptors:\n", yaml_descriptors(kernel));
}

}  // namespace tessera::format
