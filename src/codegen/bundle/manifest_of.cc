#include "codegen/bundle/manifest_of.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "codegen/plan/emit_plan.h"
#include "codegen/plan/format_terms.h"
#include "ir/core/common_attributes.h"
#include "ir/text/entries.h"
#include "ir/text/printer.h"
#include "runtime/files/text.h"

namespace tessera::codegen {

namespace {

using Json = nlohmann::json;

format::ManifestTensor tensor_of(std::string name, Type type,
                                 const std::vector<std::string>& dims) {
  format::ManifestTensor tensor;
  tensor.name = std::move(name);
  tensor.dtype = format_dtype(type->dtype);
  tensor.policies = format_policies(type->policies);
  for (Dim extent : type->dims) tensor.shape.push_back(dim_text(extent, dims));
  return tensor;
}

/// Where the extents of an argument are written; nothing where a dump does not say so of all.
std::vector<std::string> places_of(Attr argument, Type type) {
  Attr places = entry::node(argument, entry::Argument::places);
  if (!places || !places->is(AttrKind::Array) || places->elements.size() != type->rank()) return {};
  std::vector<std::string> texts;
  for (Attr place : places->elements) {
    if (!place->is(AttrKind::String)) return {};
    texts.push_back(format::one_line(place->string));
  }
  return texts;
}

std::vector<std::string> effects_of(Op* function) {
  AttrList effects = function->attr(common::Entry::effects);
  return {effects.begin(), effects.end()};
}

std::vector<format::ManifestPromise> numerics_of(Op* function) {
  std::vector<format::ManifestPromise> promises;
  for (Attr each : function->attr(common::Entry::numerics)) {
    format::ManifestPromise promise;
    promise.function = format::one_line(entry::read(each, entry::Numerics::function));
    promise.stable = entry::read(each, entry::Numerics::stable);
    if (Attr bounds = entry::node(each, entry::Numerics::bounded)) {
      promise.bounds = {bounds->elements[0]->number, bounds->elements[1]->number};
    }
    promises.push_back(std::move(promise));
  }
  return promises;
}

/// The seed of an entry that draws random numbers is the u64 input of that name.
bool is_seed(Op* function, const std::string& name, Type type) {
  std::vector<std::string> effects = effects_of(function);
  bool draws = std::find(effects.begin(), effects.end(), "rng") != effects.end();
  return draws && name == "seed" && type->dtype == DType::U64 && type->rank() == 0;
}

/// How a parameter begins, as the source says it, else the function of the graph that computes it.
std::string initialiser_of(Module* graph, const std::string& param) {
  if (!graph) return {};
  for (Op* function : *graph->body()) {
    for (std::string_view name : function->attr(common::Initialiser::params)) {
      if (name != param) continue;
      const std::string& text = entry::text_of(function->attr(common::Entry::results)[0], entry::Result::text);
      return text.empty() ? std::string(symbol_name(function)) : text;
    }
  }
  return {};
}

Json json_of(Attr attr) {
  switch (attr->kind) {
    case AttrKind::Bool:
      return attr->boolean;
    case AttrKind::Int:
      return attr->integer;
    case AttrKind::Float:
      return attr->number;
    case AttrKind::Array: {
      Json array = Json::array();
      for (Attr element : attr->elements) array.push_back(json_of(element));
      return array;
    }
    case AttrKind::Dict: {
      Json object = Json::object();
      for (const auto& [key, value] : attr->entries) object[key] = json_of(value);
      return object;
    }
    case AttrKind::String:
    case AttrKind::Symbol:
      return attr->string;
    default:
      return attr->text;
  }
}

}  // namespace

format::ManifestEntry manifest_entry(Op* function) {
  format::ManifestEntry entry;
  entry.name = symbol_name(function);
  entry.dims = entry_dims(function);
  entry.effects = effects_of(function);
  Block* body = function->region()->front();
  const std::vector<Attr>& args = function->attr(common::Entry::args);
  for (unsigned i = 0; i < body->arg_count(); ++i) {
    std::string name = entry::text_of(args[i], entry::Argument::name);
    if (entry::text_of(args[i], entry::Argument::kind) == "param") {
      entry.params.push_back(name);
      continue;
    }
    entry.inputs.push_back(tensor_of(name, body->arg(i)->type(), entry.dims));
    entry.inputs.back().seed = is_seed(function, name, body->arg(i)->type());
    entry.inputs.back().places = places_of(args[i], body->arg(i)->type());
  }
  Op* end = body->terminator();
  const std::vector<Attr>& results = function->attr(common::Entry::results);
  for (unsigned i = 0; i < end->operand_count(); ++i) {
    entry.outputs.push_back(
        tensor_of(entry::text_of(results[i], entry::Result::name), end->operand(i)->type(), entry.dims));
    entry.outputs.back().alias_of = entry::text_of(results[i], entry::Result::alias_of);
  }
  for (Attr guard : function->attr(common::Entry::guards)) {
    std::string condition = format::expr_text(fact_expr(*read_fact(guard), entry.dims), entry.dims);
    std::string message = entry::text_of(guard, entry::Guard::text);
    entry.guards.push_back({condition, message.empty() ? condition : format::one_line(message)});
  }
  entry.numerics = numerics_of(function);
  return entry;
}

std::vector<format::ManifestTensor> manifest_params(const std::vector<Op*>& functions,
                                                    Module* graph) {
  std::map<std::string, format::ManifestTensor> params;
  for (Op* function : functions) {
    std::vector<std::string> dims = entry_dims(function);
    Block* body = function->region()->front();
    const std::vector<Attr>& args = function->attr(common::Entry::args);
    for (unsigned i = 0; i < body->arg_count(); ++i) {
      std::string name = entry::text_of(args[i], entry::Argument::name);
      if (entry::text_of(args[i], entry::Argument::kind) != "param" || params.count(name)) continue;
      params[name] = tensor_of(name, body->arg(i)->type(), dims);
      params[name].initialiser = format::one_line(initialiser_of(graph, name));
      params[name].places = places_of(args[i], body->arg(i)->type());
    }
  }
  std::vector<format::ManifestTensor> list;
  for (auto& [name, tensor] : params) list.push_back(std::move(tensor));
  return list;
}

std::string schedules_json(const std::vector<BundleTarget>& targets) {
  Json root = Json::object();
  for (const BundleTarget& target : targets) {
    Json& kernels = root[target.machine->name] = Json::object();
    for (Module* module : target.modules) {
      for (Op* op : *module->body()) {
        Attr schedule = op->node(common::Kernel::schedule);
        if (!schedule) continue;
        Json& kernel = kernels[std::string(symbol_name(op))] = {{"schedule", json_of(schedule)}};
        if (std::optional<std::string_view> source = op->attr(common::Kernel::kernel))
          kernel["kernel"] = *source;
      }
    }
  }
  return root.dump(2) + "\n";
}

}  // namespace tessera::codegen
