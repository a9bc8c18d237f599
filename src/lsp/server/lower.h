#pragma once
// "Show Graph of this function": runs the compiler on the current text for a stage, cuts the output
// to the function, and links it to the lines of the sources.

#include <functional>
#include <optional>
#include <string>

#include "lsp/features/context.h"
#include "lsp/workspace/compiler.h"

namespace tessera::lsp {

/// The command to run, with everything it needs: it runs beside the server.
struct LowerJob {
  Compilation compilation;
  std::string uri;
  std::string target;
  std::string stage;     ///< its title
  bool is_code = false;  ///< PTX or assembly
  bool is_kernel = false;
  std::string function;  ///< empty: everything is shown
  uint32_t line = 0;     ///< of the function's name, from 1
  uint32_t first = 0;    ///< and of all of it
  uint32_t last = 0;
};

/// The job for a lens' command and its argument {uri, position, target?}; null with a reason where it
/// names no stage, document or place.
std::optional<LowerJob> lower_job(Context& context, const CompilerSettings& compiler, const std::string& command,
                                  const Json& argument, std::string& error);
/// The file that the text is put into for a client that cannot show it otherwise; empty where there is no folder.
std::string stage_file(const LowerJob& job);
/// Runs it. The result has `function`, `target`, `text`, and in `lines` for each line of the text {uri, line}, from
/// 0, or null; on failure null with a reason.
Json run_lower_job(const LowerJob& job, const std::function<bool()>& stop, std::string& error);

}  // namespace tessera::lsp
