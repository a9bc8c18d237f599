#pragma once
// The kernels of the standard library and of the user's files, as the lowering asks for them.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/evaluate/session.h"
#include "frontend/values/schedule_table.h"
#include "ir/schedule/kernel_library.h"

namespace tessera::frontend {

/// Whether a parameter of a kernel is an operand: a Tensor or a KTile.
bool is_operand(const TypePattern& type);
/// Whether a parameter of a kernel is a cache: three operands K, V and length.
bool is_cache(const TypePattern& type);
constexpr size_t cache_operands = 3;
/// Whether a kernel changes the parameter, whether it reads what the parameter holds, and whether it adds to it.
bool is_region(const TypePattern& type);
bool is_read(const TypePattern& type);
bool is_summed(const TypePattern& type);
/// The parameters in the order of a call's operands: regions come last, and of those the ones that are not read.
std::vector<const SignatureParameter*> ordered_parameters(const Signature& signature);
/// The results of a kernel. One that states none and takes a KTile gives what the first KTile is.
std::vector<TypePattern> kernel_results(const Signature& signature);

/// A graph that was read back names a kernel, or a function that a kernel is given, whose source is not there.
void report_unknown_kernel(Session& session, std::string_view name, Loc loc);

class SourceKernels : public schedule::KernelLibrary {
 public:
  explicit SourceKernels(Session& session) : session_(session) {}

  /// The name under which calls in the graph refer to a user's kernel: its own, made unique among
  /// all kernels.
  std::string symbol_of(const Function& function);
  /// The name under which calls in the graph pass a function to a kernel.
  std::string name_function(const Function& function);
  /// Requests for the kernels of a file that can be compiled for themselves: no dtype is left open
  /// and every other argument has a default. Their dims are their own symbols. In the order of the
  /// file.
  std::vector<schedule::KernelRequest> own_kernels(const SourceModule& module,
                                                   std::string_view machine);
  /// The same for one declaration of the file; nothing when it is no such kernel.
  std::optional<schedule::KernelRequest> own_kernel(const SourceModule& module, const ast::Stmt& stmt,
                                                    std::string_view machine);

  Result<schedule::KernelInstance> instantiate(Module& module,
                                               const schedule::KernelRequest& request) override;
  bool has_parts(std::string_view kernel) override;
  /// Runs a kernel that nothing calls for its errors.
  void explore(const Function& function, std::string_view machine);

 private:
  const Function* find(std::string_view name);
  const Function* find_library(std::string_view name);
  /// The table shipped for a machine; null when there is none.
  const ScheduleTable* table(const std::string& machine);
  /// The same for a kernel of the library; null for any other, whatever its name.
  const ScheduleTable* table_for(const Function& function, const std::string& machine);
  std::optional<schedule::KernelRequest> own_request(const Function& function);
  std::optional<schedule::KernelRequest> open_request(const Function& function, const Signature& signature,
                                                      const DTypeChoices& dtypes);

  Session& session_;
  std::map<std::string, const Function*, std::less<>> named_;
  std::map<std::string, std::optional<ScheduleTable>> tables_;
  std::map<std::string, const Function*, std::less<>> functions_;  ///< given to kernels
};

}  // namespace tessera::frontend
