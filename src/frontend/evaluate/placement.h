#pragma once
// Where work is done, as values: devices, meshes of devices, and what `with` and `on` take. On one
// device placement changes nothing of what is computed: it is checked and kept as hints for
// schedules.
//
//     with device(gpu), prefetch(cache, into="smem", overlap="compute"):
//     on mesh(devices, layout={"batch": "shard", "params": "replicate"})

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/syntax/ast.h"
#include "frontend/values/builtins.h"
#include "frontend/values/value.h"

namespace tessera::frontend {

class Evaluator;
class Scope;

/// `cpu`, `gpu`, `gpu[1]`.
class Device : public Object {
 public:
  explicit Device(std::string kind, std::optional<int64_t> index = std::nullopt)
      : kind_(std::move(kind)), index_(index) {}
  /// "gpu"; "gpu[1]" of one that is numbered.
  std::string name() const;
  const std::string& kind() const { return kind_; }
  std::optional<int64_t> index() const { return index_; }
  std::string describe() const override { return "device " + name(); }

 private:
  std::string kind_;
  std::optional<int64_t> index_;
};

/// `W["d_model"]`: an axis of a tensor by the name of its size.
class NamedAxis : public Object {
 public:
  NamedAxis(std::string tensor, std::string name, size_t axis)
      : tensor_(std::move(tensor)), name_(std::move(name)), axis_(axis) {}
  size_t axis() const { return axis_; }
  std::string describe() const override { return "axis '" + name_ + "' of '" + tensor_ + "'"; }

 private:
  std::string tensor_;
  std::string name_;
  size_t axis_;
};

/// The operands of `with` and `on`.
class Placement : public Object {
 public:
  enum class Kind : uint8_t { Device, Prefetch, Mesh };
  virtual Kind kind() const = 0;
};

/// `device(gpu)`.
class OnDevice : public Placement {
 public:
  explicit OnDevice(Device device) : device_(std::move(device)) {}
  const Device& device() const { return device_; }
  Kind kind() const override { return Kind::Device; }
  std::string describe() const override { return "work on " + device_.describe(); }

 private:
  Device device_;
};

/// `prefetch(cache, into="smem", overlap="compute")`.
class Prefetch : public Placement {
 public:
  Prefetch(Datum what, std::string into, std::string overlap)
      : what_(std::move(what)), into_(std::move(into)), overlap_(std::move(overlap)) {}
  const Datum& what() const { return what_; }
  const std::string& into() const { return into_; }
  const std::string& overlap() const { return overlap_; }
  Kind kind() const override { return Kind::Prefetch; }
  std::string describe() const override { return "a prefetch"; }

 private:
  Datum what_;
  std::string into_;
  std::string overlap_;
};

/// `mesh(devices, layout={…})`, with what is sharded over it.
class Mesh : public Placement {
 public:
  Mesh(std::vector<Device> devices, Dictionary layout)
      : devices_(std::move(devices)), layout_(std::move(layout)) {}
  const std::vector<Device>& devices() const { return devices_; }
  const Dictionary& layout() const { return layout_; }
  Kind kind() const override { return Kind::Mesh; }
  std::string describe() const override;

 private:
  std::vector<Device> devices_;
  Dictionary layout_;
};

/// A member function of a mesh.
class MeshMember : public Object {
 public:
  MeshMember(Datum mesh, std::string name) : mesh_(std::move(mesh)), name_(std::move(name)) {}
  const Datum& mesh() const { return mesh_; }
  const std::string& name() const { return name_; }
  std::string describe() const override { return "member '" + name_ + "' of a mesh"; }
  Measure measure() const override { return mesh_.measure(); }
  /// `mesh.shard(W["d_model"], …)`: the mesh, over which these axes are to be spread.
  Datum call(Evaluator& evaluator, const std::vector<CallArgument>& arguments, Loc loc) const;

 private:
  Datum mesh_;
  std::string name_;
};

// The values of source, each poison when an error was reported.
/// `gpu[1]` is a device, `gpu[0:4]` a list of four.
Datum index_device(Evaluator& evaluator, const Device& device, ast::ExprList indices, Scope& scope, Loc loc);
Datum make_device(Evaluator& evaluator, const BoundArguments& arguments);
Datum make_prefetch(Evaluator& evaluator, const BoundArguments& arguments);
Datum make_mesh(Evaluator& evaluator, const BoundArguments& arguments);
Datum mesh_member(Evaluator& evaluator, const Datum& mesh, const ast::Identifier& name);

}  // namespace tessera::frontend
