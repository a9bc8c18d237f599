// `tile.context`: the kernel's axes, which of them form the grid, and the extents that the schedule
// gives their tiles.

#include <algorithm>
#include <bit>
#include <cctype>
#include <ranges>

#include "frontend/lower/kernel/kernel_builder.h"
#include "frontend/lower/kernel/kernel_library.h"
#include "frontend/values/dims.h"
#include "ir/numbers/machine.h"
#include "ir/schedule/ops.h"
#include "ir/schedule/schedule_keys.h"
#include "ir/text/entries.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;

namespace {

constexpr std::string_view index_names[] = {"i", "j", "h"};
constexpr std::string_view ordinals[] = {"1", "2", "3"};

bool is_index_name(std::string_view name) {
  return std::find(std::begin(index_names), std::end(index_names), name) != std::end(index_names);
}

/// Whether a dimension of a signature and an axis's extent are written the same.
bool same_text(const DimPattern& pattern, const ast::Expr* source) {
  if (!source) return false;
  return pattern.expr && ast::print_ast(*pattern.expr) == ast::print_ast(*source);
}

}  // namespace

Datum KernelBuilder::open_context(const Datum& axes, Loc loc) {
  if (kernel_.grid) return report(diag::second_tile_context, loc, function_.name), Datum::poison();
  if (!declare_axes(axes, loc) || !check_results()) return Datum::poison();
  choose_grid();
  if (!choose_blocks(loc)) return Datum::poison();
  create_grid();
  return Datum::object(std::make_shared<TileContext>());
}

bool KernelBuilder::declare_axes(const Datum& axes, Loc loc) {
  if (axes.entries().entries.empty()) return infer_axes(loc);
  for (const auto& [name, value] : axes.entries().entries) {
    Dim extent = evaluator_.expect_dim(value, loc, fmt::format("the extent of axis '{}'", name));
    if (!extent || !add_axis(name, extent, kernel_.scan.extent(name), loc)) return false;
  }
  return true;
}

bool KernelBuilder::add_axis(std::string_view name, Dim extent, const ast::Expr* source, Loc loc) {
  if (is_index_name(name)) {
    report(diag::reserved_axis, loc, name)
        .help("i, j and h are this program's tile indices; name the axis otherwise");
    return false;
  }
  KernelAxis axis;
  axis.name = std::string(name);
  axis.extent = extent;
  axis.source = source;
  kernel_.axes.push_back(std::move(axis));
  return true;
}

/// `tile.context()` without arguments: the axes are those that loads tie to the last dimensions of
/// a parameter, in order, and those of `range_n`. Leading dimensions of the first such parameter
/// follow, one element a program.
bool KernelBuilder::infer_axes(Loc loc) {
  const SignatureParameter* first = nullptr;
  std::vector<Dim> first_dims;
  for (const TiedLoad& load : kernel_.scan.tied_loads) {
    for (const auto& [value, parameter] : kernel_.parameters) {
      size_t rank = value->type()->rank();
      if (parameter->name != load.parameter || rank < 2) continue;
      if (!first) {
        first = parameter;
        first_dims = value->type()->dims;
      }
      if (!tie_axis(load.rows, *parameter, value->type()->dims, rank - 2, loc)) return false;
      if (!tie_axis(load.cols, *parameter, value->type()->dims, rank - 1, loc)) return false;
    }
  }
  for (const TiedRange& range : kernel_.scan.tied_ranges) {
    if (find_axis(range.axis) || !range.shape) continue;
    auto shape =
        evaluator_.expect_shape(evaluator_.evaluate(*range.shape, *kernel_.scope), range.shape->loc, "the shape");
    if (!shape) return false;
    if (shape->size() >= 2 && !add_axis(range.axis, (*shape)[shape->size() - 2], nullptr, loc))
      return false;
  }
  for (size_t i = 0; i + 2 < first_dims.size(); ++i) {
    if (!tie_axis(fmt::format("lead{}", i), *first, first_dims, i, loc)) return false;
  }
  if (!kernel_.axes.empty()) return true;
  report(diag::kernel_without_context, loc, function_.name)
      .help(
          "name them here, tile.context(m=M, n=N), or in loads, tile.load(x, rows=t.m, cols=t.d)");
  return false;
}

