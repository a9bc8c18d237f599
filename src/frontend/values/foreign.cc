#include "frontend/values/foreign.h"

#include <fmt/format.h>

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
    {"unsqueeze", "an axis of extent 1 is added by {0}[:, None]"},
    {"squeeze", "an axis of extent 1 is dropped by its index: {0}[:, 0]"},
    {"to", converted}, {"astype", converted}, {"type", converted}, {"float", converted}, {"half", converted},
    {"bfloat16", converted}, {"double", converted}, {"int", converted}, {"long", converted}, {"bool", converted},
    {"size", "the extent of an axis is {0}.shape[0]"}, {"numel", "extents are {0}.shape; their product is the number"},
    {"ndim", "the number of axes is len({0}.shape)"}, {"dim", "the number of axes is len({0}.shape)"},
    {"masked_fill", selected}, {"masked_select", selected}, {"clamp", "minimum(maximum({0}, low), high)"},
    {"mm", "a matmul is {0} @ w"}, {"bmm", "a matmul is {0} @ w"}, {"dot", "a matmul is {0} @ w"},
    {"matmul", "a matmul is {0} @ w"}, {"pow", "a power is {0} ** 2.0"},
    {"expand", "extents of 1 are repeated by broadcast_to({0}, shape), and by operators as they need it"},
    {"repeat", "extents of 1 are repeated by broadcast_to({0}, shape); copies beside each other by concat"},
    {"chunk", parted}, {"split", parted}, {"unbind", parted},
    {"flip", "{0}[:, ::-1] is in reverse order along an axis"},
    {"var", "var({0}, axis=1) of tessera.nn"}, {"std", "std({0}, axis=1) of tessera.nn"},
    {"cuda", placed}, {"cpu", placed}, {"device", placed}, {"detach", placed}, {"contiguous", placed},
    {"clone", placed},
    {"numpy", placed}, {"requires_grad", placed}, {"block_until_ready", placed},
    {"item", "a number that is computed is a tensor of rank 0; 'tsr run' prints it"},
    {"at", "a tensor with a part replaced is a new one, of where(…) or concat(…)"}};

constexpr std::string_view longer = "lists are values, and a longer one is a new one: {0} = {0} + [value]";

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
    {"unsqueeze", "an axis of extent 1 is added by x[:, None]"},
    {"expand_dims", "an axis of extent 1 is added by x[:, None]"},
    {"squeeze", "an axis of extent 1 is dropped by its index: x[:, 0]"},
    {"flatten", "another shape is reshape(x, (B, -1))"},
    {"swapaxes", "axes change places by transpose(x, 0, 2, 1)"},
    {"ones_like", "ones of the same shape are ones(x.shape, f32)"},
    {"zeros_like", "zeros of the same shape are zeros(x.shape, f32)"},
    {"full_like", "a value of the same shape is full(x.shape, 0.5, f32)"},
    {"tensor", "a tensor of one value is full((B, D), 0.5, f32); tables of numbers are params"},
    {"array", "a tensor of one value is full((B, D), 0.5, f32); tables of numbers are params"},
    {"super", "a module has no base; it is made with its parameters: model = Model(64)"},
    {"self", "'self' is the first parameter of a method of a module"}};

constexpr Row of_tile[] = {
    {"program_id", "t.i, t.j and t.h are this program's indices, of t = tile.context(…)"},
    {"num_programs", "how many programs there are follows from the axes of tile.context(…)"},
    {"constexpr", "a parameter behind '*' with a type such as int is known while compiling"},
    {"make_block_ptr", "tile.load(x, (t.i, k), (t.m, t.k)) says which tile, by its indices"},
    {"advance", "tile.load(x, (t.i, k), (t.m, t.k)) says which tile, by its indices"}};

constexpr Row packages[] = {{"torch", ""}, {"numpy", ""}, {"jax", ""}, {"triton", ""}, {"tensorflow", ""}, {"flax", ""},
                            {"math", ""},  {"typing", ""}, {"functools", ""}, {"einops", ""}};

std::string about(std::string_view help, std::string_view x) {
  return help.empty() ? std::string() : fmt::format(fmt::runtime(help), x);
}

}  // namespace

std::string help_for_member(std::string_view name, std::string_view x) { return about(find(members, name), x); }

std::string help_for_list(std::string_view name, std::string_view parts) { return about(find(of_lists, name), parts); }

std::string_view help_for_name(std::string_view name) {
  for (std::string_view prefix : {"np", "numpy", "jnp", "jax", "torch", "nn", "F", "tl", "triton", "math"}) {
    if (name == prefix) return "functions such as sum, exp and softmax stand here without a prefix";
  }
  return find(names, name);
}

std::string_view help_for_tile(std::string_view name) { return find(of_tile, name); }

std::string_view keyword_here(std::string_view keyword) {
  if (keyword == "dim" || keyword == "dims" || keyword == "axes") return "axis";
  if (keyword == "keepdim" || keyword == "keep_dims") return "keepdims";
  if (keyword == "is_causal") return "causal";
  if (keyword == "dropout_p") return "dropout";
  return {};
}

std::string_view help_for_import(std::string_view dotted) {
  std::string_view first = dotted.substr(0, dotted.find('.'));
  for (const Row& row : packages) {
    if (row.name == first) {
      return "packages of Python cannot be imported; functions such as sum, exp and softmax are there without an "
             "import";
    }
  }
  return {};
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
