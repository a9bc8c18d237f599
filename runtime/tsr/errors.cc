#include "runtime/tsr/errors.h"

#include <unistd.h>

#include <cstdio>

#include "runtime/tsr/terminal.h"
#include "support/render/json.h"

namespace tessera::tool {

void Errors::print(const Diagnostic& diagnostic) const {
  std::fwrite(prelude_.data(), 1, prelude_.size(), stderr);
  std::string head = error_style().bold_red("error:");
  std::string tag = diag_tag(diagnostic.id);
  std::fprintf(stderr, "tsr: %s %s [%s]\n", head.c_str(), diagnostic.message.c_str(), tag.c_str());
  for (const std::string& help : diagnostic.helps) std::fprintf(stderr, "help: %s\n", help.c_str());
}

void Errors::warn(std::string_view text) const {
  if (is_json_) return;
  std::fwrite(prelude_.data(), 1, prelude_.size(), stderr);
  std::fprintf(stderr, "tsr: warning: %s\n", format::printable(text).c_str());
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