/// Declares axis `name` as dimension `dim` of a parameter, unless it is declared.
bool KernelBuilder::tie_axis(std::string_view name, const SignatureParameter& parameter,
                             const std::vector<Dim>& extents, size_t dim, Loc loc) {
  if (name.empty() || find_axis(name)) return true;
  bool has_patterns = parameter.type.dims.size() == extents.size();
  return add_axis(name, extents[dim], has_patterns ? parameter.type.dims[dim].expr : nullptr, loc);
}

std::vector<const KernelAxis*> KernelBuilder::match_axes(const std::vector<DimPattern>& patterns,
                                                         const std::vector<Dim>& extents) const {
  std::vector<const KernelAxis*> matched(extents.size(), nullptr);
  auto take = [&](size_t i, auto fits) {
    for (const KernelAxis& axis : kernel_.axes) {
      bool taken = std::find(matched.begin(), matched.end(), &axis) != matched.end();
      if (matched[i] || taken || axis.extent != extents[i] || !fits(axis)) continue;
      matched[i] = &axis;
    }
  };
  // Once symbols are numbers, equal extents do not distinguish axes; their spelling does.
  for (size_t i = 0; i < extents.size() && patterns.size() == extents.size(); ++i) {
    take(i, [&](const KernelAxis& axis) {
      const auto* name = ast::as<ast::Name>(axis.source);
      bool is_size = name && !patterns[i].symbol.empty();
      return is_size ? size_name(patterns[i].symbol) == size_name(name->text) : same_text(patterns[i], axis.source);
    });
  }
  for (size_t i = 0; i < extents.size(); ++i) {
    bool named = i < patterns.size() && !patterns[i].symbol.empty();
    take(i, [&](const KernelAxis& axis) {
      const auto* name = ast::as<ast::Name>(axis.source);
      return !(named && name && kernel_.signature->declares_dim(name->text));
    });
  }
  return matched;
}

/// A name for an axis of a size: n for N; empty where it is no plain name, or an axis has it.
std::string KernelBuilder::new_axis_name(Dim extent) const {
  std::string name = extent->text;
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  bool is_name = std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  return is_name && !is_index_name(name) && !find_axis(name) ? name : "";
}

/// Tiles have constant extents or those of axes: a result's dimension that is neither has no tile.
bool KernelBuilder::check_results() {
  std::vector<TypePattern> results = result_patterns();
  for (size_t n = 0; n < results.size(); ++n) {
    for (size_t i = 0; i < results[n].dims.size() && results[n].dims.size() == kernel_.result_dims[n].size(); ++i) {
      Dim extent = kernel_.result_dims[n][i];
      auto has_extent = [&](const KernelAxis& axis) { return axis.extent == extent; };
      if (extent->constant() || std::any_of(kernel_.axes.begin(), kernel_.axes.end(), has_extent)) continue;
      auto builder = report(diag::tile_not_of_instance, results[n].dims[i].loc, i,
                            fmt::format("the result of '{}'", function_.name));
      if (kernel_.scan.context)
        builder.label(kernel_.scan.context->loc, fmt::format("no axis has the extent {}", extent->text));
      if (std::string name = new_axis_name(extent); !name.empty())
        builder.help(fmt::format("declare one: tile.context(…, {}={})", name, extent->text));
      return false;
    }
  }
  return true;
}

void KernelBuilder::choose_grid() {
  std::vector<TypePattern> results = result_patterns();
  for (size_t i = 0; i < results.size(); ++i) {
    for (const KernelAxis* axis : match_axes(results[i].dims, kernel_.result_dims[i])) {
      if (axis) kernel_.axes[size_t(axis - kernel_.axes.data())].grid = true;
    }
  }
  for (size_t r = 0; r < kernel_.regions.size(); ++r) {
    const TypePattern& type = kernel_.regions[r].parameter->type;
    if (is_summed(type)) continue;
    for (const KernelAxis* axis : match_axes(type.dims, kernel_.result_dims[kernel_.returned + r])) {
      if (axis && !kernel_.scan.looped.count(axis->name)) kernel_.axes[size_t(axis - kernel_.axes.data())].grid = true;
    }
  }
  // What is summed up or scattered may be made by programs along any axis.
  bool sums =
      std::ranges::all_of(kernel_.regions, [](const Region& region) { return is_summed(region.parameter->type); });
  if (!kernel_.scan.scatters && (!sums || kernel_.returned > 0 || kernel_.regions.empty())) return;
  for (KernelAxis& axis : kernel_.axes) axis.grid |= kernel_.scan.looped.count(axis.name) == 0;
}

