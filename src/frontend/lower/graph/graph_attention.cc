// flash_attention(q, k, v, …): checks the operands and builds the one op for it.

#include <algorithm>
#include <array>
#include <cmath>

#include "frontend/fixes/operand_text.h"
#include "frontend/lower/graph/graph_builder.h"
#include "frontend/values/dims.h"
#include "ir/graph/attention.h"
#include "support/diagnostic_rows.h"
#include "support/hash.h"

namespace tessera::frontend {

namespace {

// Positions in the signature of flash_attention.
enum AttentionArgument : size_t { Q, K, V, Causal, Scale, Window, Bias, Dropout, ReturnLse, ScoreMod, MaskMod };

constexpr std::string_view names[] = {"q", "k", "v"};

}  // namespace

std::optional<GraphBuilder::AttentionTensors> GraphBuilder::attention_tensors(
    const BoundArguments& arguments) {
  AttentionTensors tensors;
  IrValue* const all[] = {&tensors.q, &tensors.k, &tensors.v};
  if (arguments[V].is_none()) {  // which a cache has, and a tensor has not
    report(diag::missing_argument, arguments.call, "v", "flash_attention")
        .help("it is called as flash_attention(q, k, v), or flash_attention(q, cache)");
    return std::nullopt;
  }
  for (size_t i = Q; i <= V; ++i) {
    auto tensor = expect_float(arguments[i], arguments.locs[i], "flash_attention");
    if (!tensor) return std::nullopt;
    size_t rank = tensor->value->type()->rank();
    if (rank != 4) {
      report(diag::rank_mismatch, arguments.locs[i],
             subject(*tensor, fmt::format("argument '{}'", names[i])), rank, 4)
          .help("its dimensions are batch, heads, positions and head dimension");
      return std::nullopt;
    }
    auto type = i == Q ? type_of(*tensor) : promote(tensors.type, type_of(*tensor), arguments.call);
    if (!type) return std::nullopt;
    tensors.type = *type;
    *all[i] = *tensor;
  }
  return tensors;
}

/// Tensors with positions before heads, as some libraries have them, beside others with heads before positions.
bool GraphBuilder::report_exchanged_axes(const AttentionTensors& tensors, const BoundArguments& arguments) {
  const std::vector<Dim>& q = tensors.q.value->type()->dims;
  auto is_exchanged = [&](const IrValue& tensor) {
    const std::vector<Dim>& dims = tensor.value->type()->dims;
    return dims[1] != dims[2] && dims[1] == q[2] && dims[2] == q[1] && dims[0] == q[0] && dims[3] == q[3];
  };
  bool has_k = is_exchanged(tensors.k), has_v = is_exchanged(tensors.v);
  if (!has_k && !has_v) return false;
  bool is_grouped = has_k && has_v && graph::heads_per_group(q[1], tensors.k.value->type()->dims[1]);
  if (is_grouped) return false;  // as many heads of k and v as divide those of q may well be meant
  // Where k and v agree, q is the one to change if its second extent is no number: heads mostly are.
  bool is_of_q = has_k && has_v && !q[1]->constant() && q[2]->constant();
  std::vector<AttentionArgument> wrong;
  if (is_of_q) wrong = {Q};
  if (!is_of_q && has_k) wrong.push_back(K);
  if (!is_of_q && has_v) wrong.push_back(V);
  const IrValue& first = is_of_q ? tensors.q : has_k ? tensors.k : tensors.v;
  std::vector<Dim> given = first.value->type()->dims, wanted = given;
  std::swap(wanted[1], wanted[2]);
  auto builder = report(diag::wrong_kind, arguments.locs[wrong[0]], fmt::format("the shape of '{}'", names[wrong[0]]),
                        to_text(given), to_text(wanted));
  const IrValue& other = is_of_q ? tensors.k : tensors.q;
  builder.label(arguments.locs[is_of_q ? K : Q],
                fmt::format("'{}' is {}", names[is_of_q ? K : Q], to_text(other.value->type()->dims)));
  std::vector<Edit> edits;
  for (AttentionArgument each : wrong) {
    Loc loc = arguments.locs[each];
    if (!is_operand(session().sources(), loc) || session().is_builtin(loc)) continue;
    edits.push_back({loc, fmt::format("transpose({}, 0, 2, 1, 3)", source_text(session().sources(), loc))});
  }
  std::string message = "the axes are batch, heads, positions and head dimension, of all three";
  edits.size() == wrong.size() ? builder.fix(std::move(message), std::move(edits)) : builder.help(std::move(message));
  return true;
}

bool GraphBuilder::check_attention_dims(const AttentionTensors& tensors,
                                        const BoundArguments& arguments) {
  ShapeQuestion question;
  question.swaps_axes = true;
  const IrValue* const all[] = {&tensors.q, &tensors.k, &tensors.v};
  for (size_t i = Q; i <= V; ++i) {
    bool is_cache = i > Q && arguments.locs[K] == arguments.locs[V];
    Loc loc = is_cache ? Loc() : arguments.written(i);
    question.operands.push_back(blame().asked(loc, fmt::format("argument '{}'", names[i]), *all[i]->value));
  }
  question.fits = [](const Shapes& shapes) {
    const std::vector<Dim>&q = shapes[0], &k = shapes[1], &v = shapes[2];
    return k[0] == q[0] && k[3] == q[3] && std::equal(k.begin(), k.begin() + 3, v.begin()) &&
           graph::heads_per_group(q[1], k[1]);
  };
  auto same = [&](const IrValue& a, size_t i, AttentionArgument of_a, const IrValue& b, size_t j,
                  AttentionArgument of_b) {
    if (a.value->type()->dims[i] == b.value->type()->dims[j]) return true;
    report_unequal(blame(), arguments.call, place(a, i, fmt::format("argument '{}'", names[of_a])),
                   place(b, j, fmt::format("argument '{}'", names[of_b])), &question);
    return false;
  };
  if (report_exchanged_axes(tensors, arguments)) return false;
  bool fits = same(tensors.k, 0, K, tensors.q, 0, Q) && same(tensors.k, 3, K, tensors.q, 3, Q) &&
              same(tensors.v, 0, V, tensors.k, 0, K) && same(tensors.v, 1, V, tensors.k, 1, K) &&
              same(tensors.v, 2, V, tensors.k, 2, K);
  if (!fits) return false;
  Dim heads = tensors.q.value->type()->dims[1], groups = tensors.k.value->type()->dims[1];
  if (graph::heads_per_group(heads, groups)) return true;
  bool is_known = heads->constant() && groups->constant();
  report(diag::attention_heads, arguments.call, heads->text, groups->text, is_known ? "not" : "not known to be")
      .label(place_of(tensors.q, 1), fmt::format("q has {}", heads->text))
      .label(place_of(tensors.k, 1), fmt::format("k has {}", groups->text))
      .help(is_known
                ? "each head of k and v serves the same number of heads of q"
                : fmt::format("how many heads of q each head of k and v serves has to be known: give both as numbers, "
                              "or q as a multiple such as '4 * {}'", groups->text));
  return false;
}

bool GraphBuilder::attention_numbers(const BoundArguments& arguments, graph::Attention& options) {
  auto causal = evaluator_.expect_bool(arguments[Causal], arguments.locs[Causal], "'causal'");
  auto sums = evaluator_.expect_bool(arguments[ReturnLse], arguments.locs[ReturnLse], "'return_lse'");
  auto dropout = evaluator_.expect_number(arguments[Dropout], arguments.locs[Dropout], "'dropout'");
  if (!causal || !sums || !dropout) return false;
  options.causal = *causal;
  options.sums = *sums;
  options.dropout = *dropout;
  auto wrong = [&](AttentionArgument at, std::string_view what, std::string_view needed) {
    report(diag::wrong_kind, arguments.locs[at], what, to_text(arguments[at]), needed);
    return false;
  };
  if (!(*dropout >= 0 && *dropout < 1))
    return wrong(Dropout, "'dropout'", "a number of at least 0 and below 1");
  if (!arguments[Scale].is_none()) {
    options.scale = evaluator_.expect_number(arguments[Scale], arguments.locs[Scale], "'scale'");
    if (!options.scale) return false;
    if (!std::isfinite(*options.scale)) return wrong(Scale, "'scale'", "a finite number");
  }
  if (!arguments[Window].is_none()) {
    options.window = evaluator_.expect_int(arguments[Window], arguments.locs[Window], "'window'");
    if (!options.window) return false;
    if (*options.window < 1) return wrong(Window, "'window'", "an integer of at least 1");
  }
  return true;
}

/// Of a function that nothing calls: whether calls may make the bias fit, which is warned of.
bool GraphBuilder::warn_of_bias(const IrValue& bias, const AttentionTensors& tensors, std::span<const Dim> weights,
                                const BoundArguments& arguments) {
  const std::vector<Dim>& dims = bias.value->type()->dims;
  if (dims.size() > weights.size()) return false;
  std::span<const Dim> along = weights.last(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == along[i] || dims[i]->is_constant(1)) continue;
    if (blame().unproven({Relation::Equal, dims[i], along[i]}) == Blame::Unproven::Wrong) return false;
    size_t axis = weights.size() - dims.size() + i;
    bool is_of_keys = axis == 3;
    DimPlace other = place(is_of_keys ? tensors.k : tensors.q, is_of_keys ? 2 : axis, is_of_keys ? "'k'" : "'q'");
    report_unequal(blame(), arguments.locs[Bias], place(bias, i, "the bias"), other);
    return true;
  }
  return false;
}

