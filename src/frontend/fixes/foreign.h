#pragma once
// The names that other languages and tensor libraries use for functions of this one.

#include <string>
#include <string_view>

namespace tessera::frontend {

/// How to say what a method or member of tensors says elsewhere; `x` is the tensor. Empty for an unknown name.
std::string help_for_member(std::string_view name, std::string_view x);
/// The same of methods of lists; `parts` is the list.
std::string help_for_list(std::string_view name, std::string_view parts);
/// The same of a name that stands alone; empty for an unknown one.
std::string_view help_for_name(std::string_view name);
/// Whether a name is what packages of other languages are imported as: `np`, `torch`, `F`, `tl`.
bool is_package(std::string_view name);
/// The page for those who come from that package.
std::string_view migration_page(std::string_view package);
/// What a dtype of another language is here: "f32" for "float32" and "torch.float32"; empty for a name of none.
std::string_view dtype_here(std::string_view foreign);
/// Of a keyword argument that no function here takes.
std::string_view help_for_keyword(std::string_view callee, std::string_view keyword);
/// Of a member of a tile.
std::string help_for_tile_member(std::string_view name, std::string_view x);
/// Of a member of `tile`.
std::string_view help_for_tile(std::string_view name);
/// The keyword argument that means the same here; empty when there is none.
std::string_view keyword_here(std::string_view keyword);
/// Of a module that an import names; empty when it is no package of Python.
std::string help_for_import(std::string_view dotted);
/// Of a decorator by its dotted name.
std::string_view help_for_decorator(std::string_view dotted);

}  // namespace tessera::frontend