const KernelAxis* KernelBuilder::find_axis(std::string_view name) const {
  for (const KernelAxis& axis : kernel_.axes) {
    if (axis.name == name) return &axis;
  }
  return nullptr;
}

bool KernelBuilder::read_decorators(std::vector<ScheduleLayer>& layers) {
  for (const ast::Decorator& decorator : function_.def->decorators) {
    if (!read_decorator(decorator, layers)) return false;
  }
  warn_of_replaced(layers);
  for (const auto& [schedule, loc] : function_.schedules) {
    layers.push_back(to_layer(context(), schedule, loc));
    if (layers.back().has_choices) kernel_.tuned.emplace_back(loc, layers.size() - 1);
  }
  return true;
}

/// Warns of a key that one decorator writes and a later one writes again. What overrides a schedule of a name, or
/// choices, is meant so.
void KernelBuilder::warn_of_replaced(const std::vector<ScheduleLayer>& layers) {
  if (evaluator_.is_open()) return;
  std::map<std::string, Loc> written;
  for (const ScheduleLayer& layer : layers | std::views::reverse) {
    if (layer.has_choices || session().is_builtin(layer.loc)) continue;
    for (const std::string& key : layer.names()) {
      std::optional<Loc> place = written_key(session().sources(), layer.loc, key);
      if (!place) continue;
      auto later = written.find(key);
      bool is_extent = !tunable_axis(key).empty();
      // By position it replaces all extents.
      if (later == written.end() && is_extent) later = written.find(std::string(schedule::key::block.name));
      if (later == written.end()) {
        written.emplace(key, *place);
        continue;
      }
      std::string said = fmt::format("replaced:{}:{}:{}", place->file, place->line, place->column);
      if (!session().say_once(std::move(said))) continue;
      session().diagnostics().report(diag::overwritten_value, *place, key)
          .label(later->second, "the next one")
          .help("leave one of the two out");
    }
  }
}

bool KernelBuilder::read_decorator(const ast::Decorator& decorator,
                                   std::vector<ScheduleLayer>& layers) {
  std::string_view name = decorator.path.back().text;
  bool is_tuned = name == "autotune";
  if (name != "schedule" && !is_tuned) return true;
  bool fits = check_keywords(decorator, is_tuned);
  if (!fits && !is_tuned) return false;
  std::optional<size_t> space;
  for (const ast::Argument& argument : decorator.arguments) {
    Datum value = evaluator_.evaluate(*argument.value, *function_.scope);
    if (std::string_view keyword = argument.name.text; is_tuned && !keyword.empty() && keyword != "space") {
      fits = !value.is_poison() && check_tuning(argument, value) && fits;
      continue;
    }
    bool is_space = is_tuned && value.is(DatumKind::Dict);
    if (is_space) value = make_schedule(evaluator_, value.entries(), argument.loc);
    if (value.is_poison()) {
      fits = false;
      continue;
    }
    if (!value.is(DatumKind::Schedule)) {
      auto builder = report(diag::wrong_kind, argument.loc, fmt::format("the argument of '@kernel.{}'", name),
                            describe(value), "a schedule");
      help_dict(builder, value);
      return false;
    }
    space = layers.size();
    layers.push_back(to_layer(context(), value, argument.loc));
    layers.back().is_space = is_space;
  }
  if (!fits) return false;
  bool has_choices = space && layers[*space].has_choices;
  if (is_tuned || has_choices) kernel_.tuned.emplace_back(decorator.loc, space);
  return true;
}

