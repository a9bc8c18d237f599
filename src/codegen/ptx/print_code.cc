#include "codegen/ptx/print_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace tessera::codegen::ptx {

size_t FileTable::number_of(FileId file) {
  auto it = std::find(files_.begin(), files_.end(), file);
  if (it == files_.end()) it = files_.insert(it, file);
  return size_t(it - files_.begin()) + 1;
}

namespace {

struct ClassText {
  std::string_view prefix, type, move;
};
constexpr ClassText class_texts[] = {
    {"%p", ".pred", "mov.pred"}, {"%h", ".b16", "mov.b16"}, {"%r", ".b32", "mov.b32"}, {"%d", ".b64", "mov.b64"}};

class CodePrinter {
 public:
  CodePrinter(const Code& code, const std::vector<uint32_t>& registers, FileTable& files)
      : code_(code), registers_(registers), files_(files) {}

  std::string run() {
    lay_out();
    for (const BasicBlock& block : code_.blocks) {
      for (uint32_t s : block.successors) targets_.insert(resolve(s));
    }
    for (size_t i = 0; i < order_.size(); ++i) {
      if (i && targets_.count(order_[i])) out_ += fmt::format("BB_{}:\n", order_[i]);
      for (const Instruction& instruction : code_.blocks[order_[i]].instructions) print(instruction, i);
    }
    return declarations() + out_;
  }

 private:
  /// A block that only leads on is never printed: branches to it go where it leads.
  bool only_leads_on(uint32_t block) const {
    const BasicBlock& b = code_.blocks[block];
    return b.successors.size() == 1 && b.instructions.size() == 1 && b.successors[0] != block;
  }

  uint32_t resolve(uint32_t block) const {
    for (size_t steps = 0; only_leads_on(block) && steps < code_.blocks.size(); ++steps) {
      block = code_.blocks[block].successors[0];
    }
    return block;
  }

  /// Blocks in the order they were made, those of edges after the block that they leave.
  void lay_out() {
    std::vector<bool> placed(code_.blocks.size());
    auto place = [&](uint32_t block) {
      if (placed[block]) return;
      placed[block] = true;
      if (block == 0 || !only_leads_on(block)) order_.push_back(block);
    };
    for (uint32_t b = 0; b < code_.blocks.size(); ++b) {
      if (code_.blocks[b].is_edge) continue;
      place(b);
      for (uint32_t s : code_.blocks[b].successors) {
        if (code_.blocks[s].is_edge) place(s);
      }
    }
  }

  std::string name(uint32_t word) const {
    return fmt::format("{}{}", class_texts[size_t(code_.words[word])].prefix, registers_[word]);
  }

  std::string named(const std::string& text) const {
    std::string out;
    for (size_t at = 0; at < text.size();) {
      size_t hash = text.find('#', at);
      out += text.substr(at, hash - at);
      if (hash == std::string::npos) break;
      size_t end = text.find(';', hash);
      out += name(uint32_t(std::stoul(text.substr(hash + 1, end - hash))));
      at = end + 1;
    }
    return out;
  }

  void print(const Instruction& instruction, size_t position) {
    if (instruction.role == Role::Branch) return print_branch(instruction, position);
    Loc loc = instruction.op->loc();
    bool moved = loc.file != last_.file || loc.line != last_.line || loc.column != last_.column;
    if (loc.known() && moved) {
      out_ += fmt::format("\t.loc\t{} {} {}\n", files_.number_of(loc.file), loc.line, loc.column);
      last_ = loc;
    }
    if (instruction.role == Role::Copy) return print_moves(instruction.moves);
    std::string text = named(instruction.text);
    out_ += fmt::format("\t{}{}\n", text, text.ends_with("\n\t}") ? "" : ";");
  }

  void print_branch(const Instruction& branch, size_t position) {
    const BasicBlock& block = code_.blocks[order_[position]];
    uint32_t next = position + 1 < order_.size() ? order_[position + 1] : UINT32_MAX;
    uint32_t first = resolve(block.successors[0]), last = resolve(block.successors.back());
    if (first != last) {
      std::string condition = named(branch.text);
      if (first == next) {
        out_ += fmt::format("\t@!{} bra BB_{};\n", condition, last);
        return;
      }
      out_ += fmt::format("\t@{} bra BB_{};\n", condition, first);
    }
    if (last != next) out_ += fmt::format("\tbra BB_{};\n", last);
  }

