#include "frontend/fixes/foreign.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
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

constexpr std::string_view drawn =
    "random numbers of a function are normal(1.0, shape=(B, D), dtype=f32) or uniform(0.0, 1.0, shape=(B, D), "
    "dtype=f32); those of a param have the shape of its type: param w: Param[64, f32] = normal(0.02)";
constexpr std::string_view reshaped = "another shape is reshape({0}, (B, -1)), with the sizes in a tuple";
constexpr std::string_view moved =
    "a conversion is cast({0}, {1}); tensors are not on a device here: leave a device out";
constexpr std::string_view converted = "a conversion is cast({0}, {1})";
constexpr std::string_view selected = "where(mask, a, b) takes elements of a where the mask holds, and of b elsewhere";
constexpr std::string_view placed = "tensors are not on a device here: leave it out";
constexpr std::string_view added = "None adds an axis of extent 1: x[None, :] has it first, x[:, None] second";
constexpr std::string_view differentiated =
    "leave it out: grad names what is differentiated, grad(loss)(w, x) its first argument";
constexpr std::string_view transposed =
    "transpose({0}, 1, 0) names the axes in their new order, all of them; the last two change places by {0}.T";
constexpr std::string_view any_of = "a mask is counted: sum(cast({0}, i32), axis=1) > 0";
constexpr std::string_view all_of = "a mask is counted: sum(cast(~{0}, i32), axis=1) == 0";
constexpr std::string_view rolled = "slices change places: concat(({0}[-1:], {0}[:-1]), axis=0)";
constexpr std::string_view backward =
    "derivatives are functions of functions: value_and_grad(loss)(w, x) gives the loss and its gradient by w, which "
    "adamw of tessera.nn takes";
constexpr std::string_view computed_again =
    "'@checkpoint', or '@checkpoint(policy=\"matmuls\")', says what derivatives of the function compute again";
constexpr std::string_view counts_data =
    "its result would have a size that depends on values; where(mask, x, 0.0) keeps the shape";
constexpr std::string_view parted = "parts are slices, {0}[:, :n] and {0}[:, n:], or split and chunk of tessera.nn";

/// Members of tensors.
constexpr Row members[] = {
    {"flatten", reshaped}, {"ravel", reshaped},
    {"swapaxes", "axes change places by transpose({0}, 0, 2, 1)"}, {"transpose", transposed},
    {"t", "a matrix is transposed by {0}.T"}, {"mT", "the last two axes change places by {0}.T"},
    {"unsqueeze", "None adds an axis of extent 1: {0}[None, :] has it first, {0}[:, None] second"},
    {"squeeze", "an axis of extent 1 is dropped by its index: {0}[:, 0]"},
    {"to", moved}, {"astype", converted}, {"type", converted}, {"float", converted}, {"half", converted},
    {"bfloat16", converted}, {"double", converted}, {"int", converted}, {"long", converted}, {"bool", converted},
    {"type_as", converted},
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
    {"cuda", placed}, {"cpu", placed}, {"device", placed}, {"contiguous", placed},
    {"detach", "what is a constant to derivatives is stop_gradient({0}) of tessera.nn"},
    {"clone", placed}, {"data", "a value is its data: leave it out"}, {"is_cuda", placed}, {"pin_memory", placed},
    {"numpy", placed}, {"requires_grad", differentiated}, {"requires_grad_", differentiated},
    {"backward", backward}, {"grad", backward}, {"any", any_of}, {"all", all_of}, {"roll", rolled},
    {"values", "max gives values alone; argmax of tessera.nn gives their indices"},
    {"indices", "argmax of tessera.nn gives the indices of the greatest elements"},
    {"norm", "write sqrt(sum({0} * {0}, axis=1))"},
    {"repeat_interleave", "an axis is added and repeated: broadcast_to({0}[:, None], shape), then reshape"},
    {"nonzero", counts_data}, {"unique", counts_data}, {"tolist", "'tsr run' prints what an entry returns"},
    {"with_schedule", "a kernel has it, before its call: kernel.with_schedule(Schedule(BM=2))({0})"},
    {"__len__", "the extents are {0}.shape"}, {"block_until_ready", placed},
    {"item", "a number that is computed is a tensor of rank 0; 'tsr run' prints it"},
    {"at", "a tensor with a part replaced is a new one, of where(…) or concat(…)"}};

/// Members that are functions under another name, which take the same arguments.
constexpr std::pair<std::string_view, std::string_view> renamed_members[] = {
    {"view", "reshape"}, {"permute", "transpose"}};