/// Every argument is one that the decorator takes, once.
bool KernelBuilder::check_keywords(const ast::Decorator& decorator, bool is_tuned) {
  std::string callee = fmt::format("kernel.{}", decorator.path.back().text);
  std::vector<std::string> known = {"schedule"};
  if (is_tuned) known = {"space", "metric", "budget_ms", "cache"};
  std::map<std::string_view, Loc> given;
  bool fits = true;
  if (report_keys(decorator, is_tuned)) return false;
  for (const ast::Argument& argument : decorator.arguments) {
    std::string_view keyword = argument.name.text.empty() ? known[0] : argument.name.text;
    if (!std::ranges::count(known, keyword)) {
      auto builder = report(diag::unknown_keyword, argument.loc, callee, keyword);
      bool is_near = builder.suggest(session().sources(), argument.name.loc, keyword, known);
      if (!is_near) {
        builder.help(is_tuned ? "the choices are lists: @kernel.autotune(space=Schedule(BM=[64, 128], warps=[4, 8]))"
                              : "a schedule is given so: @kernel.schedule(Schedule(…))");
      }
      fits = false;
      continue;
    }
    auto [earlier, is_new] = given.emplace(keyword, argument.loc);
    if (is_new) continue;
    report(diag::repeated_argument, argument.loc, keyword, callee).label(earlier->second, "it is given here first");
    return false;
  }
  return fits;
}

/// Reports arguments that are the keys of a schedule, which is a value of its own. False where they are not.
bool KernelBuilder::report_keys(const ast::Decorator& decorator, bool is_tuned) {
  auto is_key = [](const ast::Argument& argument) {
    std::string_view name = argument.name.text;
    return schedule::find_schedule_key(name) || !tunable_axis(name).empty();
  };
  if (decorator.arguments.empty() || !std::ranges::all_of(decorator.arguments, is_key)) return false;
  const ast::Argument& first = decorator.arguments.front();
  Loc last = decorator.arguments.back().loc;
  report(diag::unknown_keyword, first.loc, fmt::format("kernel.{}", decorator.path.back().text), first.name.text)
      .fix(is_tuned ? "a schedule has the choices" : "a schedule has the keys",
           {{first.loc.before(), is_tuned ? "space=Schedule(" : "Schedule("}, {last.behind(), ")"}});
  return true;
}

/// What a tuner is to measure, for how long, and where its results go.
bool KernelBuilder::check_tuning(const ast::Argument& argument, const Datum& value) {
  std::string_view keyword = argument.name.text, wanted;
  if (keyword == "metric") {
    if (!value.is(DatumKind::String) || value.as_string() != "latency_ms") wanted = "\"latency_ms\"";
  } else if (keyword == "budget_ms") {
    if (!value.is_number() || !(value.as_double() > 0)) wanted = "a number above 0";
  } else if (keyword == "cache" && (!value.is(DatumKind::String) || value.as_string().empty())) {
    wanted = "the path of a folder";
  }
  if (wanted.empty()) return true;
  report(diag::wrong_kind, argument.value->loc, fmt::format("'{}'", keyword), to_text(value), wanted);
  return false;
}

/// Names the choices of a tuner's space that the kernel has, once all that may override them is read.
void KernelBuilder::warn_of_tuning(const Tuned& tuned, const std::map<std::string, int64_t>& block) {
  const auto& [loc, layer] = tuned;
  if (session().is_builtin(loc)) return;
  std::vector<std::string> extents, chosen;
  if (layer) {
    for (const auto& [axis, extent] : block_of(kernel_.layers[*layer])) {
      auto taken = block.find(axis);
      if (taken != block.end() && taken->second == extent) extents.push_back(fmt::format("{}={}", axis, extent));
    }
    if (!extents.empty()) chosen.push_back(fmt::format("block({})", fmt::join(extents, ", ")));
    for (const auto& [key, value] : kernel_.layers[*layer].keys) {
      auto taken = kernel_.keys.find(key);
      if (taken != kernel_.keys.end() && taken->second == value)
        chosen.push_back(fmt::format("{}={}", key, value->text));
    }
  }
  std::string schedule = "the schedule that it has otherwise";
  if (!chosen.empty()) schedule = fmt::format("the first choices, {}", fmt::join(chosen, ", "));
  // A kernel may have other schedules for other calls.
  Loc kernel = function_.loc;
  if (!session().say_once(fmt::format("tuned:{}:{}:{}:{}", kernel.file, kernel.line, kernel.column, schedule))) return;
  auto builder = session().diagnostics().report(diag::not_tuned, loc, function_.name, schedule);
  builder.help("'@kernel.schedule(…)' with one value for each key gives a schedule without choices");
  if (!layer) return;
  const std::vector<int64_t>& listed = kernel_.layers[*layer].listed_block;
  if (listed.size() < 2 || listed.size() > kernel_.axes.size()) return;
  builder.help(fmt::format("extents of several axes are a tuple: block=({})", fmt::join(listed, ", ")));
}

