#include "runtime/format/reflection.h"

#include "runtime/format/bundle.h"
#include "runtime/format/json_cursor.h"

namespace tessera::format {

namespace {

constexpr int64_t reflection_format = 1;
constexpr size_t max_grid_axes = 16;

Json exprs_json(const std::vector<Expr>& exprs, const std::vector<std::string>& dims) {
  Json out = Json::array();
  for (const Expr& expr : exprs) out.push_back(expr_text(expr, dims));
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
  return {
      {"name", kernel.name},
      {"tile", Json(kernel.tile)},
      {"fragments",
       {{"mma", kernel.fragments.mma},
        {"dtype_in", kernel.fragments.dtype_in},
        {"dtype_acc", kernel.fragments.dtype_acc}}},
      {"resources",
       {{"regs_per_thread", kernel.regs_per_thread},
        {"smem_per_cta", kernel.smem_per_cta},
        {"scratch", expr_text(kernel.scratch, kernel.dims)}}},
      {"launch", {{"grid", exprs_json(kernel.grid, kernel.dims)}, {"block", Json(kernel.block)}}},
      {"epilogue", kernel.epilogue},
      {"alignment", kernel.alignment},
      {"vector_width", kernel.vector_width},
      {"occupancy", kernel.occupancy},
      {"features", kernel.features},
      {"dims", kernel.dims},
      {"buffers", buffers}};
}

Expr read_expr(JsonCursor in, const std::vector<std::string>& dims) {
  Result<Expr> expr = parse_expr(in.text(), dims);
  if (expr) return std::move(*expr);
  in.refuse(expr.error().text);
  return const_expr(0);
}

std::vector<Expr> read_exprs(JsonCursor in, const std::vector<std::string>& dims) {
  std::vector<Expr> out;
  in.each([&](JsonCursor item) { out.push_back(read_expr(item, dims)); });
  return out;
}

KernelBuffer read_buffer(JsonCursor in, const std::vector<std::string>& dims) {
  KernelBuffer buffer;
  buffer.name = in["name"].text();
  auto dtype = find_dtype(in["dtype"].text());
  if (!dtype) in["dtype"].refuse("the dtype is not known");
  buffer.dtype = dtype.value_or(Dtype::F32);
  buffer.shape = read_exprs(in["shape"], dims);
  int64_t alignment = in["alignment"].integer();
  if (alignment < 1 || alignment > 4096) in["alignment"].refuse("the alignment is beyond 4096");
  buffer.alignment = uint32_t(alignment);
  buffer.result = in["result"].boolean();
  return buffer;
}

KernelMeta read_kernel(JsonCursor in) {
  KernelMeta kernel;
  kernel.name = in["name"].text();
  if (!is_printable_name(kernel.name)) in["name"].refuse("the name is not printable");
  in["tile"].each_member(
      [&](const std::string& axis, JsonCursor extent) { kernel.tile[axis] = extent.integer(); });
  kernel.fragments = {in["fragments"]["mma"].text(), in["fragments"]["dtype_in"].text(),
                      in["fragments"]["dtype_acc"].text()};
  kernel.dims = in["dims"].texts();
  for (const std::string& dim : kernel.dims) {
    if (!is_dim_name(dim)) in["dims"].refuse("a dimension name is malformed");
  }
  kernel.regs_per_thread = in["resources"]["regs_per_thread"].integer();
  kernel.smem_per_cta = in["resources"]["smem_per_cta"].integer();
  kernel.scratch = read_expr(in["resources"]["scratch"], kernel.dims);
  kernel.grid = read_exprs(in["launch"]["grid"], kernel.dims);
  if (kernel.grid.size() > max_grid_axes) in["launch"]["grid"].refuse("the grid has too many axes");
  kernel.block = in["launch"]["block"].integers();
  kernel.epilogue = in["epilogue"].texts();
  kernel.alignment = in["alignment"].integer();
  kernel.vector_width = in["vector_width"].integer();
  kernel.occupancy = in["occupancy"].integer();
  kernel.features = in["features"].texts();
  in["buffers"].each(
      [&](JsonCursor item) { kernel.buffers.push_back(read_buffer(item, kernel.dims)); });
  return kernel;
}

std::string yaml_list(const Json& items) {
  std::string out = "[";
  for (size_t i = 0; i < items.size(); ++i) {
    if (i) out += ", ";
    out += items[i].is_string() ? items[i].get<std::string>() : items[i].dump();
  }
  return out + "]";
}

/// 49152 as 48KB; other numbers of bytes as they are.
std::string yaml_bytes(int64_t bytes) {
  return bytes != 0 && bytes % 1024 == 0 ? cat(bytes / 1024, "KB") : cat(bytes);
}

}  // namespace

std::string write_reflection(const Reflection& reflection) {
  Json targets = Json::object();
  for (const auto& [target, kernels] : reflection.kernels) {
    Json list = Json::array();
    for (const KernelMeta& kernel : kernels) list.push_back(kernel_json(kernel));
    targets[target] = list;
  }
  return print_json({{"format", reflection_format}, {"kernels", targets}});
}

Result<Reflection> read_reflection(std::string_view json) {
  Result<Json> parsed = parse_json(json);
  if (!parsed) return error("reflection.json: ", parsed.error().text);
  std::string why;
  JsonCursor root(*parsed, why);
  if (root["format"].integer() != reflection_format) root["format"].refuse("it is not 1");
  Reflection reflection;
  root["kernels"].each_member([&](const std::string& target, JsonCursor list) {
    std::vector<KernelMeta>& kernels = reflection.kernels[target];
    list.each([&](JsonCursor item) {
      kernels.push_back(read_kernel(item));
      size_t n = kernels.size();
      if (n > 1 && kernels[n - 2].name >= kernels[n - 1].name) item.refuse("it is out of order");
    });
  });
  if (why.empty() && write_reflection(reflection) != json) why = "it is not in its one form";
  if (!why.empty()) return error("reflection.json: ", why);
  return reflection;
}

std::string kernel_yaml(const KernelMeta& kernel) {
  std::string tile;
  for (const auto& [axis, extent] : kernel.tile) {
    tile += cat(tile.empty() ? "" : ", ", axis, ": ", extent);
  }
  std::string buffers;
  for (const KernelBuffer& buffer : kernel.buffers) {
    buffers += cat("  - {name: ", buffer.name, ", dtype: ", dtype_name(buffer.dtype),
                   ", shape: ", yaml_list(exprs_json(buffer.shape, kernel.dims)),
                   ", alignment: ", buffer.alignment,
                   ", role: ", buffer.result ? "result" : "param", "}\n");
  }
  return cat("name: ", kernel.name, "\n", "tile: {", tile, "}\n",
             "fragments: {mma: ", kernel.fragments.mma.empty() ? "none" : kernel.fragments.mma,
             ", dtype_in: ", kernel.fragments.dtype_in, ", dtype_acc: ", kernel.fragments.dtype_acc,
             "}\n", "resources: {regs_per_thread: ", kernel.regs_per_thread,
             ", smem_per_cta: ", yaml_bytes(kernel.smem_per_cta),
             ", scratch: ", expr_text(kernel.scratch, kernel.dims), "}\n",
             "launch: {grid: ", yaml_list(exprs_json(kernel.grid, kernel.dims)),
             ", block: ", yaml_list(Json(kernel.block)), "}\n",
             "epilogue: ", yaml_list(Json(kernel.epilogue)), "\n", "alignment: ", kernel.alignment,
             "\n", "vector_width: ", kernel.vector_width, "\n", "occupancy: ", kernel.occupancy,
             "\n", "features: ", yaml_list(Json(kernel.features)), "\n",
             "dims: ", yaml_list(Json(kernel.dims)), "\n", "buffers:\n", buffers);
}

}  // namespace tessera::format
