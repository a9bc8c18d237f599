#pragma once
// "Show Graph of this function": tesserac is started for the text as it is typed, and what it prints
// is cut to the function and linked to the source's lines.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lsp/features/context.h"

namespace tessera::lsp {

/// What is to be run, with everything it needs: it runs beside the server.
struct LowerJob {
  std::vector<std::string> command;
  std::string folder;
  std::string input;
  std::string uri;
  std::string function;
};

/// The job of a command of stages.h, whose argument is {uri, position, target}; none, with a reason,
/// where there is no such function.
std::optional<LowerJob> lower_job(Context& context, const std::string& compiler, const std::string& command,
                                  const Json& argument, std::string& error);
/// Runs it. The result has `text`, and in `lines` for each of its lines the source's line (from 0) or
/// null; on failure null with a reason.
Json run_lower_job(const LowerJob& job, const std::function<bool()>& stop, std::string& error);

/// tesserac beside this program, or the one on PATH.
std::string find_compiler();

}  // namespace tessera::lsp