/// Methods that change a tensor elsewhere, and that are no functions here.
constexpr Row in_place[] = {
    {"add_", "{0} = {0} + …"}, {"sub_", "{0} = {0} - …"}, {"mul_", "{0} = {0} * …"}, {"div_", "{0} = {0} / …"},
    {"pow_", "{0} = {0} ** …"}, {"zero_", "{0} = zeros({0}.shape, f32)"},
    {"fill_", "{0} = full({0}.shape, …, f32)"},
    {"clamp_", "{0} = minimum(maximum({0}, low), high)"}, {"copy_", "{0} = …"}};

constexpr std::string_view longer = "lists are values, and a longer one is a new one: {0} = {0} + [value]";

/// Members of tuples, which functions with several results return.
constexpr Row of_tuples[] = {
    {"values", "several results are a tuple, and the values are its first: topk(x, 3)[0]"},
    {"indices", "several results are a tuple, and the indices are its second: topk(x, 3)[1]"}};

constexpr Row of_strings[] = {
    {"format", "a text holds no values; in a kernel they stand beside it: print(\"x\", x)"}};

constexpr std::string_view counted = "the number of elements is len({0})";

constexpr Row of_lists[] = {
    {"append", longer}, {"extend", longer}, {"insert", longer}, {"size", counted}, {"shape", counted}};

constexpr std::string_view layer =
    "layers are written out: a module declares its params, w: Param[I, O, f32] = normal(0.02), and a function "
    "computes with them, x @ self.w; docs/migration/pytorch.md has a module Linear";
constexpr std::string_view normalised = "a norm is a function: layernorm(x, self.scale, self.bias) of tessera.nn";
constexpr std::string_view applied = "activations are functions, which need no instance: relu(x)";
constexpr std::string_view lost =
    "a loss is a function: cross_entropy_mean(logits, targets) or mse(x, y) of tessera.nn";
constexpr std::string_view convolved =
    "a convolution is a function of images and a param: conv2d(x, self.w, padding=1) of tessera.nn; images are "
    "[batch, height, width, channels]";
constexpr std::string_view pooled = "a pool is a function: max_pool2d(x, 2) or avg_pool2d(x, 2) of tessera.nn";
constexpr std::string_view listed =
    "a list of modules is a field: blocks: [Block(D)] * L, and 'for block in self.blocks'";
constexpr std::string_view stepped =
    "a function computes the new weights: adamw(w, state, gradient, rate) of tessera.nn; value_and_grad(loss)(w, x) "
    "gives the gradient";
constexpr std::string_view loaded = "files are given where the bundle is run: tsr run --params w.safetensors";
constexpr std::string_view untyped =
    "types are checked at compile time: leave it out; x.dtype, x.shape and is_tuple(x) can be asked in an 'if'";
constexpr std::string_view listing = "a list is written [f(v) for v in values]";
constexpr std::string_view generated =
    "random numbers are uniform(0.0, 1.0, shape=(B, D), dtype=f32), and the function says '!{rng}'; compared with a "
    "number they are a mask, and multiplied and cast to an integer dtype integers";

constexpr std::string_view begun =
    "a param says how wide its first values are spread: w: Param[I, O, f32] = normal(sqrt(2.0 / I))";
constexpr std::string_view four_devices = "devices are gpu[0:4], a list of four: const devices = gpu[0:4]";