/// The bias for each weight; null when an error was reported.
Value* GraphBuilder::attention_bias(const AttentionTensors& tensors,
                                    const BoundArguments& arguments) {
  const Datum& given = arguments[Bias];
  if (given.is_ir() && given.as_ir().value->type()->dtype == DType::Bool) {
    report(diag::wrong_dtype, arguments.locs[Bias], "bias", "bool")
        .help("a bias is added to the scores: where(mask, 0.0, -INF) leaves out what the mask does not have");
    return nullptr;
  }
  auto bias = expect_float(given, arguments.locs[Bias], "flash_attention");
  if (!bias) return nullptr;
  const std::vector<Dim>& q = tensors.q.value->type()->dims;
  std::vector<Dim> weights = {q[0], q[1], q[2], tensors.k.value->type()->dims[2]};
  const std::vector<Dim> shapes[] = {bias->value->type()->dims, weights};
  if (graph::broadcast_dims(context(), shapes) != weights) {
    if (warn_of_bias(*bias, tensors, weights, arguments)) return nullptr;
    auto builder = report(diag::attention_bias, arguments.locs[Bias], to_text(shapes[0]), to_text(weights));
    for (size_t i = 0; i < shapes[0].size(); ++i) {
      DimPlace at = place(*bias, i, "the bias");
      if (at.from.empty() || at.dim->is_constant(1)) continue;
      builder.label(at.loc, fmt::format("{} is {}, from {}", at.what, at.dim->text, at.from));
    }
    return nullptr;
  }
  builder_.set_loc(arguments.locs[Bias]);
  return graph::broadcast_to(builder_, bias->value, std::move(weights));
}

