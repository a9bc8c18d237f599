// Each pass for GPUs alone: what it is there for has happened, and what the kernel computes is what it computed before,
// however the interpreter switches roles and however many workers there are.

#include <bit>
#include <catch2/catch.hpp>
#include <functional>
#include <map>

#include "ir/core/common_attributes.h"
#include "ir/host/ops.h"
#include "ir/layout/text.h"
#include "passes/pass_manager.h"
#include "unit/gpu/gpu_program.h"

using namespace tessera;
using namespace tessera::test;
using tile::OpKind;

namespace {

constexpr std::string_view hopper = "cuda:sm_90a", ampere = "cuda:sm_80";

const tile::RunOptions runs[] = {{.workers = 1}, {.workers = 3, .seed = 1}, {.workers = 2, .seed = 2},
                                 {.workers = 40, .seed = 3}};

/// The values of one program at all its sizes, before a pass.
class Around {
 public:
  Around(GpuProgram& program, const GpuCase& of) : program_(program), case_(of) {
    for (const DimValues& dims : of.sizes) {
      arguments_.push_back(program.arguments(dims));
      before_.push_back(program.values(arguments_.back(), dims));
    }
  }

  /// They are the same now, in every run; with a bound where the pass orders sums anew.
  void check_same(double bound = 0) {
    for (size_t i = 0; i < before_.size(); ++i) {
      for (const tile::RunOptions& options : runs) {
        Tensors now = program_.values(arguments_[i], case_.sizes[i], options);
        INFO("size " << i << ", workers " << options.workers);
        CHECK((bound ? largest_difference(now, before_[i]) <= bound : same_bits(now, before_[i])));
      }
    }
  }

 private:
  GpuProgram& program_;
  const GpuCase& case_;
  std::vector<Tensors> arguments_, before_;
};

/// Runs the pass in its place of the pipeline and compares; then calls `did(program)`.
template <typename F>
void check_pass(PassId pass, std::string_view machine, std::initializer_list<std::string_view> names, F&& did,
                double bound = 0) {
  for (const GpuCase* each : cases_named(names)) {
    INFO(each->name << " for " << machine);
    GpuProgram program(*each, machine);
    program.advance_to(pass);
    Around around(program, *each);
    program.step();
    around.check_same(bound);
    INFO(program.text());
    did(program);
  }
}

Op* only_op(GpuProgram& program, OpKind kind) {
  Op* found = nullptr;
  walk(program.kernels().at(0), [&](Op* op) {
    if (op->is(tile::info(kind))) found = op;
  });
  REQUIRE(found);
  return found;
}

std::vector<int64_t> pending_waits(GpuProgram& program) {
  std::vector<int64_t> pending;
  walk(program.kernels().at(0), [&](Op* op) {
    if (op->is(tile::info(OpKind::MmaWait)))
      pending.push_back(op->attr(tile::attr::MmaWait::pending));
  });
  return pending;
}

}  // namespace

TEST_CASE("pad_tiles gives whole rows an extent that threads divide") {
  for (std::string_view machine : gpu_machines) {
    check_pass(
        PassId::pad_tiles, machine,
        {"softmax", "rmsnorm", "layer", "cross", "embed", "generated: row", "generated: ele"},
        [](GpuProgram& program) {
          for (Op* kernel : program.kernels()) {
            walk(kernel, [&](Op* op) {
              for (unsigned i = 0; i < op->result_count(); ++i) {
                if (!op->result(i)->type()->is(TypeKind::Tile)) continue;
                for (Dim dim : op->result(i)->type()->dims) {
                  int64_t extent = dim->constant().value_or(1);
                  CHECK((std::has_single_bit(uint64_t(extent)) || extent % 512 == 0));
                }
              }
            });
          }
        },
        1e-5);
  }
  GpuCase of_any{"sum of coordinates", "%x: tensor<M x 1000, f32>", R"(
    %0: tensor<M x 1000, i32> = gir.iota {axis = 1}
    %1: tensor<M x 1000, f32> = gir.cast %0
    %2: tensor<M x 1000, f32> = gir.add %1, %1
    %3: tensor<M, f32> = gir.reduce %2 {axes = [1], kind = "sum"}
    %4: tensor<M x 1, f32> = gir.reshape %3
    %5: tensor<M x 1000, f32> = gir.broadcast %4
    %6: tensor<M x 1000, f32> = gir.add %5, %x
    gir.return [%6]
)"};
  of_any.sizes = {{{"M", 3}}};
  GpuProgram program(of_any, hopper);
  program.advance_to(PassId::pad_tiles);
  Around around(program, of_any);
  program.step();
  around.check_same(1e-6);
}

