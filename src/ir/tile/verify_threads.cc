// What a kernel's threads hold: roles share out its warps, and layouts fit the tiles and the warps
// that hold them.

#include <algorithm>
#include <map>

#include "ir/layout/text.h"
#include "ir/tile/ops.h"
#include "ir/tile/verify.h"

namespace tessera::tile {

namespace {

constexpr int64_t warp_size = 32;
constexpr int64_t max_threads = 1024;
constexpr int64_t max_registers = 4096;  // far more than any machine has
constexpr int64_t max_shared = int64_t(1) << 24;

/// Extents of the last `rank` dims of a type; empty where one is no number.
std::vector<int64_t> last_extents(Type type, size_t rank) {
  std::vector<int64_t> extents;
  for (size_t i = type->rank() - rank; i < type->rank(); ++i) {
    std::optional<int64_t> extent = type->dims[i]->constant();
    if (!extent) return {};
    extents.push_back(*extent);
  }
  return extents;
}

bool same_extents(const std::vector<int64_t>& extents, const layout::Point& point, int rank) {
  return extents.size() == size_t(rank) &&
         std::equal(extents.begin(), extents.end(), point.begin());
}

class ThreadVerifier {
 public:
  ThreadVerifier(Op* kernel, OpVerifier& verifier) : kernel_(kernel), verifier_(verifier) {}

  void run() {
    if (kernel_->has(attr::Kernel::threads)) check_threads();
    int64_t shared = kernel_->attr(attr::Kernel::shared).value_or(0);
    if (shared < 0 || shared > max_shared) {
      verifier_.error("shared memory of 0 to {} bytes, not {}", max_shared, shared);
    }
    Block* body = kernel_->region()->front();
    for (Op* op : *body) {
      if (failed()) return;
      if (op->is(info(OpKind::Barrier)) || op->is(info(OpKind::ClusterBarrier))) roles_.clear();
      bool role = op->is(info(OpKind::Role));
      if (role) check_role(op);
      warps_ = role ? roles_.back().warps : all_warps_;
      check_op(op);
    }
  }

 private:
  struct Role {
    int64_t first, warps;
  };

  bool failed() const { return verifier_.failed(); }

  template <typename... Args>
  void error(Op* op, fmt::format_string<Args...> format, Args&&... args) {
    verifier_.of(op).error(format, std::forward<Args>(args)...);
    verifier_.fail();
  }

  void check_threads() {
    int64_t threads = kernel_->required(attr::Kernel::threads);
    if (threads < warp_size || threads > max_threads || threads % warp_size != 0) {
      return verifier_.error("the threads of a program are a multiple of {} up to {}, not {}",
                             warp_size, max_threads, threads);
    }
    all_warps_ = threads / warp_size;
  }

  /// Roles between two barriers have warps of their own. The role's other rules are not yet checked
  /// here.
  void check_role(Op* op) {
    auto number = [&](AttrKey<AttrType::Int, Arity::One> key) {
      Attr value = op->node(key);
      return value && value->is(AttrKind::Int) ? value->integer : -1;
    };
    Role role{number(attr::Role::first), number(attr::Role::warps)};
    int64_t warps = all_warps_ ? all_warps_ : max_threads / warp_size;
    bool fits = role.first >= 0 && role.warps >= 1 && role.first < warps &&
                role.warps <= warps - role.first;
    if (!fits)
      error(op, "{} warps from {} on are not within {} warps", role.warps, role.first, warps);
    for (const Role& other : roles_) {
      bool apart =
          role.first + role.warps <= other.first || other.first + other.warps <= role.first;
      if (!apart && !failed()) error(op, "it shares warps with another role");
    }
    roles_.push_back(role);
  }

  void check_op(Op* op) {
    check_types(op);
    bool is_placed = op->parent() == kernel_ && kernel_->has(attr::Kernel::cluster);
    if (op->is(info(OpKind::ClusterBarrier)) && !is_placed)
      error(op, "it stands in the own block of a kernel that has a cluster");
    for (unsigned r = 0; r < op->region_count(); ++r) {
      for (Block* block = op->region(r)->front(); block; block = block->next()) {
        check_values(op, block);
        for (Op* inner : *block) {
          if (!failed()) check_op(inner);
        }
      }
    }
  }

  void check_values(Op* op, Block* block) {
    for (unsigned i = 0; i < block->arg_count(); ++i) check_layout(op, block->arg(i)->type());
  }

  void check_types(Op* op) {
    for (unsigned i = 0; i < op->result_count() && !failed(); ++i)
      check_layout(op, op->result(i)->type());
    if (op->info().elementwise == ElementwiseKind::None || op->result_count() != 1 || failed())
      return;
    std::string_view layout = op->result()->type()->layout;
    for (unsigned i = 0; i < op->operand_count() && !failed(); ++i) {
      Type type = op->operand(i)->type();
      if (type->layout != layout)
        error(op, "operand {} has another layout than the result: {}", i, type->text);
    }
  }

  void check_layout(Op* op, Type type) {
    if (type->layout.empty() || failed()) return;
    if (type->is(TypeKind::Tile)) return check_tile(op, type);
    if (type->space != MemorySpace::Shared)
      return error(op, "memory that is not shared has a layout: {}", type->text);
    layout::TextError why;
    std::optional<layout::SharedLayout> shared = layout::parse_shared_layout(type->layout, &why);
    if (!shared)
      return error(op, "'{}' is not a layout of shared memory: {}", type->layout, why.message);
    bool fits =
        type->rank() >= size_t(shared->rank()) &&
        same_extents(last_extents(type, size_t(shared->rank())), shared->extents(), shared->rank());
    if (!fits) error(op, "the layout has other extents than the memory: {}", type->text);
    if (size_t(shared->element_bytes()) != byte_size(type->dtype)) {
      error(op, "the layout is of elements of {} bytes: {}", shared->element_bytes(), type->text);
    }
  }

  void check_tile(Op* op, Type type) {
    layout::TextError why;
    auto [known, fresh] = layouts_.try_emplace(type->layout);
    if (fresh) known->second = layout::parse_layout(type->layout, &why);
    const std::optional<layout::Layout>& layout = known->second;
    if (!layout) return error(op, "'{}' is not a layout of a tile: {}", type->layout, why.message);
    if (!same_extents(last_extents(type, type->rank()), layout->extents(), layout->rank())) {
      return error(op, "the layout has other extents than the tile: {}", type->text);
    }
    if (layout->registers_per_thread() > max_registers) {
      return error(op, "a thread holds at most {} elements of a tile, not {} of {}", max_registers,
                   layout->registers_per_thread(), type->text);
    }
    if (warps_ && layout->warps() != warps_) {
      error(op, "a layout of {} warps in {} warps: {}", layout->warps(), warps_, type->text);
    }
  }

  Op* kernel_;
  OpVerifier& verifier_;
  int64_t all_warps_ = 0;  ///< 0 where the kernel does not say
  int64_t warps_ = 0;      ///< of what is being checked
  std::vector<Role> roles_;
  std::map<std::string_view, std::optional<layout::Layout>> layouts_;
};

}  // namespace

void verify_threads(Op* kernel, OpVerifier& verifier) {
  ThreadVerifier(kernel, verifier).run();
}

}  // namespace tessera::tile