  void print_move(WordClass cls, const std::string& to, Operand from) {
    std::string source;
    if (from.is_word()) {
      source = name(from.word);
    } else if (cls == WordClass::Predicate) {
      source = std::to_string(from.bits & 1);
      out_ += fmt::format("\tsetp.ne.b32 {}, {}, 0;\n", to, source);
      return;
    } else {
      source = fmt::format("0x{:x}", cls == WordClass::Double ? from.bits : from.bits & 0xffffffff);
    }
    out_ += fmt::format("\t{} {}, {};\n", class_texts[size_t(cls)].move, to, source);
  }

  /// Moves that happen at once, one by one: first those whose target is not read any more; the rest
  /// are rings, each of which is opened by saving one register.
  void print_moves(std::vector<Move> moves) {
    auto same = [&](uint32_t a, uint32_t b) {
      return code_.words[a] == code_.words[b] && registers_[a] == registers_[b];
    };
    while (!moves.empty()) {
      auto free = std::find_if(moves.begin(), moves.end(), [&](const Move& move) {
        return std::none_of(moves.begin(), moves.end(), [&](const Move& other) {
          return &other != &move && other.from.is_word() && same(other.from.word, move.to);
        });
      });
      if (free != moves.end()) {
        print_move(code_.words[free->to], name(free->to), free->from);
        moves.erase(free);
        continue;
      }
      uint32_t saved = moves.front().to;
      WordClass cls = code_.words[saved];
      uint32_t temporary = uint32_t(code_.words.size() + saved_.size());
      saved_.push_back(cls);
      std::string kept = fmt::format("{}saved{}", class_texts[size_t(cls)].prefix, temporary - code_.words.size());
      out_ += fmt::format("\t{} {}, {};\n", class_texts[size_t(cls)].move, kept, name(saved));
      print_ring(moves, saved, kept);
    }
  }

  /// Walks a ring of moves backwards from `saved`, whose value is in `kept`.
  void print_ring(std::vector<Move>& moves, uint32_t saved, const std::string& kept) {
    auto same = [&](uint32_t a, uint32_t b) {
      return code_.words[a] == code_.words[b] && registers_[a] == registers_[b];
    };
    uint32_t to = saved;
    while (true) {
      auto move = std::find_if(moves.begin(), moves.end(), [&](const Move& m) { return same(m.to, to); });
      uint32_t from = move->from.word;
      moves.erase(move);
      if (same(from, saved)) {
        out_ += fmt::format("\t{} {}, {};\n", class_texts[size_t(code_.words[to])].move, name(to), kept);
        return;
      }
      print_move(code_.words[to], name(to), Operand::of(from));
      to = from;
    }
  }

  std::string declarations() const {
    uint32_t count[4] = {};
    for (size_t w = 0; w < registers_.size(); ++w) {
      uint32_t& n = count[size_t(code_.words[w])];
      n = std::max(n, registers_[w] + 1);
    }
    std::string out;
    for (size_t c = 0; c < 4; ++c) {
      if (count[c]) out += fmt::format("\t.reg {} {}<{}>;\n", class_texts[c].type, class_texts[c].prefix, count[c]);
    }
    for (size_t i = 0; i < saved_.size(); ++i) {
      const ClassText& cls = class_texts[size_t(saved_[i])];
      out += fmt::format("\t.reg {} {}saved{};\n", cls.type, cls.prefix, i);
    }
    return out;
  }

  const Code& code_;
  const std::vector<uint32_t>& registers_;
  FileTable& files_;
  std::vector<uint32_t> order_;
  std::set<uint32_t> targets_;
  std::vector<WordClass> saved_;
  std::string out_;
  Loc last_;
};

}  // namespace

std::string print_code(const Code& code, const std::vector<uint32_t>& registers, FileTable& files) {
  return CodePrinter(code, registers, files).run();
}

}  // namespace tessera::codegen::ptx
