#include "frontend/evaluate/placement.h"

#include <algorithm>

#include "frontend/evaluate/evaluate.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

constexpr int64_t device_limit = 4096;
constexpr std::string_view memories[] = {"smem", "shared", "register", "l2"};
constexpr std::string_view overlaps[] = {"compute", "none"};
constexpr std::string_view layouts[] = {"replicate", "shard"};

template <size_t N>
bool is_one_of(const Datum& datum, const std::string_view (&names)[N]) {
  return datum.is(DatumKind::String) &&
         std::find(std::begin(names), std::end(names), datum.as_string()) != std::end(names);
}

template <size_t N>
std::string alternatives(const std::string_view (&names)[N]) {
  std::string text;
  for (size_t i = 0; i < N; ++i) {
    text += fmt::format("{}\"{}\"", i == 0 ? "" : i + 1 == N ? " or " : ", ", names[i]);
  }
  return text;
}

}  // namespace

std::string Device::name() const {
  return index_ ? fmt::format("{}[{}]", kind_, *index_) : kind_;
}

std::string Mesh::describe() const {
  return fmt::format("a mesh of {} device{}", devices_.size(), devices_.size() == 1 ? "" : "s");
}

Datum index_device(Evaluator& evaluator, const Device& device, ast::ExprList indices, Scope& scope, Loc loc) {
  auto bound = [&](const ast::Expr* expr, std::string_view what) -> std::optional<int64_t> {
    if (!expr) return 0;
    std::optional<int64_t> value = evaluator.expect_int(evaluator.evaluate(*expr, scope), expr->loc, what);
    if (!value || (*value >= 0 && *value < device_limit)) return value;
    evaluator.report(diag::index_out_of_range, expr->loc, *value,
                     fmt::format("the {} devices there may be", device_limit));
    return std::nullopt;
  };
  if (indices.size() != 1) {
    evaluator.report(diag::wrong_argument_count, loc, device.kind(), "1 index",
                     fmt::format("{} are", indices.size()));
    return Datum::poison();
  }
  const auto* slice = ast::as<ast::Slice>(indices[0]);
  std::optional<int64_t> first = bound(slice ? slice->lower : indices[0], "the number of a device");
  if (!first) return Datum::poison();
  if (!slice) return Datum::object(std::make_shared<Device>(device.kind(), *first));
  if (!slice->upper || slice->step) {
    return evaluator.unsupported(loc, "a range of devices without an end or with a step");
  }
  std::optional<int64_t> last = bound(slice->upper, "the number of a device");
  if (!last) return Datum::poison();
  std::vector<Datum> devices;
  for (int64_t i = *first; i < *last; ++i) {
    devices.push_back(Datum::object(std::make_shared<Device>(device.kind(), i)));
  }
  return Datum::list(std::move(devices));
}

Datum make_device(Evaluator& evaluator, const BoundArguments& arguments) {
  if (const auto* device = arguments[0].object_as<Device>()) {
    return Datum::object(std::make_shared<OnDevice>(*device));
  }
  auto builder = evaluator.report(diag::wrong_kind, arguments.locs[0], "the argument of 'device'",
                                  describe(arguments[0]), "a device, such as cpu, gpu or gpu[0]");
  if (arguments[0].is(DatumKind::String)) builder.help("a device is not a text: device(gpu)");
  return Datum::poison();
}

Datum make_prefetch(Evaluator& evaluator, const BoundArguments& arguments) {
  if (!arguments[0].is_ir() && !arguments[0].is(DatumKind::Object)) {
    evaluator.report(diag::wrong_kind, arguments.locs[0], "the prefetched value", describe(arguments[0]),
                     "a tensor or a state");
    return Datum::poison();
  }
  if (!is_one_of(arguments[1], memories)) {
    evaluator.report(diag::wrong_kind, arguments.locs[1], "'into'", to_text(arguments[1]),
                     alternatives(memories));
    return Datum::poison();
  }
  if (!is_one_of(arguments[2], overlaps)) {
    evaluator.report(diag::wrong_kind, arguments.locs[2], "'overlap'", to_text(arguments[2]),
                     alternatives(overlaps));
    return Datum::poison();
  }
  return Datum::object(
      std::make_shared<Prefetch>(arguments[0], arguments[1].as_string(), arguments[2].as_string()));
}

namespace {

bool check_layout(Evaluator& evaluator, const Datum& layout, Loc loc) {
  if (!layout.is(DatumKind::Dict)) {
    evaluator.report(diag::wrong_kind, loc, "the layout of a mesh", describe(layout),
                     "a dict such as {\"batch\": \"shard\"}");
    return false;
  }
  for (const auto& [axis, how] : layout.entries().entries) {
    if (is_one_of(how, layouts)) continue;
    evaluator.report(diag::wrong_kind, loc, fmt::format("the layout of '{}'", axis), to_text(how),
                     alternatives(layouts));
    return false;
  }
  return true;
}

}  // namespace