TEST_CASE("split_large_tiles cuts rows of any length, and leaves what fits registers") {
  check_pass(PassId::split_large_tiles, hopper, {"softmax, any", "rmsnorm, any", "cross entropy, any"},
             [](GpuProgram& program) {
               CHECK(program.count("tile.for") > 0);
               walk(program.kernels().at(0), [&](Op* op) {
                 for (unsigned i = 0; i < op->result_count(); ++i) {
                   Type type = op->result(i)->type();
                   if (!type->is(TypeKind::Tile)) continue;
                   int64_t elements = 1;
                   for (Dim dim : type->dims) elements *= dim->constant().value_or(0);
                   CHECK(elements > 0);
                   CHECK(elements <= 64 * 64);  // what two warps have registers for
                 }
               });
             },
             1e-5);
  check_pass(PassId::split_large_tiles, hopper, {"softmax, short", "rmsnorm, short", "matmul bf16, b"},
             [](GpuProgram& program) { CHECK(program.count("tile.for") == program.count("tile.dot")); });
}

TEST_CASE("plan_pipeline brings operands to shared memory") {
  check_pass(PassId::plan_pipeline, hopper, {"matmul bf16, b K x N, by", "matmul bf16, b N x K, by",
                                             "matmul f16", "matmul of a slice", "matmul, bias",
                                             "matmul of batches by"},
             [](GpuProgram& program) {
               CHECK(program.count("tile.dot") == 0);
               CHECK(program.count("tile.mma") == 1);
               CHECK(program.count("tile.channel_acquire") == 1);
               CHECK(program.count("tile.copy_async") == 2);
               CHECK(program.count("tile.copy_commit") == 0);
             });
  for (std::string_view machine : gpu_machines) {
    check_pass(PassId::plan_pipeline, machine, {"matmul bf16, b K x N, any", "matmul bf16, b N x K, any",
                                                "matmul f32, any", "matmul with a sum"},
               [](GpuProgram& program) {
                 CHECK(program.count("tile.dot") == 0);
                 CHECK(program.count("tile.mma") == 1);
                 CHECK(program.count("tile.channel") == 0);
                 CHECK(program.count("tile.copy_commit") == 1);
                 CHECK(program.count("tile.copy_wait") == 1);
               });
  }
}

TEST_CASE("plan_pipeline brings a tile that two matmuls read once") {
  check_pass(PassId::plan_pipeline, hopper, {"gated matmuls of known"}, [](GpuProgram& program) {
    CHECK(program.count("tile.mma") == 2);
    CHECK(program.count("tile.mma_wait") == 1);
    CHECK(program.count("tile.channel_acquire") == 1);
    CHECK(program.count("tile.copy_async") == 3);
    CHECK(program.count("tile.channel_release") == 1);
  });
  for (std::string_view machine : gpu_machines) {
    check_pass(PassId::plan_pipeline, machine, {"gated matmuls by threads"}, [](GpuProgram& program) {
      CHECK(program.count("tile.mma") == 2);
      CHECK(program.count("tile.copy_async") == 3);
      CHECK(program.count("tile.copy_wait") == 1);
      CHECK(program.count("tile.barrier") == 2);
    });
  }
}

