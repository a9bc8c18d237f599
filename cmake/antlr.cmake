# The lexer and parser that ANTLR generates from grammar/, compiled once into their own library.
# Generated code is not ours to tidy: warnings are off, and its headers are seen as system headers.

find_program(ANTLR4 antlr4 REQUIRED)
find_path(ANTLR4_INCLUDE antlr4-runtime.h PATH_SUFFIXES antlr4-runtime REQUIRED)
find_library(ANTLR4_RUNTIME antlr4-runtime REQUIRED)

set(grammar ${CMAKE_SOURCE_DIR}/grammar)
set(generated ${CMAKE_BINARY_DIR}/grammar)
add_custom_command(
  OUTPUT ${generated}/TesseraLexer.cpp ${generated}/TesseraLexer.h ${generated}/TesseraLexer.tokens
  COMMAND ${ANTLR4} -Werror -Dlanguage=Cpp -package tessera::grammar -no-listener -no-visitor
          -o ${generated} TesseraLexer.g4
  DEPENDS ${grammar}/TesseraLexer.g4
  WORKING_DIRECTORY ${grammar}
  COMMENT "Generating the lexer"
  VERBATIM)
add_custom_command(
  OUTPUT ${generated}/TesseraParser.cpp ${generated}/TesseraParser.h
  COMMAND ${ANTLR4} -Werror -Dlanguage=Cpp -package tessera::grammar -no-listener -no-visitor
          -lib ${generated} -o ${generated} TesseraParser.g4
  DEPENDS ${grammar}/TesseraParser.g4 ${generated}/TesseraLexer.tokens
  WORKING_DIRECTORY ${grammar}
  COMMENT "Generating the parser"
  VERBATIM)

add_library(tessera_grammar STATIC ${generated}/TesseraLexer.cpp ${generated}/TesseraLexer.h
                                   ${generated}/TesseraParser.cpp ${generated}/TesseraParser.h)
# ANTLR 4.7 writes u8"..." for char, which C++20 no longer converts.
set_target_properties(tessera_grammar PROPERTIES CXX_STANDARD 17)
target_compile_options(tessera_grammar PRIVATE -w)
target_include_directories(tessera_grammar SYSTEM PUBLIC ${generated} ${ANTLR4_INCLUDE})
target_link_libraries(tessera_grammar PUBLIC ${ANTLR4_RUNTIME})
