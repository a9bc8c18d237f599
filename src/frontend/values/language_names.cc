#include "frontend/values/language_names.h"

#include "frontend/binding/words.h"
#include "frontend/values/builtins.h"
#include "frontend/values/check_numerics.h"
#include "frontend/values/embedded.h"
#include "frontend/values/tile_builtins.h"

namespace tessera::frontend {

namespace {

names::NameSet names_of(std::span<const Builtin> table) {
  names::NameSet names;
  for (const Builtin& builtin : table) names.insert(builtin.name);
  return names;
}

names::NameSet common_names() {
  names::NameSet names = names_of(common_builtins());
  for (const names::AliasRow& alias : names::aliases()) names.emplace(alias.text);
  for (names::WordKind kind : {names::WordKind::Device, names::WordKind::Constant}) {
    for (std::string& word : names::words_of(kind)) names.insert(std::move(word));
  }
  for (std::string_view dtype : dtype_names()) names.emplace(dtype);
  return names;
}

}  // namespace

const names::NameSet& language_names(std::string_view space) {
  static const names::NameSet common = common_names(), tile = names_of(tile_builtins()), none;
  return space == "ops" ? common : space == tile_table ? tile : none;
}

const names::NameSet& library_modules() {
  static const names::NameSet modules = [] {
    constexpr std::string_view extension = ".tsr";
    names::NameSet found;
    for (const EmbeddedFile& file : embedded_files()) {
      bool is_module = file.path.ends_with(extension) && file.path.find('/') == std::string_view::npos;
      if (is_module) found.emplace(file.path.substr(0, file.path.size() - extension.size()));
    }
    return found;
  }();
  return modules;
}

}  // namespace tessera::frontend