TEST_CASE("plan_pipeline leaves a left factor in the registers of the sums it is made of") {
  check_pass(PassId::plan_pipeline, hopper,
             {"attention by roles", "attention by roles, causal", "attention by roles, a w"}, [](GpuProgram& program) {
               if (program.count("tile.channel") == 0) return;  // of any size: those that need nothing
               CHECK(program.count("tile.channel") == 3);  // q once; k and v
               CHECK(program.count("tile.copy_async") == 3);
               CHECK(program.count("tile.barrier") == 0);
               CHECK(program.count("tile.store") == 1);
               std::vector<bool> in_registers;
               walk(program.kernels().at(0), [&](Op* op) {
                 if (op->is(tile::info(OpKind::Mma)))
                   in_registers.push_back(op->operand(0)->type()->is(TypeKind::Tile));
               });
               CHECK(in_registers == std::vector<bool>{false, true});
             });
}

TEST_CASE("plan_pipeline leaves a factor that is computed of narrower elements in registers") {
  check_pass(PassId::plan_pipeline, hopper, {"weights of i8 in registers"}, [](GpuProgram& program) {
    Op* mma = only_op(program, OpKind::Mma);
    CHECK(mma->operand(0)->type()->is(TypeKind::Tile));
    CHECK(mma->operand(0)->type()->dims[0]->is_constant(128));
    CHECK(program.count("tile.store") == 1);
    CHECK(program.count("tile.transpose") == 1);  // of the sums, behind the loop
  });
  check_pass(PassId::plan_pipeline, ampere, {"weights of i8 in registers"}, [](GpuProgram& program) {
    CHECK(!only_op(program, OpKind::Mma)->operand(0)->type()->is(TypeKind::Tile));
    CHECK(program.count("tile.transpose") == 0);
  });
}

TEST_CASE("swap_factors swaps all dots of a kernel, or none") {
  check_pass(PassId::swap_factors, hopper, {"factors of bytes, one after", "factors of bytes of two"},
             [](GpuProgram& program) {
               std::vector<bool> swapped;
               walk(program.kernels().at(0), [&](Op* op) {
                 if (op->is(tile::info(OpKind::Dot))) swapped.push_back(op->result()->type()->dims[0]->is_constant(64));
               });
               CHECK(swapped == std::vector<bool>{true, true});
             });
  check_pass(PassId::swap_factors, hopper, {"factors of bytes beside", "factors of bytes that are summed"},
             [](GpuProgram& program) {
               CHECK(only_op(program, OpKind::Dot)->result()->type()->dims[0]->is_constant(16));
               CHECK(program.count("tile.transpose") == 0);
             });
}

TEST_CASE("form_clusters fills the grid up to whole clusters, and marks the copies that their programs share") {
  auto shared = [](GpuProgram& program) {
    std::vector<std::vector<int64_t>> axes;
    walk(program.kernels().at(0), [&](Op* op) {
      if (op->is(tile::info(OpKind::CopyAsync))) axes.push_back(op->attr(tile::attr::CopyAsync::shared_along).vector());
    });
    return axes;
  };
  auto grid = [](GpuProgram& program) {
    std::vector<std::string> extents;
    for (Dim extent : program.kernels().at(0)->attr(common::Kernel::grid)) extents.emplace_back(extent->text);
    return extents;
  };
  using Axes = std::vector<std::vector<int64_t>>;
  check_pass(PassId::form_clusters, hopper, {"matmul in clusters of rows"}, [&](GpuProgram& program) {
    CHECK(shared(program) == Axes{{}, {0}});
    CHECK(grid(program)[0] == "2*((M + 127)//128)");
  });
  check_pass(PassId::form_clusters, hopper, {"matmul in clusters of columns"}, [&](GpuProgram& program) {
    CHECK(shared(program) == Axes{{1}, {}});
    CHECK(grid(program)[1] == "4");
  });
  check_pass(PassId::form_clusters, hopper, {"matmul in clusters of both"},
             [&](GpuProgram& program) { CHECK(shared(program) == Axes{{1}, {0}}); });
  check_pass(PassId::form_clusters, ampere, {"matmul in clusters of rows"},
             [&](GpuProgram& program) { CHECK(program.count("cluster") == 0); });
  // An arrival at the barriers of all programs of a cluster is one from each of them.
  check_pass(PassId::insert_barriers, hopper, {"matmul in clusters of both"}, [&](GpuProgram& program) {
    CHECK(program.count("tile.cluster_barrier") == 2);
    walk(program.kernels().at(0), [](Op* op) {
      if (op->is(tile::info(OpKind::BarrierArrive))) CHECK(op->attr(tile::attr::BarrierArrive::programs) == 4);
    });
  });
}