/// A function of the scores is called with each of these.
bool GraphBuilder::check_parameters(const Function& function, bool is_of_scores, Loc loc) {
  size_t needed = is_of_scores ? 5 : 4, count = function.parameters().size();
  if (count == needed) return true;
  report(diag::wrong_kind, loc, is_of_scores ? "'score_mod'" : "'mask_mod'",
         fmt::format("a function of {} parameter{}", count, count == 1 ? "" : "s"), fmt::format("one of {}", needed))
      .help(is_of_scores ? "it takes the score, and its batch, head, row and column: lambda s, b, h, i, j: s"
                         : "it takes the batch, head, row and column of a score: lambda b, h, i, j: j <= i");
  return false;
}

/// The compile-time arguments of a kernel of the library; false when an error was reported.
bool GraphBuilder::attention_constants(const graph::Attention& options, const BoundArguments& arguments,
                                       std::vector<NamedAttr>& constants) {
  for (auto [at, name] : {std::pair(ScoreMod, "score_mod"), std::pair(MaskMod, "mask_mod")}) {
    if (arguments[at].is_none()) continue;
    if (!arguments[at].is(DatumKind::Function)) {
      report(diag::wrong_kind, arguments.locs[at], fmt::format("'{}'", name), describe(arguments[at]), "a function");
      return false;
    }
    if (!check_parameters(arguments[at].as_function(), at == ScoreMod, arguments.locs[at])) return false;
    if (const Binding* tensor = captured_tensor(arguments[at].as_function())) {
      report(diag::unsupported_construct, arguments.locs[at], fmt::format("a '{}' that reads a tensor", name))
          .label(tensor->loc, "the tensor")
          .help(at == ScoreMod ? "give the tensor as bias=, which is added to the scores; its shape broadcasts to "
                                 "[B, H, rows, keys]"
                               : "give bias=where(mask, 0.0, -INF), whose shape broadcasts to [B, H, rows, keys]");
      return false;
    }
    Attr function = to_attr(arguments[at], arguments.locs[at]);
    if (!function) return false;
    constants.emplace_back(name, function);
  }
  if (options.causal) constants.emplace_back("causal", context().boolean(true));
  if (options.rolling) constants.emplace_back("rolling", context().boolean(true));
  if (options.window) constants.emplace_back("window", context().integer(*options.window));
  if (options.scale) constants.emplace_back("scale", context().number(*options.scale));
  if (options.seed) {
    constants.emplace_back("dropout", context().number(options.dropout));
    constants.emplace_back("stream", context().integer(options.stream));
  }
  std::sort(constants.begin(), constants.end());
  return true;
}

