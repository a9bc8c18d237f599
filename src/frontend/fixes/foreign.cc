#include "frontend/fixes/foreign.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "frontend/values/check_numerics.h"

namespace tessera::frontend {

namespace {

struct Row {
  std::string_view name, help;
};

template <size_t N>
std::string_view find(const Row (&rows)[N], std::string_view name) {
  for (const Row& row : rows) {
    if (row.name == name) return row.help;
  }
  return {};
}

constexpr std::string_view reshaped = "another shape is reshape({0}, (B, -1)), with the sizes in a tuple";
constexpr std::string_view moved =
    "a conversion is cast({0}, f32); values have no device of their own: leave a device out";
constexpr std::string_view converted = "a conversion is cast({0}, f32)";
constexpr std::string_view selected = "where(mask, a, b) takes elements of a where the mask holds, and of b elsewhere";
constexpr std::string_view placed = "values have no place of their own: leave it out";
constexpr std::string_view parted = "parts are slices, {0}[:, :n] and {0}[:, n:], or split and chunk of tessera.nn";

/// Members of tensors.
constexpr Row members[] = {
    {"view", reshaped}, {"flatten", reshaped}, {"ravel", reshaped},
    {"permute", "axes change places by transpose({0}, 0, 2, 1)"},
    {"swapaxes", "axes change places by transpose({0}, 0, 2, 1)"},
    {"t", "a matrix is transposed by {0}.T"}, {"mT", "the last two axes change places by {0}.T"},
    {"unsqueeze", "an axis of extent 1 is where None stands: {0}[None, :] has it first, {0}[:, None] second"},
    {"squeeze", "an axis of extent 1 is dropped by its index: {0}[:, 0]"},
    {"to", moved}, {"astype", converted}, {"type", converted}, {"float", converted}, {"half", converted},
    {"bfloat16", converted}, {"double", converted}, {"int", converted}, {"long", converted}, {"bool", converted},
    {"size", "the extents are {0}.shape, that of an axis {0}.shape[0]"},
    {"numel", "extents are {0}.shape; their product is the number"},
    {"ndim", "the number of axes is len({0}.shape)"}, {"dim", "the number of axes is len({0}.shape)"},
    {"masked_fill", selected}, {"masked_select", selected},
    {"gather", "elements at indices are {0}[arange(4, i64)[:, None], j]"},
    {"take_along_axis", "elements at indices are {0}[arange(4, i64)[:, None], j]"},
    {"index_select", "rows at indices are {0}[i]"}, {"take", "rows at indices are {0}[i]"},
    {"scatter", "a kernel writes to computed rows: tile.scatter(value, y, rows)"},
    {"mm", "a matmul is {0} @ w"}, {"bmm", "a matmul is {0} @ w"}, {"dot", "a matmul is {0} @ w"},
    {"matmul", "a matmul is {0} @ w"}, {"pow", "a power is {0} ** 2.0"},
    {"expand", "extents of 1 are repeated by broadcast_to({0}, shape), and by operators as they need it"},
    {"repeat", "extents of 1 are repeated by broadcast_to({0}, shape); copies beside each other by concat"},
    {"unbind", parted},
    {"cuda", placed}, {"cpu", placed}, {"device", placed}, {"detach", placed}, {"contiguous", placed},
    {"clone", placed},
    {"numpy", placed}, {"requires_grad", placed}, {"block_until_ready", placed},
    {"item", "a number that is computed is a tensor of rank 0; 'tsr run' prints it"},
    {"at", "a tensor with a part replaced is a new one, of where(…) or concat(…)"}};

/// Methods that change a tensor elsewhere, and that are no functions here.
constexpr Row in_place[] = {
    {"add_", "{0} = {0} + …"}, {"sub_", "{0} = {0} - …"}, {"mul_", "{0} = {0} * …"}, {"div_", "{0} = {0} / …"},
    {"pow_", "{0} = {0} ** …"}, {"zero_", "{0} = zeros({0}.shape, f32)"},
    {"fill_", "{0} = full({0}.shape, …, f32)"},
    {"clamp_", "{0} = minimum(maximum({0}, low), high)"}, {"copy_", "{0} = …"}};

constexpr std::string_view longer =
    "lists are values, and a longer one is a new one: {0} = {0} + [value]; a loop over a symbolic size fills a tensor: "
    "{0} = where((arange(S, i64) == i)[:, None], value, {0}), of {0} = zeros((S, D), f32) before it";

constexpr std::string_view counted = "the number of elements is len({0})";

constexpr Row of_lists[] = {
    {"append", longer}, {"extend", longer}, {"insert", longer}, {"size", counted}, {"shape", counted}};

/// Names that stand alone.
constexpr Row names[] = {
    {"break", "a loop ends with its range or its condition; where(condition, a, b) keeps a value as it is"},
    {"continue", "put the rest of the iteration into an 'if', or keep a value with where(condition, a, b)"},
    {"cat", "tensors are put beside each other by concat((x, y), axis=1)"},
    {"concatenate", "tensors are put beside each other by concat((x, y), axis=1)"},
    {"hstack", "tensors are put beside each other by concat((x, y), axis=1)"},
    {"vstack", "tensors are put beside each other by concat((x, y), axis=0)"},
    {"randn", "random numbers are normal(1.0, shape=(B, D), dtype=f32), and the function says '!{rng}'"},
    {"rand", "random numbers are uniform(0.0, 1.0, shape=(B, D), dtype=f32), and the function says '!{rng}'"},
    {"permute", "axes change places by transpose(x, 0, 2, 1)"},
    {"view", "another shape is reshape(x, (B, -1))"},
    {"mm", "a matmul is x @ w"},
    {"bmm", "a matmul is x @ w"},
    {"dot", "a matmul is x @ w"},
    {"unsqueeze", "an axis of extent 1 is where None stands: x[None, :] has it first, x[:, None] second"},
    {"expand_dims", "an axis of extent 1 is where None stands: x[None, :] has it first, x[:, None] second"},
    {"squeeze", "an axis of extent 1 is dropped by its index: x[:, 0]"},
    {"flatten", "another shape is reshape(x, (B, -1))"},
    {"swapaxes", "axes change places by transpose(x, 0, 2, 1)"},
    {"ones_like", "ones of the same shape are ones(x.shape, f32)"},
    {"zeros_like", "zeros of the same shape are zeros(x.shape, f32)"},
    {"full_like", "a value of the same shape is full(x.shape, 0.5, f32)"},
    {"tensor", "a tensor of one value is full((B, D), 0.5, f32); tables of numbers are params"},
    {"array", "a tensor of one value is full((B, D), 0.5, f32); tables of numbers are params"},
    {"super", "a module has no base; it is made with its parameters: model = Model(64)"},
    {"self", "'self' is the first parameter of a method of a module"},
    {"assert", "conditions on sizes are stated in the signature: where S % 64 == 0; for those on values, "
               "where(condition, x, 0.0) chooses elements"},
    {"relu6", "minimum(maximum(x, 0.0), 6.0)"},
    {"clip", "minimum(maximum(x, low), high)"},
    {"attention", "attention of several heads is flash_attention(q, k, v, causal=True)"},
    {"scaled_dot_product_attention", "attention of several heads is flash_attention(q, k, v, causal=True)"},
    {"addmm", "a matmul with a bias is x @ w + b"}, {"baddbmm", "a matmul with a bias is x @ w + b"},
    {"scan", "a loop carries values: for i in range(S): h = h * a + x[:, i], of h = zeros((B, D), f32) before it"},
    {"Sequential", "layers are fields of a module, whose __call__ applies them: self.second(relu(self.first(x)))"},
    {"newaxis", "an axis of extent 1 is added by x[:, None]"},
    {"no_grad", "nothing is recorded for gradients: leave it out"},
    {"power", "a power is x ** 2.0"},
    {"add", "write x + y"}, {"mul", "write x * y"}, {"sub", "write x - y"}, {"div", "write x / y"},
    {"multiply", "write x * y"}, {"divide", "write x / y"}, {"subtract", "write x - y"},
    {"absolute", "write abs(x)"}, {"empty", "memory always has values: zeros((B, D), f32)"},
    {"empty_like", "memory always has values: zeros(x.shape, f32)"},
    {"manual_seed", "the seed is given to the program's run, not in its source"},
    {"Parameter", "a field of a module is a param: w: Param[I, O, f32] = normal(0.02)"},
    {"__syncthreads", "the compiler places barriers"},
    {"threadIdx", "a kernel works on tiles, not on threads; t.i and t.j are this program's indices, of "
                  "t = tile.context(…)"},
    {"blockIdx", "t.i, t.j are this program's indices, of t = tile.context(…)"},
    {"blockDim", "extents of tiles are t.m, t.n of t = tile.context(…)"},
    {"gridDim", "how many programs there are follows from the axes of tile.context(…)"},
    {"atomicAdd", "tile.atomic_add(value, y, index)"},
    {"printf", "print(\"text\", value) in a kernel, under --debug"},
    {"linear", "a linear layer is x @ w.T + b, of weights [out, in]"},
    {"rearrange", "reshape(x, (B, S, 12, 64)), then transpose(x, 0, 2, 1, 3)"},
    {"linspace", "cast(arange(n, i32), f32) * step"},
    {"fmax", "maximum(x, y)"}, {"fmaxf", "maximum(x, y)"}, {"fmin", "minimum(x, y)"}, {"fminf", "minimum(x, y)"},
    {"Config", "the choices of a tuned kernel are lists: "
               "@kernel.autotune(space=Schedule(BM=[64, 128], warps=[4, 8]))"}};

constexpr Row of_tile[] = {
    {"program_id", "t.i, t.j and t.h are this program's indices, of t = tile.context(…)"},
    {"num_programs", "how many programs there are follows from the axes of tile.context(…)"},
    {"constexpr", "a parameter behind '*' with a type such as int is known while compiling"},
    {"make_block_ptr", "tile.load(x, (t.i, k), (t.m, t.k)) says which tile, by its indices"},
    {"advance", "tile.load(x, (t.i, k), (t.m, t.k)) says which tile, by its indices"},
    {"cdiv", "write ceildiv(M, t.m)"},
    {"make_tensor_descriptor", "tile.load(x, (t.i, k), (t.m, t.k)) says which tile, by its indices"},
    {"trans", "a tile is transposed by x.T"},
    {"softmax", "e = tile.exp(x - tile.max(x, axis=1)[:, None]), then e / tile.sum(e, axis=1)[:, None]"},
    {"shared", "memory that the threads of a program share is tile.alloc((64, 64), f32)"},
    {"max_contiguous", "what is known of sizes is stated in the signature: where S % 64 == 0"},
    {"cumsum", "tile.scan(x, axis=1)"},
    {"debug_barrier", "the compiler places barriers"},
    {"static_range", "for k in range(4) is unrolled, for k in tile.range(K, t.k) runs at run time"},
    {"static_assert", "conditions on sizes are stated in the signature: where S % 64 == 0"},
    {"device_print", "print(\"text\", value), under --debug"},
    {"multiple_of", "what is known of sizes is stated in the signature: where S % 64 == 0"}};

/// The names that dtypes have elsewhere.
constexpr std::pair<std::string_view, std::string_view> dtypes[] = {
    {"float", "f32"},    {"float32", "f32"}, {"fp32", "f32"},      {"single", "f32"},    {"half", "f16"},
    {"float16", "f16"},  {"fp16", "f16"},    {"bfloat16", "bf16"}, {"bfloat", "bf16"},
    {"double", "f64"},    {"float64", "f64"},
    {"fp64", "f64"},     {"int8", "i8"},     {"int16", "i16"},     {"int32", "i32"},     {"int", "i32"},
    {"int64", "i64"},    {"long", "i64"},    {"short", "i16"},     {"char", "i8"},       {"uint8", "u8"},
    {"byte", "u8"},      {"uint16", "u16"},  {"uint32", "u32"},    {"uint64", "u64"},    {"int1", "bool"},
    {"bool_", "bool"},   {"tf32", "f32"},    {"boolean", "bool"},  {"float8_e4m3fn", "f8e4m3"},
    {"float8_e5m2", "f8e5m2"}};

constexpr std::string_view triton_names[] = {"tl", "triton"};
constexpr std::string_view array_names[] = {"np", "numpy", "jnp", "jax", "lax"};
constexpr std::string_view torch_names[] = {"torch", "nn", "F"};
constexpr std::string_view other_names[] = {"math", "tf"};

template <size_t N>
bool has(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

constexpr std::string_view packages[] = {"torch",      "numpy", "jax",  "triton", "tensorflow", "flax",
                                         "math",       "typing", "functools", "einops", "torchvision", "os",
                                         "dataclasses", "cupy"};

std::string about(std::string_view help, std::string_view x) {
  return help.empty() ? std::string() : fmt::format(fmt::runtime(help), x);
}

}  // namespace

std::string help_for_member(std::string_view name, std::string_view x) {
  // `x.relu_()` changes a tensor in its place elsewhere.
  if (name.size() > 1 && name.ends_with('_') && !name.starts_with('_')) {
    std::string_view changed = find(in_place, name);
    if (!changed.empty()) return "values do not change; give a new one the name: " + about(changed, x);
    return fmt::format("values do not change; give a new one the name: {0} = {1}({0})", x,
                       name.substr(0, name.size() - 1));
  }
  return about(find(members, name), x);
}

std::string help_for_list(std::string_view name, std::string_view parts) { return about(find(of_lists, name), parts); }

std::string_view help_for_name(std::string_view name) {
  if (is_package(name)) return "functions such as sum, exp and softmax stand here without a prefix";
  return find(names, name);
}

bool is_package(std::string_view name) {
  return has(triton_names, name) || has(array_names, name) || has(torch_names, name) || has(other_names, name);
}

std::string_view migration_page(std::string_view package) {
  if (has(triton_names, package)) return "docs/migration/triton.md";
  return has(array_names, package) ? "docs/migration/numpy.md" : "docs/migration/pytorch.md";
}

std::string_view dtype_here(std::string_view foreign) {
  foreign = foreign.substr(foreign.rfind('.') + 1);
  if (std::optional<DType> dtype = dtype_by_name(foreign)) return to_string(*dtype);
  for (const auto& [name, ours] : dtypes) {
    if (name == foreign) return ours;
  }
  return {};
}

std::string_view help_for_keyword(std::string_view callee, std::string_view keyword) {
  if (keyword == "mask" && callee.starts_with("tile.")) {
    return "nothing outside of a tensor is read or written: leave it out; fill=0.0 is what a load has there";
  }
  if (keyword == "num_warps" || keyword == "num_stages") {
    return "a schedule states it: @kernel.schedule(Schedule(warps=4, stages=3))";
  }
  if (keyword == "device" || keyword == "requires_grad" || keyword == "inplace" || keyword == "out") {
    return "values have no place of their own: leave it out";
  }
  if (keyword == "attn_mask") return "a mask is given as a bias: bias=where(mask, 0.0, -INF)";
  if (keyword == "reduction") return "the result has a loss for each row: mean(…) or sum(…) of it is one number";
  if (keyword == "training") return "a function does the same in each call: call it where the model is trained alone";
  return {};
}

std::string help_for_tile_member(std::string_view name, std::string_view x) {
  if (name == "to" || name == "astype" || name == "type") return fmt::format("a conversion is tile.cast({}, f32)", x);
  std::string_view help = find(of_tile, name);
  return std::string(help);
}

std::string_view help_for_tile(std::string_view name) { return find(of_tile, name); }

std::string_view keyword_here(std::string_view keyword) {
  if (keyword == "dim" || keyword == "dims" || keyword == "axes") return "axis";
  if (keyword == "keepdim" || keyword == "keep_dims") return "keepdims";
  if (keyword == "is_causal") return "causal";
  if (keyword == "dropout_p") return "dropout";
  if (keyword == "num_warps") return "warps";
  if (keyword == "num_stages") return "stages";
  if (keyword == "other") return "fill";
  if (keyword == "size") return "shape";
  return {};
}

std::string help_for_import(std::string_view dotted) {
  std::string_view first = dotted.substr(0, dotted.find('.'));
  bool is_package = std::any_of(std::begin(packages), std::end(packages), [&](std::string_view each) {
    return each == first;
  });
  if (!is_package) return {};
  return fmt::format("packages of Python cannot be imported; functions such as sum, exp and softmax are there without "
                     "an import: {}", migration_page(first));
}

std::string_view help_for_decorator(std::string_view dotted) {
  if (dotted.starts_with("triton.")) {
    return "a kernel is marked by '@kernel', and reads and stores tiles; docs/kernels.md";
  }
  std::string_view last = dotted.substr(dotted.rfind('.') + 1);
  bool is_entry = last == "jit" || last == "script" || last == "compile" || last == "function";
  return is_entry ? "a function that is compiled for itself is marked by '@jit'" : std::string_view();
}

}  // namespace tessera::frontend