/// Names that stand alone.
constexpr Row names[] = {
    {"autograd", backward}, {"backward", backward},
    {"jacobian", "matrices of derivatives are functions of functions: jacfwd(f)(x) or jacrev(f)(x) of tessera.nn"},
    {"custom_vjp", "a rule is a decorator: '@custom_vjp(rule)' before the function"},
    {"stop_gradient", "it is a function of tessera.nn: from tessera.nn import stop_gradient"},
    {"pmap", "functions take tensors with more axes: declare the axis, x: Tensor[B, D, f32]"},
    {"eye", "rows of an identity are one_hot(arange(4, i64), 4) of tessera.nn"},
    {"identity", "rows of an identity are one_hot(arange(4, i64), 4) of tessera.nn"},
    {"diag", "a diagonal is x * one_hot(arange(4, i64), 4) of tessera.nn"},
    {"any", "a mask is counted: sum(cast(mask, i32), axis=1) > 0; conditions are joined by 'or'"},
    {"all", "a mask is counted: sum(cast(~mask, i32), axis=1) == 0; conditions are joined by 'and'"},
    {"isnan", "write x != x"}, {"isinf", "write abs(x) == INF"}, {"isfinite", "write abs(x) < INF"},
    {"norm", "write sqrt(sum(x * x, axis=1))"}, {"normalize", "write x * rsqrt(sum(x * x, axis=1, keepdims=True))"},
    {"outer", "write v[:, None] * u"}, {"square", "write x * x"}, {"amax", "write max(x, axis=1)"},
    {"amin", "write min(x, axis=1)"}, {"average", "write mean(x, axis=1)"},
    {"mse_loss", "write mse(x, y), of tessera.nn"}, {"roll", "slices change places: concat((x[-1:], x[:-1]), axis=0)"},
    {"repeat", "an axis is added and repeated: broadcast_to(x[:, None], (4, 2, 6)), then reshape to (8, 6)"},
    {"meshgrid", "an axis is added to each: x[:, None] and y[None, :] broadcast in operators"},
    {"unique", counts_data}, {"nonzero", counts_data}, {"argwhere", counts_data}, {"masked_select", counts_data},
    {"histogram", "ones are added at indices: scatter_add of tessera.nn"},
    {"bincount", "ones are added at indices: scatter_add of tessera.nn"},
    {"bernoulli", generated}, {"randint", generated}, {"PRNGKey", "the seed is given where the program is run"},
    {"filter", "a list is written [v for v in values if f(v)]"}, {"list", listing},
    {"tuple", "a tuple is written (a, b)"}, {"set", "a list or a tuple takes its place"},
    {"sorted", "compile-time values are written in order; a tensor is sorted by sort of tessera.nn"},
    {"reversed", "a list backwards is values[::-1]"}, {"str", "texts are written out, and hold no values"},
    {"isinstance", untyped}, {"type", untyped}, {"getattr", untyped}, {"hasattr", untyped}, {"callable", untyped},
    {"open", loaded}, {"load", loaded}, {"save", "tsr run --output y=y.npy writes what an entry returns"},
    {"__name__", "the command 'tsr run' calls entries: leave it out"},
    {"is_available", "the device is chosen where the bundle is run: tsr run --device cuda:0"},
    {"device_count", "the device is chosen where the bundle is run: tsr run --device cuda:0"},
    {"synchronize", "calls wait for what they need: leave it out"},
    {"Linear", layer}, {"Dense", layer}, {"Embedding", "an embedding is embedding(ids, self.table), of a param "
     "table: Param[V, D, f32] = normal(0.02)"},
    {"LayerNorm", normalised}, {"RMSNorm", normalised}, {"BatchNorm1d", normalised}, {"BatchNorm2d", normalised},
    {"GroupNorm", normalised}, {"Conv1d", convolved}, {"Conv2d", convolved}, {"Conv3d", convolved},
    {"Conv", convolved}, {"MaxPool2d", pooled}, {"AvgPool2d", pooled}, {"AdaptiveAvgPool2d", pooled},
    {"ReLU", applied}, {"GELU", "activations are functions, which need no instance: gelu(x)"},
    {"SiLU", "activations are functions, which need no instance: silu(x)"},
    {"Sigmoid", "activations are functions, which need no instance: sigmoid(x)"},
    {"Tanh", "activations are functions, which need no instance: tanh(x)"},
    {"Softmax", "activations are functions, which need no instance: softmax(x)"},
    {"Dropout", "dropout is a function: dropout(x, 0.1) of tessera.nn"},
    {"Flatten", "another shape is reshape(x, (B, -1))"},
    {"MultiheadAttention", "attention of several heads is flash_attention(q, k, v, causal=True); split_heads and "
     "merge_heads are of tessera.nn"},
    {"LSTM", "a loop carries its state: for i in range(S): h = step(h, x[:, i]), of h = zeros((B, D), f32) before it"},
    {"GRU", "a loop carries its state: for i in range(S): h = step(h, x[:, i]), of h = zeros((B, D), f32) before it"},
    {"CrossEntropyLoss", lost}, {"MSELoss", lost}, {"NLLLoss", lost}, {"BCELoss", lost}, {"ModuleList", listed},
    {"Adam", stepped}, {"AdamW", stepped}, {"SGD", stepped}, {"adam", stepped},
    {"jit", "an entry is marked above its definition: @jit"},
    {"cat", "tensors are put beside each other by concat((x, y), axis=1)"},
    {"concatenate", "tensors are put beside each other by concat((x, y), axis=1)"},
    {"hstack", "tensors are put beside each other by concat((x, y), axis=1)"},
    {"vstack", "tensors are put beside each other by concat((x, y), axis=0)"},
    {"randn", drawn},
    {"rand", drawn},
    {"xavier_uniform", begun}, {"xavier_normal", begun}, {"kaiming_uniform", begun}, {"kaiming_normal", begun},
    {"xavier_uniform_", begun}, {"xavier_normal_", begun}, {"kaiming_uniform_", begun}, {"kaiming_normal_", begun},
    {"xavier", begun}, {"kaiming", begun}, {"glorot", begun},
    {"masked_fill", selected}, {"cdiv", "write ceildiv(N, 64)"}, {"devs", four_devices},
    {"permute", "axes change places by transpose(x, 0, 2, 1)"},
    {"view", "another shape is reshape(x, (B, -1))"},
    {"mm", "a matmul is x @ w"},
    {"bmm", "a matmul is x @ w"},
    {"dot", "a matmul is x @ w"},
    {"unsqueeze", added},
    {"expand_dims", added},
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
    {"relu6", "minimum(maximum(x, 0.0), 6.0)"},
    {"clip", "minimum(maximum(x, low), high)"},
    {"attention", "attention of several heads is flash_attention(q, k, v, causal=True)"},
    {"scaled_dot_product_attention", "attention of several heads is flash_attention(q, k, v, causal=True)"},
    {"addmm", "a matmul with a bias is x @ w + b"}, {"baddbmm", "a matmul with a bias is x @ w + b"},
    {"Sequential", "layers are fields of a module, whose __call__ applies them: self.second(relu(self.first(x)))"},
    {"newaxis", added},
    {"cond", "a condition of rank 0 is a statement, whose branches give one shape: if flag: y = f(x) else: y = g(x)"},
    {"while_loop", "a loop is a statement, which carries what it assigns: while error > 1e-3: x, error = step(x)"},
    {"fori_loop", "a loop is a statement, which carries what it assigns: for i in range(n): x = step(x)"},
    {"no_grad", "nothing is recorded for gradients: leave it out"},
    {"power", "a power is x ** 2.0"},
    {"add", "write x + y"}, {"mul", "write x * y"}, {"sub", "write x - y"}, {"div", "write x / y"},
    {"multiply", "write x * y"}, {"divide", "write x / y"}, {"subtract", "write x - y"},
    {"absolute", "write abs(x)"}, {"empty", "memory always has values: zeros((B, D), f32)"},
    {"empty_like", "memory always has values: zeros(x.shape, f32)"},
    {"manual_seed", "the seed is given to the program's run, not in its source"},
    {"Parameter", "a field of a module is a param: w: Param[I, O, f32] = normal(0.02)"},
    {"linear", "a linear layer is x @ w.T + b, of weights [out, in]"},
    {"rearrange", "reshape(x, (B, S, 12, 64)), then transpose(x, 0, 2, 1, 3)"},
    {"linspace", "cast(arange(n, i32), f32) * step"},
    {"fmax", "maximum(x, y)"}, {"fmaxf", "maximum(x, y)"}, {"fmin", "minimum(x, y)"}, {"fminf", "minimum(x, y)"},
    {"Config", "the choices of a tuned kernel are lists: "
               "@kernel.autotune(space=Schedule(BM=[64, 128], warps=[4, 8]))"}};

