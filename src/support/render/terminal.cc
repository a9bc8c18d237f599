#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "support/diagnostic.h"

namespace tessera {

RenderOptions render_options(int descriptor) {
  RenderOptions options;
  const char* term = std::getenv("TERM");
  if (!::isatty(descriptor)) return options;
  const char* no_colour = std::getenv("NO_COLOR");
  bool is_dumb = term && std::string_view(term) == "dumb";
  options.colour = !is_dumb && !(no_colour && *no_colour);
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) options.width = size.ws_col;
  return options;
}

}  // namespace tessera
