#pragma once
// The trees of a text in each of its readings (see branches.h).

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/format/branches.h"
#include "frontend/format/format.h"

namespace tessera::formatter {

/// A text cut into tokens and lines. Stays where it is: its parts refer to each other.
struct CutText {
  std::unique_ptr<Messages> messages = std::make_unique<Messages>();
  LexedFile lexed;
  std::vector<SourceLine> lines;
  std::optional<Branches> branches;

  CutText() = default;
  CutText(const CutText&) = delete;
  CutText& operator=(const CutText&) = delete;
  std::string_view text() const { return messages->sources.file(lexed.file).text(); }
};

/// Cuts the text; false when its tokens or its conditions are broken, which is in its messages.
bool cut(std::string_view text, const std::string& name, CutText& out);

/// The tree of a text as print_ast writes it; errors are in `messages`.
std::string read_tree(std::string text, const std::string& name, Messages& messages);

/// The trees of all readings. Branches that do not parse become raw lines; what is wrong outside of
/// branches is in the messages that come back, else there are none.
std::unique_ptr<Messages> read_trees(CutText& cut, const std::string& name,
                                     std::vector<std::string>& trees);

/// Why a text is no other form of the one it was made of.
struct Difference {
  std::string problem;
  bool is_bug = true;  ///< else the first text has no formatted form
};

/// Compares a text with what was made of it; `trees` are those of the first. Nothing if it is another form.
std::optional<Difference> find_difference(const CutText& before, const std::vector<std::string>& trees,
                                          std::string_view after, const std::string& name);

}  // namespace tessera::formatter
