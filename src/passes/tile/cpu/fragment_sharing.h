#pragma once
// Kernels that pack factors for all programs of another kernel.
//
// Programs of one row of blocks read the same panels of the left factor, those of one column the
// same of the right one. Where more than one program would pack a factor, the launch of the kernel
// is preceded by that of a packing kernel, whose result, an intermediate tensor, holds the panels
// of all blocks. Its programs take a block of the factor and some steps of k each, so that threads
// share the work. A kernel that no host program launches keeps its parameters, and its programs
// pack for themselves.
//
// Where a launch has variants for some sizes, they keep the factors and take no panels: packing
// kernels then have no programs, and panels no elements, unless the kernel itself is what runs.

#include "passes/tile/cpu/fragment_panels.h"

namespace tessera {

class PanelSharing {
 public:
  PanelSharing(Op* kernel, PassContext& context, const TileAxes& axes);

  /// Writes a packing kernel for the factor if that pays and there is none yet.
  void add(const PanelForm& form);
  /// Gives the body of the kernel that replaces the old one its parameters: those of the old one,
  /// which it gives, and before the results those that hold panels.
  std::vector<Value*> add_parameters(Block* body);
  /// Lets `panels` be those that a packing kernel has filled; false where there is none for their
  /// factor.
  bool find(Panels& panels, FragmentEmitter& emitter);
  /// Drops parameters that `kernel` does not use and needs no size of, and launches the packing kernels before it.
  void launch(Op* kernel);

 private:
  struct Shared {
    Value* factor;
    Op* packing;
    std::vector<int64_t> grid;     ///< axes of the old kernel's grid that choose a program's panels
    std::vector<unsigned> inputs;  ///< the old kernel's parameters that it reads
    Value* parameter = nullptr;    ///< of the new kernel
  };
  void find_launches();
  void find_need();
  std::vector<int64_t> grid_axes(const PanelForm& form) const;
  bool pays(const PanelForm& form, const std::vector<int64_t>& grid) const;
  Op* declare(const PanelForm& form, const std::vector<int64_t>& grid) const;
  void write(Op* packing, const PanelForm& form, const std::vector<int64_t>& grid) const;
  Value* launch_packing(const Shared& shared, Op* launch) const;

  Op* kernel_;
  PassContext& context_;
  const TileAxes& axes_;
  unsigned inputs_;            ///< of the old kernel
  std::vector<Op*> launches_;  ///< of the old kernel, where they can be rewritten
  std::vector<Op*> variants_;  ///< what those launches run for some sizes
  Dim needed_;                 ///< 1 for sizes for which they run the kernel itself, else 0
  std::vector<Shared> shared_;
};

}  // namespace tessera