/// Functions of the scores are the kernel's: it is called by name, as a user would.
Datum GraphBuilder::attention_kernel(const AttentionTensors& tensors, const graph::Attention& options,
                                     const BoundArguments& arguments) {
  std::vector<NamedAttr> constants;
  if (!attention_constants(options, arguments, constants)) return Datum::poison();
  builder_.set_loc(arguments.call);
  DType dtype = tensors.type.storage;
  std::vector<Value*> operands;
  std::vector<Attr> numbers;
  auto add = [&](Value* operand, int64_t number) {
    if (!operand) return;
    operands.push_back(operand);
    numbers.push_back(context().integer(number));
  };
  using slot = graph::in::FlashAttention;
  add(convert(stored(tensors.q), dtype), slot::q);
  add(convert(stored(tensors.k), dtype), slot::k);
  add(convert(stored(tensors.v), dtype), slot::v);
  add(options.bias, slot::bias);
  add(options.length, slot::length);
  add(options.seed, slot::seed);
  std::vector<Dim> dims = operands[slot::q]->type()->dims;
  NumericType sums{graph::attention_dtype(dtype), {}, false};
  std::vector<Type> types;
  if (options.sums) types.push_back(context().tensor({dims[0], dims[1], dims[2]}, sums.storage));
  dims[3] = operands[slot::v]->type()->dims[3];
  types.insert(types.begin(), context().tensor(dims, sums.storage));
  std::string kernel = "flash_attention_2";
  if (options.seed) kernel += "_dropout";
  if (options.sums) kernel += "_lse";
  std::vector<OpAttr> attributes = {
      graph::attr::KernelCall::kernel(context(), kernel),
      graph::attr::KernelCall::arguments(context(), std::move(constants)),
      graph::attr::KernelCall::parameters(context().array(std::move(numbers)))};
  add_captured(attributes, nullptr, std::array{arguments[ScoreMod], arguments[MaskMod]});
  Op* op = builder_.op(graph::info(graph::OpKind::KernelCall), {operands}, types, std::move(attributes));
  Datum out = handle(op->result(0), tensors.type, arguments.call);
  return options.sums ? Datum::tuple({out, handle(op->result(1), sums, arguments.call)}) : out;
}

Datum GraphBuilder::flash_attention(const BoundArguments& given) {
  BoundArguments arguments = given;
  graph::Attention options;
  if (arguments[V].is_none() && !arguments[K].is_ir()) {
    std::vector<Datum> parts = cache_parts(arguments[K], arguments.locs[K]);
    if (parts.empty()) return Datum::poison();
    const auto* cache = arguments[K].object_as<StateValue>();
    options.rolling = cache && cache->policies().rolling_window;
    std::copy_n(parts.begin(), 2, arguments.values.begin() + K);
    arguments.locs[V] = arguments.locs[K];
    builder_.set_loc(arguments.locs[K]);
    options.length = convert(stored(parts[2].as_ir()), DType::I64);
  }
  auto tensors = attention_tensors(arguments);
  if (!tensors || !check_attention_dims(*tensors, arguments) ||
      !attention_numbers(arguments, options)) {
    return Datum::poison();
  }
  if (!arguments[Bias].is_none()) {
    options.bias = attention_bias(*tensors, arguments);
    if (!options.bias) return Datum::poison();
  }
  if (options.dropout != 0) {
    evaluator_.add_effect("rng", arguments.call);
    options.seed = seed(arguments.call);
    if (!options.seed) return Datum::poison();
    options.stream = int64_t(hash64(next_stream()) >> 1);
  }
  if (!arguments[ScoreMod].is_none() || !arguments[MaskMod].is_none())
    return attention_kernel(*tensors, options, arguments);
  builder_.set_loc(arguments.call);
  DType dtype = tensors->type.storage;
  std::vector<Value*> results = graph::flash_attention(
      builder_, convert(stored(tensors->q), dtype), convert(stored(tensors->k), dtype),
      convert(stored(tensors->v), dtype), options);
  Datum out = handle(results[0], tensors->type, arguments.call);
  if (!options.sums) return out;
  NumericType sums{results[1]->type()->dtype, {}, false};
  return Datum::tuple({out, handle(results[1], sums, arguments.call)});
}

}  // namespace tessera::frontend