TEST_CASE("make_persistent takes all tiles of the grid, whatever the number of workers") {
  check_pass(PassId::make_persistent, hopper, {"matmul bf16, b", "matmul f16", "matmul of a slice", "matmul, bias"},
             [](GpuProgram& program) {
               bool persistent = program.kernels().back()->attr(common::Kernel::persistent);
               CHECK(persistent == (program.count("tile.worker_id") == 1));
               if (persistent) CHECK(program.count("tile.program_id") == 0);
             });
  check_pass(PassId::make_persistent, ampere, {"matmul bf16, b K x N, by"},
             [](GpuProgram& program) {
               CHECK(!program.kernels().back()->attr(common::Kernel::persistent));
             });
}

TEST_CASE("make_persistent deals out programs of unequal length, whatever the number of workers") {
  check_pass(PassId::make_persistent, hopper, {"programs of unequal length"}, [](GpuProgram& program) {
    CHECK(program.count("tile.worker_id") == 2);
    CHECK(program.count("tile.program_id") == 0);
  });
  check_pass(PassId::make_persistent, hopper, {"attention by roles, causal, persistent"}, [](GpuProgram& program) {
    CHECK(program.kernels().back()->attr(common::Kernel::persistent));
  });
}

TEST_CASE("specialise_roles splits what has a channel") {
  check_pass(PassId::specialise_roles, hopper, {"matmul bf16, b K x N, by", "matmul bf16, b N x K, by",
                                                "matmul f16", "matmul of a slice", "matmul, bias"},
             [](GpuProgram& program) {
               CHECK(program.count("tile.role") == 2);
               CHECK(program.kernels().at(0)->required(common::Kernel::threads) == 256);
             });
  check_pass(PassId::specialise_roles, hopper, {"matmul bf16, one role", "matmul bf16, b K x N, any", "softmax"},
             [](GpuProgram& program) { CHECK(program.count("tile.role") == 0); });
  check_pass(PassId::specialise_roles, ampere, {"matmul bf16, b K x N, by"},
             [](GpuProgram& program) {
               CHECK(program.kernels().at(0)->required(common::Kernel::threads) == 128);
             });
}

TEST_CASE("multi_buffer gives slots to channels between roles") {
  check_pass(PassId::multi_buffer, hopper, {"matmul bf16, b K x N, by", "matmul f16", "matmul, bias"},
             [](GpuProgram& program) {
               Op* channel = only_op(program, OpKind::Channel);
               CHECK(channel->attr(tile::attr::Channel::stages) == 2);
               for (unsigned i = 0; i < 2; ++i) CHECK(channel->operand(i)->type()->dims[0]->is_constant(2));
             });
  check_pass(PassId::multi_buffer, hopper, {"matmul bf16, one role"}, [](GpuProgram& program) {
    CHECK(only_op(program, OpKind::Channel)->attr(tile::attr::Channel::stages) == 1);
  });
}

TEST_CASE("overlap_iterations keeps an MMA in flight where a slot is left for the next") {
  check_pass(PassId::overlap_iterations, hopper, {"matmul bf16, b K x N, by", "matmul f16", "matmul, bias"},
             [](GpuProgram& program) {
               CHECK(pending_waits(program) == std::vector<int64_t>{1, 0});
               CHECK(program.count("tile.channel_release") == 2);
             });
  check_pass(PassId::overlap_iterations, hopper, {"gated matmuls of known"}, [](GpuProgram& program) {
    CHECK(pending_waits(program) == std::vector<int64_t>{2, 0});
    CHECK(program.count("tile.channel_release") == 2);
  });
  check_pass(PassId::overlap_iterations, hopper, {"matmul bf16, one role", "matmul f32, N x K", "matmul with a sum"},
             [](GpuProgram& program) { CHECK(pending_waits(program) == std::vector<int64_t>{0}); });
}

