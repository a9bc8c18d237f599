#include "runtime/format/manifest.h"

#include <algorithm>
#include <set>

#include "runtime/files/json_cursor.h"
#include "runtime/format/bundle.h"
#include "runtime/format/expr.h"

namespace tessera::format {

namespace {

constexpr size_t max_targets = 4096;

enum class TensorRole { Input, Output, Param };

Json tensor_json(const ManifestTensor& tensor, TensorRole role) {
  Json out = {{"name", tensor.name},
              {"dtype", dtype_name(tensor.dtype)},
              {"policies", tensor.policies},
              {"shape", tensor.shape}};
  if (!tensor.places.empty()) out["places"] = tensor.places;
  if (role == TensorRole::Input) out["seed"] = tensor.seed;
  if (role == TensorRole::Output) out["alias_of"] = tensor.alias_of;
  if (role == TensorRole::Param) out["initialiser"] = tensor.initialiser;
  return out;
}

Json tensors_json(const std::vector<ManifestTensor>& tensors, TensorRole role) {
  Json out = Json::array();
  for (const ManifestTensor& tensor : tensors) out.push_back(tensor_json(tensor, role));
  return out;
}

Json entry_json(const ManifestEntry& entry) {
  Json guards = Json::array();
  for (const ManifestGuard& guard : entry.guards) {
    guards.push_back({{"condition", guard.condition}, {"message", guard.message}});
  }
  Json numerics = Json::array();
  for (const ManifestPromise& promise : entry.numerics) {
    numerics.push_back({{"function", promise.function},
                        {"stable", promise.stable},
                        {"bounds", promise.bounds}});
  }
  return {{"name", entry.name},
          {"dims", entry.dims},
          {"inputs", tensors_json(entry.inputs, TensorRole::Input)},
          {"outputs", tensors_json(entry.outputs, TensorRole::Output)},
          {"params", entry.params},
          {"effects", entry.effects},
          {"guards", guards},
          {"numerics", numerics}};
}

class ManifestReader {
 public:
  Result<Manifest> read(std::string_view text) {
    Result<Json> json = parse_json(text);
    if (!json) return error("manifest.json: ", json.error().text);
    JsonCursor root(*json, error_);
    Manifest manifest;
    manifest.format = root["format"].integer();
    if (error_.empty() && manifest.format != bundle_format_version) {
      return error("the bundle has format ", manifest.format, "; this build reads ",
                   bundle_format_version, ": compile the source again");
    }
    read_facts(root, manifest);
    if (error_.empty()) check_order(manifest);
    if (error_.empty() && write_manifest(manifest) != text)
      error_ = "it is not in the one form that this version of tesserac writes; compile the source again";
    if (!error_.empty()) return error("manifest.json: ", error_);
    return manifest;
  }

 private:
  void read_facts(JsonCursor root, Manifest& manifest) {
    manifest.abi_major = root["abi"]["major"].integer();
    manifest.abi_minor = root["abi"]["minor"].integer();
    manifest.compiler = root["compiler"].text();
    manifest.tools = root["tools"].texts();
    manifest.targets = root["targets"].texts();
    manifest.debug = root["debug"].texts();
    if (!root["fast"].is_null()) manifest.fast = root["fast"].texts();
    root["entries"].each([&](JsonCursor item) { manifest.entries.push_back(read_entry(item)); });
    DimNumbers all_dims(all_dims_);
    root["params"].each([&](JsonCursor item) {
      manifest.params.push_back(read_tensor(item, TensorRole::Param, all_dims));
    });
    root["files"].each([&](JsonCursor item) { manifest.files.push_back(read_file(item)); });
  }

  ManifestEntry read_entry(JsonCursor in) {
    ManifestEntry entry;
    entry.name = read_name(in["name"]);
    entry.dims = in["dims"].texts();
    DimNumbers dims(entry.dims);
    for (const std::string& dim : entry.dims) {
      if (!is_dim_name(dim)) in["dims"].refuse("a dimension name is malformed");
      if (seen_dims_.insert(dim).second) all_dims_.push_back(dim);
    }
    in["inputs"].each([&](JsonCursor item) {
      entry.inputs.push_back(read_tensor(item, TensorRole::Input, dims));
    });
    in["outputs"].each([&](JsonCursor item) {
      entry.outputs.push_back(read_tensor(item, TensorRole::Output, dims));
    });
    entry.params = in["params"].texts();
    entry.effects = in["effects"].texts();
    in["guards"].each([&](JsonCursor item) {
      ManifestGuard guard{item["condition"].text(), item["message"].text()};
      check_expr_text(item["condition"], guard.condition, dims);
      entry.guards.push_back(guard);
    });
    in["numerics"].each([&](JsonCursor item) { entry.numerics.push_back(read_promise(item)); });
    return entry;
  }

  ManifestPromise read_promise(JsonCursor in) {
    ManifestPromise promise;
    promise.function = in["function"].text();
    promise.stable = in["stable"].boolean();
    in["bounds"].each([&](JsonCursor item) { promise.bounds.push_back(item.number()); });
    bool in_order = promise.bounds.size() == 2 && promise.bounds[0] <= promise.bounds[1];
    if (!promise.bounds.empty() && !in_order) {
      in["bounds"].refuse("bounds are two numbers in order");
    }
    return promise;
  }