/// Names of CUDA C++.
constexpr Row of_cuda[] = {
    {"__syncthreads", "the compiler places barriers"}, {"__syncwarp", "the compiler places barriers"},
    {"warpSize", "a kernel works on tiles, not on threads"},
    {"__shfl_sync", "sums and maxima of a tile are tile.sum(v, axis=1) and tile.max(v, axis=1)"},
    {"__shfl_down_sync", "sums and maxima of a tile are tile.sum(v, axis=1) and tile.max(v, axis=1)"},
    {"__shfl_xor_sync", "sums and maxima of a tile are tile.sum(v, axis=1) and tile.max(v, axis=1)"},
    {"threadIdx", "a kernel works on tiles, not on threads; t.i and t.j are this program's indices, of "
                  "t = tile.context(…)"},
    {"blockIdx", "t.i, t.j are this program's indices, of t = tile.context(…)"},
    {"blockDim", "extents of tiles are t.m, t.n of t = tile.context(…)"},
    {"gridDim", "how many programs there are follows from the axes of tile.context(…)"},
    {"atomicAdd", "tile.atomic_add(value, y, index)"},
    {"printf", "print(\"text\", value) in a kernel, under --debug"}};

constexpr std::string_view kept_shape =
    "a tile keeps the shape that it is loaded with, tile.load(x, (t.i, k), (t.m, t.k)); x[:, None] adds an axis";