/// Enters what one layer says; extents by position count the axes in order.
bool KernelBuilder::apply(const ScheduleLayer& layer, std::map<std::string, int64_t>& block,
                          Loc loc) {
  Loc place = layer.loc.known() ? layer.loc : loc;
  for (const auto& [key, value] : layer.keys) kernel_.keys[key] = value;
  for (const std::string& key : layer.names()) {
    if (layer.loc.known()) kernel_.places[key] = place_of_key(session().sources(), layer.loc, key);
  }
  if (layer.positional.size() > kernel_.axes.size()) {
    report(diag::schedule_too_many_extents, place, counted(layer.positional.size(), "extent"),
           function_.name, counted(kernel_.axes.size(), "axis", "axes"));
    return false;
  }
  for (const auto& [name, extent] : layer.block) {
    if (find_axis(name)) continue;
    std::vector<std::string> names;
    for (const KernelAxis& axis : kernel_.axes) names.push_back(axis.name);
    auto builder = report(diag::schedule_unknown_axis, place, name, function_.name,
                          fmt::format("{}", fmt::join(names, ", ")));
    if (!names.empty()) {
      builder.help(fmt::format("the extent along axis '{0}' is block={{\"{0}\": 64}}", names.front()));
    }
    return false;
  }
  for (size_t i = 0; i < layer.positional.size(); ++i) {
    auto named = layer.block.find(kernel_.axes[i].name);
    if (named == layer.block.end() || named->second == layer.positional[i]) continue;
    report(diag::schedule_two_extents, place, named->first, function_.name, layer.positional[i], named->second)
        .help("give one of the two");
    return false;
  }
  if (!layer.positional.empty()) block.clear();
  for (const auto& [name, extent] : block_of(layer)) block[name] = extent;
  return true;
}

/// The extents that a layer gives, by axis.
std::map<std::string, int64_t> KernelBuilder::block_of(const ScheduleLayer& layer) const {
  std::map<std::string, int64_t> block;
  for (size_t i = 0; i < layer.positional.size(); ++i) block[kernel_.axes[i].name] = layer.positional[i];
  for (const auto& [name, extent] : layer.block) {
    // A choice that cuts such an axis is none.
    if (!layer.is_space || !is_shared_by_columns(name)) block[name] = extent;
  }
  return block;
}

/// Whether loads tie their columns to the axis, some with this program's rows and some with rows that the body picks:
/// these are operands of dots that sum along the axis, of which a program then has to have all.
bool KernelBuilder::is_shared_by_columns(std::string_view axis) const {
  bool own = false, picked = false;
  for (const TiedLoad& load : kernel_.scan.tied_loads) {
    if (load.cols == axis) (load.by_index ? picked : own) = true;
  }
  return own && picked;
}

/// A kernel is built for each call and target; what is the same is said once. The library's own kernels may carry keys
/// that wait for their reader.
void KernelBuilder::warn_if_unread(std::string_view key, Attr value, Loc loc, std::string_view where) {
  const Machine* machine = find_machine(request_.machine);
  if (!machine || evaluator_.is_open() || session().is_builtin(loc)) return;
  for (const auto& [part, is_everywhere] : schedule::unread_parts(key, value, *machine)) {
    std::string target = is_everywhere ? "any target" : fmt::format("'{}'", machine->name);
    std::string what = fmt::format("{}:{}:{}:{}:{}", loc.file, loc.line, loc.column, part, target);
    if (!session().say_once(std::move(what))) continue;
    Loc place = place_of_key(session().sources(), loc, key);
    session().diagnostics().report(diag::schedule_no_effect, place, part, where, function_.name, target)
        .help(is_everywhere ? "leave it out: no target reads it yet"
                            : "leave it out, or compile for a target that reads it, as docs/schedules.md says");
  }
}