TEST_CASE("overlap_iterations issues the last MMA of attention in the next iteration, beside its exponentials") {
  check_pass(PassId::overlap_iterations, hopper,
             {"attention by roles", "attention by roles, causal, persistent", "attention by roles, any size"},
             [](GpuProgram& program) {
               size_t mmas = 0, in_loops = 0;
               walk(program.kernels().at(0), [&](Op* op) {
                 if (!op->is(tile::info(OpKind::Mma))) return;
                 ++mmas;
                 in_loops += op->parent()->is(tile::info(OpKind::For));
               });
               CHECK(mmas == 4);  // the first scores before the loop, the last weights behind it
               CHECK(in_loops == 2);
             });
  check_pass(PassId::overlap_iterations, hopper, {"attention of groups"}, [](GpuProgram& program) {
    for (int64_t pending : pending_waits(program)) CHECK(pending == 0);
  });
}

TEST_CASE("skip_masks asks once for all elements of a block") {
  check_pass(
      PassId::skip_masks, hopper, {"attention by roles, a w", "attention of groups, causal"}, [](GpuProgram& program) {
        size_t masks = 0;
        walk(program.kernels().at(0), [&](Op* op) {
          bool chooses = op->info().elementwise == ElementwiseKind::Select && op->result()->type()->is(TypeKind::Tile);
          if (!chooses || op->result()->type()->rank() != 2 || op->result()->type()->dims[1]->is_constant(1)) return;
          CHECK(op->parent()->is(tile::info(OpKind::If)));
          CHECK(op->operand(0)->def()->operand(0)->type()->dtype != DType::I64);
          ++masks;
        });
        CHECK(masks > 0);
      });
}

TEST_CASE("skip_masks compares numbers that are far apart") {
  check_pass(PassId::skip_masks, hopper, {"masks far away"}, [](GpuProgram&) {});
}

TEST_CASE("simplify_tiles finds nothing more the second time") {
  for (std::string_view machine : gpu_machines) {
    check_pass(PassId::simplify_tiles, machine, {"matmul bf16, b K x N", "softmax", "generated"},
               [](GpuProgram& program) {
                 std::string once = program.text();
                 PassContext context{program.diagnostics(), &program.machine()};
                 REQUIRE(simplify_tiles(program.module(), context));
                 CHECK(program.text() == once);
               });
  }
}

TEST_CASE("assign_layouts gives every tile a layout of the threads that hold it") {
  for (std::string_view machine : gpu_machines) {
    check_pass(
        PassId::assign_layouts, machine, {"matmul", "softmax", "rmsnorm", "layer", "cross", "embed", "generated"},
        [](GpuProgram& program) {
          for (Op* kernel : program.kernels()) {
            walk(kernel, [&](Op* op) {
              for (unsigned i = 0; i < op->result_count(); ++i) {
                Type type = op->result(i)->type();
                if (!type->is(TypeKind::Tile)) continue;
                auto layout = layout::parse_layout(type->layout);
                REQUIRE(layout);
                CHECK(size_t(layout->rank()) == type->rank());
              }
            });
          }
        },
        8e-3);
  }
  check_pass(PassId::assign_layouts, hopper, {"matmul bf16, b"}, [](GpuProgram& program) {
    CHECK(only_op(program, OpKind::Mma)->result()->type()->layout.starts_with("#wgmma<acc"));
  });
  check_pass(PassId::assign_layouts, ampere, {"matmul bf16, b"}, [](GpuProgram& program) {
    CHECK(only_op(program, OpKind::Mma)->result()->type()->layout.starts_with("#mma<acc"));
  });
}