constexpr std::string_view no_threads = "programs have no threads that you see: leave it out";

/// Members of the languages of kernels.
constexpr Row of_tile[] = {
    {"program_id", "t.i, t.j and t.h are this program's indices, of t = tile.context(…)"},
    {"num_programs", "how many programs there are follows from the axes of tile.context(…)"},
    {"constexpr", "a parameter behind '*' with a type such as int is a compile-time value"},
    {"make_block_ptr", "tile.load(x, (t.i, k), (t.m, t.k)) says which tile, by its indices"},
    {"advance", "tile.load(x, (t.i, k), (t.m, t.k)) says which tile, by its indices"},
    {"cdiv", "write ceildiv(M, t.m)"},
    {"make_tensor_descriptor", "tile.load(x, (t.i, k), (t.m, t.k)) says which tile, by its indices"},
    {"trans", "a tile is transposed by x.T"},
    {"reduce", "sums and maxima of a tile are tile.sum(x, axis=1) and tile.max(x, axis=1)"},
    {"view", kept_shape}, {"reshape", kept_shape},
    {"expand_dims", added},
    {"print", "print(\"text\", value), under --debug"},
    {"softmax", "e = tile.exp(x - tile.max(x, axis=1)[:, None]), then e / tile.sum(e, axis=1)[:, None]"},
    {"shared", "memory that the threads of a program share is tile.alloc((64, 64), f32)"},
    {"max_contiguous", "what is known of sizes is stated in the signature: where S % 64 == 0"},
    {"cumsum", "tile.scan(x, axis=1)"},
    {"debug_barrier", "the compiler places barriers"},
    {"sync", no_threads}, {"syncthreads", no_threads}, {"sync_threads", no_threads},
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
    {"float8_e5m2", "f8e5m2"}, {"float8_e4m3", "f8e4m3"}, {"fp8", "f8e4m3"}};

constexpr std::string_view complex_pair =
    "there are no complex numbers: an axis of extent 2 has the real and the imaginary parts";
constexpr std::string_view quantised = "numbers of 8 bits are i8 and u8: quantize of tessera.nn gives them, and scales";

/// Dtypes that are not there.
constexpr std::string_view of_four_bits =
    "floats have 8 bits or more: f8e4m3, f8e5m2; integers of 4 bits are packed by pack_int4 of tessera.nn";
constexpr Row absent_dtypes[] = {
    {"complex", complex_pair}, {"complex32", complex_pair}, {"complex64", complex_pair}, {"complex128", complex_pair},
    {"cfloat", complex_pair}, {"cdouble", complex_pair}, {"qint8", quantised}, {"quint8", quantised},
    {"qint32", quantised}, {"object", "elements are numbers"}, {"float128", "the widest dtype is f64"},
    {"longdouble", "the widest dtype is f64"}, {"fp4", of_four_bits}, {"f4", of_four_bits}, {"float4", of_four_bits},
    {"nf4", of_four_bits}, {"mxfp4", of_four_bits}, {"nvfp4", of_four_bits}, {"fp6", of_four_bits}};

/// Numbers that packages have.
constexpr std::pair<std::string_view, std::string_view> constants[] = {
    {"pi", "3.141592653589793"}, {"e", "2.718281828459045"}, {"inf", "INF"},
    {"infty", "INF"},            {"nan", "NAN"},             {"newaxis", "None"}};

constexpr std::string_view optional =
    "a parameter that a call may leave out has a default and no type: def f(x, bias=None)";
constexpr std::string_view several = "the parameter of a function takes any value where it has no type: leave it out";
constexpr std::string_view sequence =
    "a list or a tuple is known at compile time, and needs no type: leave it out; of tensors it is "
    "(Tensor[B, f32], Tensor[B, f32])";
constexpr std::string_view array = "a tensor has its dims and its dtype in brackets: Tensor[B, D, f32]";

/// Types of Python and of its packages.
constexpr Row types[] = {
    {"Optional", optional}, {"Union", several}, {"Any", several}, {"object", several}, {"TypeVar", several},
    {"Literal", "choices are checked by a clause: where mode in (\"sum\", \"mean\")"},
    {"List", sequence}, {"list", sequence}, {"tuple", sequence}, {"Sequence", sequence}, {"Iterable", sequence},
    {"Dict", several}, {"dict", several}, {"Mapping", several}, {"set", several}, {"Set", several},
    {"Callable", "the type of a function is fn"}, {"Module", several}, {"Array", array}, {"ndarray", array},
    {"NDArray", array}, {"ArrayLike", array}, {"Tensor", array}, {"FloatTensor", array}, {"LongTensor", array},
    {"Float", array}, {"Int", array}, {"Bool", array}, {"Shaped", array}, {"Float32", array}, {"Size", sequence},
    {"dtype", "the type of a dtype is dtype"}, {"string", "the type of a text is str"}};