  ManifestTensor read_tensor(JsonCursor in, TensorRole role, const DimNumbers& dims) {
    ManifestTensor tensor;
    tensor.name = read_name(in["name"]);
    auto dtype = find_dtype(in["dtype"].text());
    if (!dtype) in["dtype"].refuse("the dtype is not known");
    tensor.dtype = dtype.value_or(Dtype::F32);
    tensor.policies = in["policies"].texts();
    in["shape"].each([&](JsonCursor item) {
      tensor.shape.push_back(item.text());
      check_expr_text(item, tensor.shape.back(), dims);
    });
    if (!in["places"].is_null()) {
      tensor.places = in["places"].texts();
      if (tensor.places.size() != tensor.shape.size()) {
        in["places"].refuse("places are not as many as extents");
      }
    }
    if (role == TensorRole::Input) tensor.seed = in["seed"].boolean();
    if (role == TensorRole::Output) tensor.alias_of = in["alias_of"].text();
    if (role == TensorRole::Param) tensor.initialiser = in["initialiser"].text();
    return tensor;
  }

  ManifestFile read_file(JsonCursor in) {
    ManifestFile file;
    file.name = in["name"].text();
    int64_t size = in["size"].integer();
    int64_t crc = in["crc32"].integer();
    file.xxh3 = in["xxh3"].text();
    if (size < 0) in["size"].refuse("a size is negative");
    if (crc < 0 || crc > 0xffffffffll) in["crc32"].refuse("a checksum exceeds 32 bits");
    file.size = uint64_t(size);
    file.crc32 = uint32_t(crc);
    return file;
  }

  std::string read_name(JsonCursor in) {
    std::string name = in.text();
    if (!is_printable_name(name)) in.refuse("a name is empty, too long or not printable");
    return name;
  }

  void check_expr_text(JsonCursor in, std::string_view text, const DimNumbers& dims) {
    Result<Expr> expr = parse_expr(text, dims);
    if (!expr) return in.refuse(expr.error().text);
    if (expr_text(*expr, dims.names()) != text) in.refuse("an expression is not in its one form");
  }

  void check_order(const Manifest& manifest) {
    check_sorted(manifest.entries, "entries");
    check_sorted(manifest.params, "params");
    check_sorted(manifest.files, "files");
    if (manifest.targets.size() > max_targets) refuse("there are more than ", max_targets, " targets");
    std::set<std::string_view> targets;
    for (const std::string& target : manifest.targets) {
      if (!is_bundle_name(target_path(target))) refuse("the target ", in_quotes(target));
      if (!targets.insert(target).second) refuse("the target ", in_quotes(target), " is there twice");
    }
    for (const ManifestEntry& entry : manifest.entries) check_params(entry, manifest);
  }

  template <typename T>
  void check_sorted(const std::vector<T>& items, std::string_view what) {
    for (size_t i = 1; i < items.size(); ++i) {
      if (items[i - 1].name >= items[i].name) {
        return refuse(what, ": ", in_quotes(items[i].name), " is out of order or there twice");
      }
    }
  }

  void check_params(const ManifestEntry& entry, const Manifest& manifest) {
    for (const std::string& name : entry.params) {
      auto at = std::lower_bound(
          manifest.params.begin(), manifest.params.end(), name,
          [](const ManifestTensor& param, const std::string& key) { return param.name < key; });
      if (at == manifest.params.end() || at->name != name) {
        refuse("entry ", in_quotes(entry.name), " reads the unknown parameter ", in_quotes(name));
      }
    }
  }

  template <typename... Pieces>
  void refuse(const Pieces&... pieces) {
    if (error_.empty()) error_ = cat(pieces...);
  }

  std::string error_;
  std::vector<std::string> all_dims_;
  std::set<std::string> seen_dims_;
};

}  // namespace

std::string write_manifest(const Manifest& manifest) {
  Json entries = Json::array();
  for (const ManifestEntry& entry : manifest.entries) entries.push_back(entry_json(entry));
  Json files = Json::array();
  for (const ManifestFile& file : manifest.files) {
    files.push_back(
        {{"name", file.name}, {"size", file.size}, {"crc32", file.crc32}, {"xxh3", file.xxh3}});
  }
  Json json = {{"format", manifest.format},
               {"abi", {{"major", manifest.abi_major}, {"minor", manifest.abi_minor}}},
               {"compiler", manifest.compiler},
               {"tools", manifest.tools},
               {"targets", manifest.targets},
               {"debug", manifest.debug},
               {"entries", entries},
               {"params", tensors_json(manifest.params, TensorRole::Param)},
               {"files", files}};
  if (!manifest.fast.empty()) json["fast"] = manifest.fast;
  return json.indented();
}

Result<Manifest> read_manifest(std::string_view json) {
  return ManifestReader().read(json);
}

}  // namespace tessera::format