/// Whether the body uses the extent of an axis's tile, so that an unblocked axis has to be whole.
bool KernelBuilder::is_used(const KernelAxis& axis) {
  if (kernel_.scan.axes_used.count(axis.name) || kernel_.combined_axes.count(axis.name)) return true;
  for (const auto& [value, parameter] : kernel_.parameters) {
    if (!kernel_.scan.whole_loads.count(parameter->name)) continue;
    std::vector<const KernelAxis*> matched = match_axes(parameter->type.dims, value->type()->dims);
    if (std::find(matched.begin(), matched.end(), &axis) != matched.end()) return true;
  }
  return false;
}

/// A tile that is much larger than a known extent would only hold elements past the edge. The threads of a GPU and its
/// matrix units divide small powers of two and multiples of 64 evenly, and little else.
int64_t KernelBuilder::tile_extent(int64_t chosen, Dim extent) const {
  constexpr int64_t fragment = 16, unit = 64;
  std::optional<int64_t> known = extent->constant();
  if (!known || *known >= chosen) return chosen;
  const Machine* machine = find_machine(request_.machine);
  if (!machine || !machine->is_gpu()) return std::max<int64_t>(1, *known);
  int64_t even = *known > unit ? (*known + unit - 1) / unit * unit : int64_t(std::bit_ceil(uint64_t(*known)));
  return std::min(chosen, std::max(fragment, even));
}

namespace {

/// Halves the largest extent of a tile, down to what matrix units and threads still divide.
void halve_largest(std::map<std::string, int64_t>& block) {
  constexpr int64_t least = 16;
  auto largest = std::ranges::max_element(block, {}, [](const auto& axis) { return axis.second; });
  if (largest != block.end() && largest->second > least) largest->second = std::max(least, largest->second / 2);
}

}  // namespace

bool KernelBuilder::choose_blocks(Loc loc) {
  std::map<std::string, int64_t> block;
  if (table_) {
    std::string kernel = fmt::format("{}.{}", function_.scope->module()->name, function_.name);
    ScheduleQuery query{kernel, {}, [&](const std::string& name) {
                          const KernelAxis* axis = find_axis(name);
                          return axis ? axis->extent : nullptr;
                        }};
    for (const auto& [name, dtype] : kernel_.bindings.dtypes) query.dtypes[name] = dtype.dtype;
    std::vector<ScheduleTable::Choice> choices = table_->find(dims(), query);
    int64_t halvings = session().is_builtin(function_.loc) ? request_.halvings : 0;
    auto has_roles = [](const ScheduleTable::Choice& choice) {
      return choice.row && schedule::given(choice.row->schedule, schedule::key::roles);
    };
    if (halvings > 0 && std::ranges::any_of(choices, has_roles)) {
      query.roles = false;
      choices = table_->find(dims(), query);
      --halvings;
    }
    kernel_.choices = choices.size();
    const ScheduleTable::Choice& choice = choices[request_.choice.value_or(choices.size() - 1)];
    if (choice.row && !apply(to_layer(choice.row->schedule, Loc{}), block, loc)) return false;
    for (; halvings > 0; --halvings) halve_largest(block);
    std::vector<Attr> when;
    for (const DimFact& fact : choice.when) when.push_back(fact_attr(context(), fact));
    if (!when.empty()) kernel_.op->set(schedule::attr::Kernel::assume, std::move(when));
  }
  for (const ScheduleLayer& layer : kernel_.layers) {
    if (!apply(layer, block, loc)) return false;
    for (const auto& [key, value] : layer.keys) warn_if_unread(key, value, layer.loc.known() ? layer.loc : loc);
  }
  for (const auto& [key, value] : request_.schedule) {
    auto problem = schedule::check_schedule_value(key, value);
    if (problem) return schedule::report(*problem, request_.loc, session().diagnostics()), false;
  }
  if (!apply(to_layer(request_.schedule, request_.loc), block, loc)) return false;
  for (const Tuned& tuned : kernel_.tuned) warn_of_tuning(tuned, block);
  for (KernelAxis& axis : kernel_.axes) {
    auto chosen = block.find(axis.name);
    if (chosen == block.end()) {
      axis.single = axis.grid && !is_used(axis);
      axis.tile = axis.single ? dims().constant(1) : axis.extent;
      continue;
    }
    axis.blocked = true;
    axis.tile = dims().constant(tile_extent(chosen->second, axis.extent));
    std::optional<int64_t> extent = axis.extent->constant();
    bool cut = !extent || *extent > chosen->second;
    if (!cut || !is_shared_by_columns(axis.name)) continue;
    report(diag::schedule_cuts_columns, loc, axis.name, chosen->second, axis.extent->text)
        .help(fmt::format("leave out the block of '{}'", axis.name));
    return false;
  }
  return true;
}

