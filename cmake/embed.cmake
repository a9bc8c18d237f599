# Embeds text files into a C++ source: cmake -DOUTPUT=x.cc -DROOT=dir -DFILES=a;b -DHEADER=h -DNAMESPACE=n -DTYPE=T
# -DFUNCTION=f -P embed.cmake
# HEADER declares struct n::T of path (below ROOT) and text, and f, which returns a span of all files.
set(rows "")
foreach(file IN LISTS FILES)
  file(RELATIVE_PATH name ${ROOT} ${file})
  file(READ ${file} text)
  # A string literal has a length limit in some compilers, so the text is cut into pieces.
  string(LENGTH "${text}" length)
  set(pieces "")
  set(position 0)
  while(position LESS length)
    string(SUBSTRING "${text}" ${position} 8000 piece)
    string(APPEND pieces "\n     R\"tsr(${piece})tsr\"")
    math(EXPR position "${position} + 8000")
  endwhile()
  if(pieces STREQUAL "")
    set(pieces "\"\"")
  endif()
  string(APPEND rows "    {\"${name}\",${pieces}},\n")
endforeach()
set(content "// Made by cmake/embed.cmake.\n#include \"${HEADER}\"\n
#include <iterator>\n
namespace ${NAMESPACE} {\n
namespace {
constexpr ${TYPE} files[] = {
${rows}    {\"\", \"\"},
};
}  // namespace\n
std::span<const ${TYPE}> ${FUNCTION}() { return {files, std::size(files) - 1}; }\n
}  // namespace ${NAMESPACE}\n")
file(WRITE ${OUTPUT} "${content}")