constexpr std::string_view of_channels =
    "images are [batch, height, width, channels]; those of PyTorch, with channels first, are taken by conv2d_nchw, "
    "max_pool2d_nchw and avg_pool2d_nchw of tessera.nn";

/// Functions that PyTorch and others have under a name that means something else here.
constexpr Row differing[] = {
    {"conv2d", of_channels}, {"max_pool2d", of_channels}, {"avg_pool2d", of_channels},
    {"cross_entropy", "the mean of the losses is cross_entropy_mean(logits, targets) of tessera.nn; cross_entropy has "
                      "a loss for each row"},
    {"transpose", "transpose(x, 1, 0) names the axes in their new order, all of them; the last two change places by "
                  "x.T"},
    {"device", placed},
    {"load", loaded}};

constexpr std::string_view triton_names[] = {"tl", "triton"};
constexpr std::string_view array_names[] = {"np", "numpy", "cp", "cupy"};
constexpr std::string_view jax_names[] = {"jnp", "jax", "lax", "nnx"};
constexpr std::string_view torch_names[] = {"torch", "nn", "F", "optim"};
constexpr std::string_view other_names[] = {"math", "tf", "keras"};

/// Keyword arguments, and what they are called here where a function has such a parameter.
constexpr std::pair<std::string_view, std::string_view> keywords[] = {
    {"dim", "axis"},         {"dims", "axis"},        {"axes", "axis"},           {"keepdim", "keepdims"},
    {"keep_dims", "keepdims"}, {"is_causal", "causal"}, {"dropout_p", "dropout"}, {"num_warps", "warps"},
    {"num_stages", "stages"}, {"other", "fill"},      {"size", "shape"},          {"k", "count"},
    {"kernel_size", "size"}, {"window", "size"},      {"pool_size", "size"},      {"stride", "strides"},
    {"strides", "stride"},   {"min", "low"},          {"max", "high"},            {"a_min", "low"},
    {"a_max", "high"},       {"negative_slope", "slope"}, {"num_groups", "groups"}, {"weight", "scale"},
    {"gamma", "scale"},      {"beta", "bias"},        {"epsilon", "eps"},         {"lr", "rate"},
    {"num_classes", "size"}, {"chunks", "count"},     {"ignore_index", "ignore"}, {"label_smoothing", "smoothing"},
    {"accumulator", "acc"}};

template <size_t N>
bool has(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

constexpr std::string_view packages[] = {
    "torch", "numpy", "jax", "jaxlib", "triton", "tensorflow", "flax", "keras", "haiku", "equinox", "optax", "cupy",
    "mlx", "tinygrad", "paddle", "numba", "taichi", "warp", "cutlass", "tilelang", "helion", "thunder", "scipy",
    "pandas", "sklearn", "matplotlib", "einops", "torchvision", "torchaudio", "transformers", "lightning",
    "pytorch_lightning", "torch_geometric", "safetensors", "jaxtyping", "tqdm", "PIL", "pytest",
    // of Python itself
    "__future__", "abc", "argparse", "collections", "contextlib", "copy", "ctypes", "dataclasses", "enum", "functools",
    "inspect", "itertools", "json", "logging", "math", "operator", "os", "pathlib", "pickle", "random", "re", "sys",
    "time", "typing", "typing_extensions", "warnings"};

/// A help about a tensor `x`, and a dtype that it may be converted to.
std::string about(std::string_view help, std::string_view x, std::string_view dtype = "f32") {
  return help.empty() ? std::string() : fmt::format(fmt::runtime(help), x, dtype);
}

}  // namespace

bool is_conversion(std::string_view member) {
  return find(members, member) == moved || find(members, member) == converted;
}

std::string_view converted_to(std::string_view member, std::string_view argument) {
  bool has_argument = member == "to" || member == "astype" || member == "type";
  if (!has_argument) return is_conversion(member) && argument.empty() ? dtype_here(member) : std::string_view();
  bool is_text = argument.size() > 1 && (argument[0] == '"' || argument[0] == '\'') && argument.back() == argument[0];
  if (is_text) argument = argument.substr(1, argument.size() - 2);
  return argument == "int" ? "i64" : dtype_here(argument);  // the integers of Python and of its arrays
}

