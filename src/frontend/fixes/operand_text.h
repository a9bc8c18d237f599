#pragma once
// Operands as they are written, and edits of them.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostic.h"

namespace tessera::frontend {

/// The text of a node that lies on one line.
std::string source_text(const SourceManager& sources, Loc loc);

/// The same as an operand of an operator: in brackets, unless it is a name, a number, a call or the like.
std::string bracketed_text(const SourceManager& sources, Loc loc);

/// Whether a place is an expression on one line that can be an argument: several values cannot.
bool is_operand(const SourceManager& sources, Loc loc);

/// Whether the sign of a comparison stands directly before or behind an expression, which is given by its ends.
bool is_compared(const SourceManager& sources, Loc first, Loc last);

/// What puts a suffix behind an operand; nothing where it is not on one line.
std::vector<Edit> postfixed(const SourceManager& sources, Loc loc, std::string_view suffix);

/// What exchanges two operands or arguments, which those of an operator keep together by brackets; nothing where one is
/// not on one line.
std::vector<Edit> exchanged(const SourceManager& sources, Loc first, Loc second, bool is_operator);

/// A method as it is called on one line, `x.name(argument)`: its argument, without brackets or a comma.
std::optional<std::string> called_with(const SourceManager& sources, Loc name);

/// What makes such a call, with an object at `object`, one of a function: `callee(x, argument)`.
std::vector<Edit> as_function(const SourceManager& sources, Loc object, Loc name, std::string_view callee,
                              std::string_view argument);

}  // namespace tessera::frontend