Datum make_mesh(Evaluator& evaluator, const BoundArguments& arguments) {
  std::vector<Device> devices;
  std::vector<Datum> given{arguments[0]};
  if (arguments[0].is_sequence()) given = arguments[0].elements();
  for (const Datum& each : given) {
    const auto* device = each.object_as<Device>();
    if (!device) {
      evaluator.report(diag::wrong_kind, arguments.locs[0], "a device of a mesh", describe(each),
                       "a device, such as cpu, gpu or gpu[0]");
      return Datum::poison();
    }
    devices.push_back(*device);
  }
  if (devices.empty()) {
    evaluator.report(diag::wrong_kind, arguments.locs[0], "the devices of a mesh", "an empty list",
                     "a list of one device or more");
    return Datum::poison();
  }
  Dictionary layout;
  if (!arguments[1].is_none()) {
    if (!check_layout(evaluator, arguments[1], arguments.locs[1])) return Datum::poison();
    layout = arguments[1].entries();
  }
  return Datum::object(std::make_shared<Mesh>(std::move(devices), std::move(layout)));
}

Datum mesh_member(Evaluator& evaluator, const Datum& mesh, const ast::Identifier& name) {
  if (name.text == "shard") {
    return Datum::object(std::make_shared<MeshMember>(mesh, std::string(name.text)));
  }
  const auto& value = *mesh.object_as<Mesh>();
  if (name.text == "size") return Datum::integer(int64_t(value.devices().size()));
  evaluator.report(diag::unknown_member, name.loc, value.describe(), name.text)
      .help("a mesh has shard and size");
  return Datum::poison();
}

Datum MeshMember::call(Evaluator& evaluator, const std::vector<CallArgument>& arguments, Loc loc) const {
  if (arguments.empty()) {
    evaluator.report(diag::missing_argument, loc, "axis", "shard");
    return Datum::poison();
  }
  for (const CallArgument& argument : arguments) {
    if (argument.value.object_as<NamedAxis>() && argument.name.empty()) continue;
    evaluator.report(diag::wrong_kind, argument.loc, "the sharded value", frontend::describe(argument.value),
                     "an axis of a tensor, such as W[\"d_model\"]");
    return Datum::poison();
  }
  return mesh_;
}

namespace {

/// A program runs on one device of the targets that it is compiled for, whatever it asks for.
void warn_of_placement(Evaluator& evaluator, const Placement& placement, Loc loc) {
  auto warn = [&](std::string_view what) { return evaluator.report(diag::hint_no_effect, loc, what, "any target"); };
  switch (placement.kind()) {
    case Placement::Kind::Device:
      warn(static_cast<const OnDevice&>(placement).device().describe())
          .help("targets say what a program is compiled for: --target=…");
      return;
    case Placement::Kind::Prefetch:
      warn("'prefetch'").note({}, "moving memory in advance is not there yet");
      return;
    case Placement::Kind::Mesh:
      bool has_layout = !static_cast<const Mesh&>(placement).layout().entries.empty();
      warn(fmt::format("{}{}", placement.describe(), has_layout ? " with a layout" : ""))
          .note({}, "programs of several devices are not there yet");
  }
}

}  // namespace

/// Says where what follows is computed.
void Evaluator::set_device(std::string device) {
  if (device == frame().device) return;
  frame().device = std::move(device);
  if (session_.observer()) session_.observer()->placed(frame().device);
}

bool Evaluator::enter_context(const Datum& context, Loc loc) {
  if (context.is_poison()) return false;
  const auto* placement = context.object_as<Placement>();
  if (!placement) {
    report(diag::wrong_kind, loc, "the value of 'with'", describe(context),
           "a device, a prefetch or a mesh");
    return false;
  }
  if (const auto* mesh = context.object_as<Mesh>(); mesh && mesh->devices().size() > 1) {
    unsupported(loc, "work on a mesh of several devices");
    return false;
  }
  const auto* on = context.object_as<OnDevice>();
  if (on && on->device().index().value_or(0) > 0) {
    unsupported(loc, "work on another device than the first of its kind");
    return false;
  }
  if (on) set_device(on->device().name());
  warn_of_placement(*this, *placement, loc);
  lowering_.enter(*placement, loc);
  return true;
}

/// The block is run in the scope around it.
Flow Evaluator::execute_with(const ast::With& stmt, Scope& scope) {
  bool good = true;
  std::string device = frame().device;
  for (const ast::WithItem& item : stmt.items) {
    Datum context = evaluate(*item.context, scope);
    good = enter_context(context, item.context->loc) && good;
    if (item.target) assign(*item.target, context, scope);
  }
  Flow flow = good ? execute(stmt.body, scope) : skip(stmt.body, scope);
  set_device(std::move(device));
  return flow;
}

/// Without a block it holds for what follows.
Flow Evaluator::execute_on(const ast::On& stmt, Scope& scope) {
  std::string device = frame().device;
  bool good = enter_context(evaluate(*stmt.place, scope), stmt.place->loc);
  if (!stmt.has_body) return Flow::Next;
  Flow flow = good ? execute(stmt.body, scope) : skip(stmt.body, scope);
  set_device(std::move(device));
  return flow;
}

}  // namespace tessera::frontend