std::string help_for_member(std::string_view name, std::string_view x) {
  // `x.relu_()` changes a tensor in its place elsewhere.
  if (name.size() > 1 && name.ends_with('_') && !name.starts_with('_') && find(members, name).empty()) {
    std::string_view changed = find(in_place, name);
    if (!changed.empty()) return "values do not change; give a new one the name: " + about(changed, x);
    return fmt::format("values do not change; give a new one the name: {0} = {1}({0})", x,
                       name.substr(0, name.size() - 1));
  }
  std::string_view dtype = dtype_here(name);  // of `x.half()`
  return about(find(members, name), x, dtype.empty() ? "f32" : dtype);
}

std::string_view function_here(std::string_view member) {
  for (const auto& [foreign, ours] : renamed_members) {
    if (foreign == member) return ours;
  }
  return member;
}

std::string_view help_for_tuple(std::string_view name) { return find(of_tuples, name); }

std::string_view help_for_string(std::string_view name) { return find(of_strings, name); }

std::string help_for_list(std::string_view name, std::string_view parts) {
  return about(find(of_lists, name), parts);
}

bool lengthens(std::string_view name) {
  return find(of_lists, name) == longer;
}

std::string_view help_for_name(std::string_view name) {
  if (is_package(name)) return "functions such as sum, exp and softmax stand here without a prefix";
  std::string_view help = find(names, name);
  return help.empty() ? find(of_cuda, name) : help;
}

bool is_of_cuda(std::string_view name) { return !find(of_cuda, name).empty(); }

std::string_view help_for_dtype(std::string_view foreign) {
  return find(absent_dtypes, foreign.substr(foreign.rfind('.') + 1));
}

std::string_view help_for_type(std::string_view foreign) {
  return find(types, foreign.substr(foreign.rfind('.') + 1));
}

std::string_view constant_here(std::string_view foreign) {
  for (const auto& [name, ours] : constants) {
    if (name == foreign) return ours;
  }
  return {};
}

std::string_view help_for_differing(std::string_view name) { return find(differing, name); }

std::string_view help_for_clause(std::string_view clause, std::string_view callee) {
  constexpr std::string_view of_images =
      "channels are the last axis of an image, [B, H, W, C], and the last but one of weights, [height, width, C, "
      "results]; functions whose names end in _nchw take [B, C, H, W] and [results, C, height, width]";
  constexpr std::string_view of_windows =
      "channels are the last axis of an image, [B, H, W, C]; functions whose names end in _nchw take [B, C, H, W]";
  constexpr std::string_view of_nchw =
      "functions whose names end in _nchw take images [B, C, H, W], and weights [results, C, height, width]; without "
      "it, channels are the last axis";
  bool has_channels_last = !callee.ends_with("_nchw");
  if (has_channels_last && clause.starts_with("are_channels(")) return of_images;
  if (clause.starts_with("fits(")) return has_channels_last ? of_windows : of_nchw;
  constexpr Row rows[] = {
      {"is_tuple(sizes)", "the parts have the extents of a tuple: split(x, (2, 4), axis=1); chunk(x, 3, axis=1) gives "
                          "3 equal ones"},
      {"total(sizes) == x.shape[axis]", "the sizes add up to the extent of the axis"},
      {"divides(groups, x.shape[axis])", "the groups are parts of the channels, which lie along the last axis unless "
                                         "an argument says else: axis=1"},
      {"is_axis(axis, len(x.shape))", "axes count from 0, and from the last one by -1"},
      {"is_integer(indices.dtype)", "indices are integers: cast(indices, i32)"},
      {"are_widths(widths, len(x.shape))", "each axis has a pair of widths: pad(x, ((0, 0), (1, 2)))"}};
  return find(rows, clause);
}

std::string_view help_for_rows() {
  return "rows of a tensor x are x[i], in a loop: for i in range(x.shape[0])";
}

std::string_view help_for_text(std::string_view parameter, std::string_view text) {
  constexpr std::string_view valid = "without padding, an image keeps what a window sees: leave it out";
  constexpr std::string_view same =
      "the extents stay the same with half of an odd window: padding=(K // 2, K // 2) of a window [K, K]";
  bool is_padding = parameter == "padding";
  if (is_padding && (text == "same" || text == "SAME")) return same;
  return is_padding && (text == "valid" || text == "VALID") ? valid : std::string_view();
}