TEST_CASE("stage_stores sends accumulators through the copy engine where it can take them") {
  check_pass(PassId::stage_stores, hopper, {"matmul of wide tiles"}, [](GpuProgram& program) {
    CHECK(program.count("tile.store_async") == 3);
    CHECK(program.count("tile.fence_async") == 3);
  });
  check_pass(PassId::stage_stores, hopper, {"matmul, three columns"}, [](GpuProgram& program) {
    CHECK(program.count("tile.store_async") == 3);
    CHECK(program.count("tile.gelu") == 3);
    CHECK(program.count("tile.slice") == 6);  // of the accumulator and the bias
  });
  // Rows that it cannot write leave by threads, which read them from shared memory; a residual is read by rows, too.
  check_pass(PassId::stage_stores, hopper, {"matmul of odd rows"}, [](GpuProgram& program) {
    CHECK(program.count("tile.store_async") == 0);
    CHECK(program.count("tile.slice") == 3);
    CHECK(program.count("tile.barrier") == 6);  // three for operands
  });
  check_pass(PassId::stage_stores, hopper, {"matmul bf16, b K x N, any", "matmul f32, any", "softmax"},
             [](GpuProgram& program) { CHECK(program.count("tile.store_async") == 0); });
  check_pass(PassId::stage_stores, ampere, {"matmul of wide tiles"},
             [](GpuProgram& program) { CHECK(program.count("tile.store_async") == 0); });
}

TEST_CASE("insert_barriers counts arrivals") {
  check_pass(PassId::insert_barriers, hopper, {"matmul bf16, b K x N, by", "matmul bf16, one", "matmul of wide"},
             [](GpuProgram& program) {
               CHECK(program.count("tile.channel") == 0);
               std::vector<int64_t> arrivals;
               walk(program.kernels().at(0), [&](Op* op) {
                 if (op->is(tile::info(OpKind::Barriers)))
                   arrivals.push_back(op->attr(tile::attr::Barriers::arrivals));
               });
               CHECK(arrivals == std::vector<int64_t>{1, 4});
             });
}

TEST_CASE("rows that only registers hold may be empty, and of any extent up to theirs") {
  for (std::string_view machine : gpu_machines) {
    for (const GpuCase* each :
         cases_named({"rows that are combined along both axes", "rows beside others that are combined"})) {
      GpuProgram program(*each, machine);
      program.advance_to(PassId::plan_pipeline);
      std::string guards;
      for (Op* op : *program.module().body()) {
        if (op->is(host::info(host::OpKind::Func)))
          guards += op->node(host::attr::Func::guards)->text;
      }
      INFO(guards);
      CHECK(guards.find("<=") != std::string::npos);
      CHECK(guards.find(">=") == std::string::npos);
      CHECK(guards.find("%") == std::string::npos);
    }
  }
}

TEST_CASE("kernels that the sizes of a signature never need are not made") {
  for (std::string_view machine : gpu_machines) {
    auto extents_of = [&](const std::string& where) {
      GpuCase each{"attention" + where, "", ""};
      each.source = "@jit\ndef f(q: Tensor[B, H, S, D, f32], k: Tensor[B, H, N, D, f32], v: Tensor[B, H, N, D, f32])" +
                    where + ":\n    return flash_attention(q, k, v)\n";
      GpuProgram program(each, machine);
      program.advance_to(PassId::propagate_masks);
      std::string all;
      for (Op* kernel : program.kernels()) {
        if (kernel->has(common::Kernel::assume)) all += kernel->node(common::Kernel::assume)->text;
      }
      return all;
    };
    CHECK(extents_of("").find("right = 192") != std::string::npos);
    std::string bounded = extents_of(" where D <= 64");
    INFO(bounded);
    CHECK(bounded.find("right = 64") != std::string::npos);
    CHECK(bounded.find("right = 192") == std::string::npos);
    CHECK(bounded.find("right = 96") == std::string::npos);
  }
}

