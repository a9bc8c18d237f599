# Embeds text files into a C++ source: cmake -DOUTPUT=x.cc -DROOT=dir -DFILES=a;b -P embed.cmake
# Each file is found at run time by its path below ROOT (src/frontend/embedded.h).
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
set(content "// Made by cmake/embed.cmake.\n#include \"frontend/embedded.h\"\n
namespace tessera::frontend {\n
namespace {
constexpr EmbeddedFile files[] = {
${rows}    {\"\", \"\"},
};
}  // namespace\n
std::span<const EmbeddedFile> embedded_files() { return {files, std::size(files) - 1}; }\n
}  // namespace tessera::frontend\n")
file(WRITE ${OUTPUT} "${content}")