bool is_package(std::string_view name) {
  return has(triton_names, name) || has(array_names, name) || has(jax_names, name) || has(torch_names, name) ||
         has(other_names, name);
}

std::string_view migration_page(std::string_view package) {
  if (has(triton_names, package)) return "docs/migration/triton.md";
  if (has(jax_names, package)) return "docs/migration/jax.md";
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
  if (callee == "tile.range" && keyword == "unroll") {
    return "a schedule states it: @kernel.schedule(Schedule(unroll=2))";
  }
  if (keyword == "device" || keyword == "requires_grad" || keyword == "inplace" || keyword == "out") {
    return placed;
  }
  if (callee == "tile.dot" && keyword == "out_dtype") {
    return "the result has the dtype of 'acc', which is f32 for narrow floats; it is converted by tile.cast(acc, bf16)";
  }
  if (callee == "tile.dot" && (keyword == "allow_tf32" || keyword == "input_precision")) {
    return "the dtype of the operands says it: f32 is multiplied as f32, tile.cast(a, tf32) as tf32";
  }
  if (callee == "sort" && keyword == "descending") return "the greatest come first in sort(x)[..., ::-1]";
  if ((callee == "sort" || callee == "argsort") && keyword == "axis") {
    return "the last axis is sorted; of a matrix, sort(x.T).T sorts the other one";
  }
  if (keyword == "reverse" && callee == "scan") return "give it the elements backwards: scan(f, init, xs[::-1])";
  if (callee == "round") return "it gives whole numbers: round(x * 100.0) / 100.0 has two digits";
  if (keyword == "attn_mask") return "a mask is given as a bias: bias=where(mask, 0.0, -INF)";
  if (keyword == "reduction") return "the result has a loss for each row: mean(…) or sum(…) of it is one number";
  if (keyword == "approximate") return "gelu is computed with tanh; gelu_exact of tessera.nn with erf";
  if (keyword == "training") return "a function does the same in each call: call it only in the entry that trains";
  return {};
}

std::string help_for_tile_member(std::string_view name, std::string_view x) {
  if (name == "to" || name == "astype" || name == "type") return fmt::format("a conversion is tile.cast({}, f32)", x);
  std::string_view help = find(of_tile, name);
  return std::string(help);
}

std::string_view help_for_tile(std::string_view name) { return find(of_tile, name); }

std::string_view keyword_here(std::string_view keyword, std::span<const std::string> parameters) {
  auto has_parameter = [&](std::string_view name) { return std::ranges::find(parameters, name) != parameters.end(); };
  for (const auto& [foreign, ours] : keywords) {
    if (foreign == keyword && has_parameter(ours)) return ours;
  }
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
  if (dotted.starts_with("triton.") || dotted == "cuda.jit" || dotted == "kernel.jit") {
    return "a kernel is marked by '@kernel', and reads and stores tiles; docs/kernels.md";
  }
  constexpr std::string_view entry = "a function that is compiled for itself is marked by '@jit'";
  constexpr std::string_view left_out = "nothing is computed twice or recorded: leave it out";
  constexpr std::string_view method = "each function of a module is given its instance, 'self'; one that needs none "
                                      "stands in the file";
  constexpr std::string_view of_values =
      "values that belong together are constants, const WIDTH = 64, or the parameters of a module: "
      "module Model(width: dim)";
  constexpr Row rows[] = {
      {"fast", "leave it out: rules are relaxed for a file as a whole, by an option: tesserac --fast=nondet"},
      {"jit", entry}, {"njit", entry}, {"filter_jit", entry}, {"script", entry}, {"compile", entry},
      {"function", entry}, {"partial", entry}, {"lru_cache", left_out}, {"cache", left_out}, {"no_grad", left_out},
      {"inference_mode", left_out}, {"wraps", left_out}, {"override", left_out}, {"contextmanager", left_out},
      {"torch_checkpoint", computed_again}, {"checkpoint", computed_again}, {"remat", computed_again},
      {"compact", "fields and params are declared in the module: w: Param[I, O, f32]"},
      {"property", "leave it out: what is computed is called, self.extent()"}, {"cached_property", method},
      {"staticmethod", method}, {"classmethod", method}, {"abstractmethod", method},
      {"overload", "one function takes arguments of all types: its parameters have none"},
      {"dataclass", of_values}, {"struct", of_values},
      {"autotune", "the choices of a tuned kernel are lists: @kernel.autotune(space=Schedule(BM=[64, 128]))"}};
  return find(rows, dotted.substr(dotted.rfind('.') + 1));
}

}  // namespace tessera::frontend
