#include "runtime/tsr/errors.h"

#include <unistd.h>

#include <cstdio>

#include "runtime/tsr/terminal.h"
#include "support/render/json.h"

namespace tessera::tool {

void Errors::print(std::string_view text, std::string_view help) {
  std::string head = error_style().bold_red("error:");
  std::fprintf(stderr, "tsr: %s %.*s\n", head.c_str(), int(text.size()), text.data());
  if (!help.empty()) std::fprintf(stderr, "%.*s\n", int(help.size()), help.data());
}

void Errors::show() {
  const std::vector<Diagnostic>& all = engine_.all();
  for (; shown_ < all.size(); ++shown_) {
    if (is_json_) continue;
    std::string text = render(all[shown_], sources_, render_options(STDERR_FILENO));
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
}

void Errors::finish() const {
  if (!is_json_) return;
  std::string lines = to_json_lines(engine_);
  std::fwrite(lines.data(), 1, lines.size(), stderr);
}

Errors& errors() {
  static Errors all;
  return all;
}

}  // namespace tessera::tool