TEST_CASE("fallback kernels are dropped where one kernel is for all sizes") {
  for (std::string_view machine : gpu_machines) {
    GpuProgram program(*cases_named({"softmax, any size"}).at(0), machine);
    auto fallbacks = [&] {
      return std::ranges::count_if(
          program.kernels(), [](Op* kernel) { return kernel->has(common::Kernel::fallback); });
    };
    program.advance_to(PassId::propagate_masks);
    CHECK(fallbacks() > 0);
    program.advance_to(PassId::plan_pipeline);
    CHECK(fallbacks() == 0);
  }
}

/// From which op of the kernel's own block to which its memory is used, counting loops whole.
std::pair<int, int> used_from_to(Op* kernel, Value* memory) {
  Block* block = kernel->region()->front();
  std::map<Op*, int> positions;
  for (Op* op : *block) positions.emplace(op, int(positions.size()));
  std::pair<int, int> span{int(positions.size()), -1};
  std::function<void(Value*)> follow = [&](Value* value) {
    for (Use* use = value->first_use(); use; use = use->next()) {
      Op* user = use->owner();
      if (user->is(tile::info(OpKind::Slot)) || user->is(tile::info(OpKind::View))) {
        follow(user->result());
        continue;
      }
      while (user->block() != block) user = user->parent();
      span = {std::min(span.first, positions.at(user)), std::max(span.second, positions.at(user))};
    }
  };
  follow(memory);
  return span;
}

TEST_CASE("allocate_shared gives every buffer a place of its own while it is used") {
  for (std::string_view machine : gpu_machines) {
    check_pass(PassId::allocate_shared, machine, {"matmul", "softmax", "rmsnorm", "generated"},
               [](GpuProgram& program) {
                 for (Op* kernel : program.kernels()) {
                   int64_t shared = kernel->required(common::Kernel::shared);
                   CHECK(shared <= program.machine().gpu.shared_per_block);
                   struct Place {
                     int64_t begin, end;
                     std::pair<int, int> used;
                   };
                   std::vector<Place> places;
                   walk(kernel, [&](Op* op) {
                     bool memory = op->is(tile::info(OpKind::AllocShared)) || op->is(tile::info(OpKind::Barriers));
                     if (!memory) return;
                     Type type = op->result()->type();
                     int64_t bytes = byte_size(type->dtype),
                             offset = op->required(tile::attr::AllocShared::offset);
                     for (Dim dim : type->dims) bytes *= *dim->constant();
                     places.push_back({offset, offset + bytes, used_from_to(kernel, op->result())});
                     CHECK(offset + bytes <= shared);
                     bool swizzled = type->layout.find("swizzle") != std::string_view::npos;
                     CHECK(offset % (swizzled ? 256 : 8) == 0);
                   });
                   for (size_t i = 0; i < places.size(); ++i) {
                     for (size_t j = 0; j < i; ++j) {
                       const Place &a = places[i], &b = places[j];
                       bool apart = a.end <= b.begin || b.end <= a.begin;
                       bool in_turn = a.used.second < b.used.first || b.used.second < a.used.first;
                       CHECK((apart || in_turn));
                     }
                   }
                 }
               });
  }
}

TEST_CASE("attention is right in fragments of CPUs, whatever multiplies its pairs") {
  for (std::string_view machine : {"cpu:x86-64-v4", "cpu:x86-64-v4-bf16", "cpu:x86-64-v4-amx"}) {
    for (const GpuCase* each : cases_named({"attention"})) {
      if (!each->source.empty()) continue;
      GpuProgram program(*each, machine);
      program.advance_to(PassId::tile_to_x86);
      INFO(each->name << " for " << machine);
      // One row alone is multiplied element by element.
      bool rows = each->args.find("S x") != std::string::npos && each->args.find("bf16") != std::string::npos;
      bool pairs = rows && machine != "cpu:x86-64-v4";
      CHECK(program.count("tile.dot_pairs") >= (pairs ? 2u : 0u));
      for (const DimValues& dims : each->sizes) {
        Tensors arguments = program.arguments(dims);
        CHECK(largest_difference(program.values(arguments, dims), program.expected(arguments)) <= each->bound);
      }
    }
  }
}
