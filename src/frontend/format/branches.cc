#include "frontend/format/branches.h"
#include "support/diagnostic_rows.h"

#include <algorithm>

namespace tessera::formatter {

class Branches::Finder {
 public:
  Finder(std::vector<SourceLine>& lines, const LexedFile& lexed, DiagnosticEngine& diagnostics)
      : lines_(lines), lexed_(lexed), diagnostics_(diagnostics) {}

  Result<Branches> run();

 private:
  Chain& chain() { return open_[open_.size() - 2].chains.back(); }
  Loc place(size_t line) const;
  std::string_view word(size_t line) const;
  bool directive(size_t index);
  bool ends_branch(size_t index, DirectiveKind kind);

  std::vector<SourceLine>& lines_;
  const LexedFile& lexed_;
  DiagnosticEngine& diagnostics_;
  std::vector<Branch> open_;  ///< the file, and within it the branches around the line
  size_t skipped_ = 0;        ///< conditions open beyond max_nesting
};

std::string_view Branches::Finder::word(size_t line) const {
  const RawToken& name = lexed_.tokens[lines_[line].begin + 1];
  return diagnostics_.sources().file(lexed_.file).text().substr(name.offset, name.length);
}

Loc Branches::Finder::place(size_t line) const {
  uint32_t length = uint32_t(1 + word(line).size());
  return diagnostics_.sources().file(lexed_.file).locate(lexed_.file, lines_[line].offset, length);
}

/// An %elif, %else or %endif ends the branch before it.
bool Branches::Finder::ends_branch(size_t index, DirectiveKind kind) {
  if (open_.size() == 1) {
    diagnostics_.report(diag::directive_without_if, place(index), word(index));
    return false;
  }
  if (chain().has_else && kind != DirectiveKind::EndIf) {
    diagnostics_.report(diag::directive_after_else, place(index), word(index));
    return false;
  }
  open_.back().end = index;
  chain().branches.push_back(std::move(open_.back()));
  open_.pop_back();
  Chain& ended = open_.back().chains.back();
  ended.has_else |= kind == DirectiveKind::Else;
  if (kind == DirectiveKind::EndIf) {
    ended.end = index;
  } else {
    open_.push_back({index, 0, {}, false});
  }
  return true;
}

bool Branches::Finder::directive(size_t index) {
  DirectiveKind kind = lines_[index].directive;
  if (kind == DirectiveKind::Error || kind == DirectiveKind::Other) return true;
  bool begins = kind == DirectiveKind::If;
  if (skipped_ > 0 || (begins && open_.size() > max_nesting)) {
    skipped_ += begins ? 1 : 0;
    skipped_ -= kind == DirectiveKind::EndIf ? 1 : 0;
    open_.back().is_raw = true;
    return true;
  }
  if (!begins) return ends_branch(index, kind);
  open_.back().chains.emplace_back();
  open_.push_back({index, 0, {}, false});
  return true;
}

Result<Branches> Branches::Finder::run() {
  open_.emplace_back();
  for (size_t i = 0; i < lines_.size(); ++i) {
    if (lines_[i].kind == LineKind::Directive && !directive(i)) return failure;
  }
  if (open_.size() > 1 || skipped_ > 0) {
    const Chain& last = chain();
    size_t first = last.branches.empty() ? open_.back().directive : last.branches.front().directive;
    diagnostics_.report(diag::unterminated_condition, place(first)).help("end it with '%endif'");
    return failure;
  }
  Branches found;
  found.lines_ = &lines_;
  found.root_ = std::move(open_.back());
  found.root_.end = lines_.size();
  return found;
}

Result<Branches> Branches::find(std::vector<SourceLine>& lines, const LexedFile& lexed,
                                DiagnosticEngine& diagnostics) {
  Result<Branches> found = Finder(lines, lexed, diagnostics).run();
  if (found) found->limit();
  return found;
}

size_t Branches::readings_of(const Branch& branch) {
  size_t count = 1;
  for (const Chain& chain : branch.chains) count = std::max(count, readings_of(chain));
  return count;
}

size_t Branches::readings_of(const Chain& chain) {
  size_t count = chain.has_else ? 0 : 1;
  for (const Branch& branch : chain.branches) count += branch.is_raw ? 1 : readings_of(branch);
  return count;
}

namespace {

void fill(std::vector<bool>& lines, size_t begin, size_t end, bool value) {
  for (size_t i = begin; i < end; ++i) lines[i] = value;
}

}  // namespace

/// Marks the lines that a reading keeps. A chain has a reading for each reading of each branch,
/// then one without any; where the file has more, the first one stays.
void Branches::keep(const Branch& branch, size_t number, std::vector<bool>& kept) const {
  for (const Chain& chain : branch.chains) {
    fill(kept, chain.branches.front().directive, chain.end + 1, false);
    size_t left = number < readings_of(chain) ? number : 0;
    for (const Branch& each : chain.branches) {
      size_t count = each.is_raw ? 1 : readings_of(each);
      if (left < count) {
        if (each.is_raw) break;
        fill(kept, each.directive + 1, each.end, true);
        keep(each, left, kept);
        break;
      }
      left -= count;
    }
  }
}

std::string Branches::reading(std::string_view text, size_t number) const {
  std::vector<bool> kept(lines_->size(), true);
  keep(root_, number, kept);
  std::string out(text);
  for (size_t i = 0; i < lines_->size(); ++i) {
    const SourceLine& line = (*lines_)[i];
    if (kept[i] && line.directive != DirectiveKind::Error) continue;
    for (size_t at = line.offset; at < line.end_offset; ++at) {
      if (out[at] != '\n' && out[at] != '\r') out[at] = ' ';
    }
  }
  return out;
}

void Branches::mark_raw(Branch& branch) {
  branch.is_raw = true;
  for (size_t i = branch.directive + 1; i < branch.end; ++i) (*lines_)[i].raw = true;
}

Branches::Branch* Branches::innermost(uint32_t file_line) {
  Branch* found = &root_;
  while (Branch* inner = branch_around(*found, file_line)) found = inner;
  return found;
}

/// The branch directly inside another one that has a line of the file, or null.
Branches::Branch* Branches::branch_around(Branch& outer, uint32_t file_line) {
  for (Chain& chain : outer.chains) {
    for (Branch& each : chain.branches) {
      bool is_empty = each.directive + 1 >= each.end;
      bool holds = !is_empty && (*lines_)[each.directive + 1].first <= file_line &&
                   file_line < (*lines_)[each.end].first;
      if (holds) return &each;
    }
  }
  return nullptr;
}

bool Branches::make_raw(uint32_t file_line) {
  Branch* branch = innermost(file_line);
  if (branch == &root_ || branch->is_raw) return false;
  mark_raw(*branch);
  return true;
}

void Branches::limit(Branch& branch, size_t first) {
  for (Chain& chain : branch.chains) {
    size_t at = first;
    for (Branch& each : chain.branches) {
      size_t count = each.is_raw ? 1 : readings_of(each);
      if (each.is_raw || at >= max_readings) {
        mark_raw(each);
      } else {
        limit(each, at);
      }
      at += count;
    }
  }
}

void Branches::limit() {
  limit(root_, 0);
}

}  // namespace tessera::formatter
