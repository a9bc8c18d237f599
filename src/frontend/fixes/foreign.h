#pragma once
// The names that other languages and tensor libraries use for functions of this one.

#include <span>
#include <string>
#include <string_view>

namespace tessera::frontend {

/// How to say what a method or member of tensors says elsewhere; `x` is the tensor. Empty for an unknown name.
std::string help_for_member(std::string_view name, std::string_view x);
/// The function that a member of tensors is: "reshape" for "view"; its own name for most.
std::string_view function_here(std::string_view member);
/// Whether a member of tensors converts or moves them elsewhere: `astype`, `half`.
bool is_conversion(std::string_view member);
/// The dtype that such a call converts to: "bf16" for `to` and "torch.bfloat16"; empty where it names none.
std::string_view converted_to(std::string_view member, std::string_view argument);
/// The same of methods of lists; `parts` is the list.
std::string help_for_list(std::string_view name, std::string_view parts);
/// Whether such a method makes a list longer.
bool lengthens(std::string_view name);
/// The same of tuples and of texts.
std::string_view help_for_tuple(std::string_view name);
std::string_view help_for_string(std::string_view name);
/// The same of a name that stands alone; empty for an unknown one.
std::string_view help_for_name(std::string_view name);
/// Whether a name is one of CUDA C++.
bool is_of_cuda(std::string_view name);
/// Of a function that has another meaning in packages than the one of that name here; empty for any other.
std::string_view help_for_differing(std::string_view name);
/// The value of a constant of packages: "INF" for "inf"; empty for an unknown name.
std::string_view constant_here(std::string_view foreign);
/// Of a dtype that is not there: "complex64"; empty for any other name.
std::string_view help_for_dtype(std::string_view foreign);
/// Of a type of Python or of its packages: "Optional", "np.ndarray".
std::string_view help_for_type(std::string_view foreign);
/// Of a clause of a function of the library that does not hold, where functions of that name elsewhere ask for less.
std::string_view help_for_clause(std::string_view clause, std::string_view callee);
/// Of tensors that a call gives one by one: concat(x, y).
constexpr std::string_view several_tensors = "several tensors are one argument, a tuple: (x, y)";
/// How a loop takes the rows of a tensor.
std::string_view help_for_rows();
/// Of a text that an argument is elsewhere: padding="same".
std::string_view help_for_text(std::string_view parameter, std::string_view text);
/// Whether a name is what packages of other languages are imported as: `np`, `torch`, `F`, `tl`.
bool is_package(std::string_view name);
/// The page for those who come from that package.
std::string_view migration_page(std::string_view package);
/// What a dtype of another language is here: "f32" for "float32" and "torch.float32"; empty for a name of none.
std::string_view dtype_here(std::string_view foreign);
/// Of a keyword argument that no function here takes; of "" one argument too many.
std::string_view help_for_keyword(std::string_view callee, std::string_view keyword);
/// Of a member of a tile.
std::string help_for_tile_member(std::string_view name, std::string_view x);
/// Of a member of `tile`.
std::string_view help_for_tile(std::string_view name);
/// The one of the parameters that means what a keyword argument means elsewhere; empty when there is none.
std::string_view keyword_here(std::string_view keyword, std::span<const std::string> parameters);
/// Of a module that an import names; empty when it is no package of Python.
std::string help_for_import(std::string_view dotted);
/// Of a decorator by its dotted name.
std::string_view help_for_decorator(std::string_view dotted);

}  // namespace tessera::frontend
