#pragma once
// The stages of lowering that can be shown beside the source.

#include <string_view>

namespace tessera::lsp {

struct Stage {
  std::string_view title;
  std::string_view command;  ///< of editors/vscode, and of workspace/executeCommand
  std::string_view dump;     ///< of tesserac --dump
};

inline constexpr Stage stages[] = {
    {"Graph", "tessera.showGraph", "graph"},    {"Schedule", "tessera.showSchedule", "sched"},
    {"Tile", "tessera.showTile", "tile"},       {"Target", "tessera.showTarget", "target"},
    {"PTX or assembly", "tessera.showCode", ""},
};

}  // namespace tessera::lsp