void KernelBuilder::create_grid() {
  std::vector<Attr> all, grid_names;
  std::vector<NamedAttr> block, schedule;
  for (const KernelAxis& axis : kernel_.axes) {
    using entry::Axis;
    all.push_back(entry::make_dict(context(), {Axis::name(context(), axis.name), Axis::extent(context(), axis.extent),
                                               Axis::block(context(), axis.tile), Axis::grid(context(), axis.grid)}));
    if (axis.grid) grid_names.push_back(context().string(axis.name));
    if (axis.blocked) block.emplace_back(axis.name, context().integer(*axis.tile->constant()));
  }
  kernel_.op->set(schedule::attr::Kernel::axes, std::move(all));
  for (const auto& [key, value] : kernel_.keys) schedule.emplace_back(key, value);
  if (!block.empty()) schedule.emplace_back("block", context().dict(std::move(block)));
  kernel_.op->set(schedule::attr::Kernel::schedule, std::move(schedule));
  std::vector<NamedAttr> places;
  for (const auto& [key, place] : kernel_.places) {
    bool is_at_hand = place.file == function_.loc.file && !session().is_builtin(place);
    if (is_at_hand) places.emplace_back(key, schedule::key_place(context(), place));
  }
  if (!places.empty()) kernel_.op->set(schedule::attr::Kernel::key_places, std::move(places));
  Builder& builder = ops_.builder();
  builder.set_loc(function_.loc);
  kernel_.grid = builder.op(info(OpKind::Tile), {}, {},
                     {schedule::attr::Tile::axes(context().array(std::move(grid_names)))});
  Block* body = kernel_.grid->region()->add_block();
  size_t n = 0;
  for (KernelAxis& axis : kernel_.axes) {
    if (!axis.grid) continue;
    std::string name =
        n < std::size(index_names) ? std::string(index_names[n]) : fmt::format("i_{}", axis.name);
    axis.index = body->add_arg(context().scalar(DType::I64), module_.intern(name));
    ++n;
  }
  builder.set_end(body);
}

Datum KernelBuilder::context_member(const ast::Identifier& name) {
  auto position = std::find(std::begin(index_names), std::end(index_names), name.text);
  if (position != std::end(index_names)) {
    size_t wanted = size_t(position - std::begin(index_names));
    size_t n = 0;
    for (const KernelAxis& axis : kernel_.axes) {
      if (!axis.grid || n++ != wanted) continue;
      kernel_.named_axes.insert(&axis);
      return ops_.handle(axis.index, name.loc);
    }
    auto builder = report(diag::missing_index, name.loc, name.text, ordinals[wanted], n);
    label_axes(builder);
    return Datum::poison();
  }
  if (const KernelAxis* axis = find_axis(name.text)) {
    kernel_.named_axes.insert(axis);
    return Datum::dim(axis->tile).along(axis);
  }
  if (auto key = kernel_.keys.find(std::string(name.text)); key != kernel_.keys.end())
    return from_attr(key->second);
  std::vector<std::string> candidates;
  for (const KernelAxis& axis : kernel_.axes) candidates.push_back(axis.name);
  for (const auto& [key, value] : kernel_.keys) candidates.push_back(key);
  auto builder = report(diag::unknown_axis, name.loc, function_.name, name.text);
  builder.label(kernel_.scan.context->loc, "its axes are declared here");
  builder.suggest(session().sources(), name.loc, name.text, candidates);
  return Datum::poison();
}

}  // namespace tessera::frontend
