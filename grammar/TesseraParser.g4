// The grammar of one top-level statement of Tessera.
//
// The parser sees tokens after preprocessing and layout: brackets are balanced, blocks are INDENT …
// DEDENT, and names that act as keywords (`module`, `on`, …) have been separated from plain names.
// Decisions need one token of lookahead, two at trailing commas.
//
// Operators are one flat rule; their precedence is a table in ast_builder. That keeps the parse tree
// shallow, however long a chain of operators is. Likewise assignment targets, keyword arguments and
// dictionary entries are read as expressions, and the builder says when one is not fit for its place.

parser grammar TesseraParser;

options { tokenVocab = TesseraLexer; }

declaration : statement EOF ;

statement
  : decorators? (defStatement | moduleStatement)
  | ifStatement
  | forStatement
  | whileStatement
  | withStatement
  | onStatement
  | simpleLine
  | brokenLine
  ;

// A line with an error that layout has reported; Error stands first.
brokenLine : ERROR ~NEWLINE* NEWLINE ;

simpleLine : simpleStatement (SEMICOLON simpleStatement)* SEMICOLON? NEWLINE ;

simpleStatement
  : importStatement
  | fromImportStatement
  | constStatement
  | paramStatement
  | dimStatement
  | returnStatement
  | passStatement
  | expressionStatement
  ;

// What may follow a simpleLine here occurs only after an error: layout has looked at the line without
// parsing it and took another colon for the one that begins the block.
block
  : COLON ( simpleLine (INDENT statement+ DEDENT | MISSING_BLOCK)?
          | NEWLINE (INDENT statement+ DEDENT | MISSING_BLOCK)
          )
  ;

// Declarations.

decorators : (decorator+ NEWLINE)+ ;
decorator : AT dottedName (LPAREN arguments? RPAREN)? ;

defStatement
  : DEF NAME LPAREN parameters? RPAREN (ARROW result)? whereClause? block
  ;
result : annotation effects? | effects ;
effects : BANG LBRACE (expression (COMMA expression)* COMMA?)? RBRACE ;
whereClause : WHERE expression (COMMA expression)* ;
moduleStatement : MODULE NAME (LPAREN parameters? RPAREN)? whereClause? block ;

parameters : parameter (COMMA parameter)* COMMA? ;
parameter : STAR | NAME (COLON annotation)? (ASSIGN expression)? ;
lambdaParameters : lambdaParameter (COMMA lambdaParameter)* COMMA? ;
lambdaParameter : STAR | NAME (ASSIGN expression)? ;
annotation : (REGION LBRACKET subscripts RBRACKET)? expression ;

constStatement : CONST NAME (COLON annotation)? ASSIGN expressionList ;
paramStatement : PARAM nameList (COLON annotation)? (ASSIGN expression)? ;
dimStatement : DIM nameList ;
nameList : NAME (COMMA NAME)* ;

importStatement : IMPORT importItem (COMMA importItem)* ;
importItem : dottedName (AS NAME)? ;
fromImportStatement
  : FROM dottedName IMPORT (importedNames | LPAREN importedNames COMMA? RPAREN)
  ;
importedNames : importedName (COMMA importedName)* ;
importedName : NAME (AS NAME)? ;
dottedName : NAME (DOT NAME)* ;

// Statements.

ifStatement : IF expression block (ELIF expression block)* (ELSE block)? ;
forStatement : FOR targets IN expressionList block ;
whileStatement : WHILE expression block ;
withStatement : WITH withItem (COMMA withItem)* block ;
withItem : expression (AS postfix)? ;
onStatement
  : ON expression (block | (SEMICOLON simpleStatement)* SEMICOLON? NEWLINE)
  ;
returnStatement : RETURN expressionList? ;
passStatement : PASS ;
expressionStatement
  : expressionList (COLON annotation (ASSIGN expressionList)?
                   | augmentedAssign expressionList
                   | (ASSIGN expressionList)+
                   )?
  ;
augmentedAssign
  : PLUS_ASSIGN | MINUS_ASSIGN | STAR_ASSIGN | SLASH_ASSIGN | FLOOR_ASSIGN | PERCENT_ASSIGN
  | AT_ASSIGN | POWER_ASSIGN | LEFT_ASSIGN | RIGHT_ASSIGN | AMP_ASSIGN | CARET_ASSIGN | BAR_ASSIGN
  ;

// Expressions.

expressionList : expression (COMMA expression)* COMMA? ;
targets : postfix (COMMA postfix)* COMMA? ;

expression
  : LAMBDA lambdaParameters? COLON expression
  | operation (IF operation ELSE expression)?
  ;
operation : operand (binaryOperator operand)* ;
operand : (PLUS | MINUS | TILDE | NOT)* postfix ;
binaryOperator
  : PLUS | MINUS | STAR | SLASH | FLOOR | PERCENT | AT | POWER | LEFT_SHIFT | RIGHT_SHIFT
  | AMP | CARET | BAR | EQUAL | NOT_EQUAL | LESS | LESS_EQUAL | GREATER | GREATER_EQUAL
  | IN | NOT IN | IS NOT? | AND | OR
  ;

postfix : atom trailer* ;
trailer
  : DOT NAME
  | LPAREN arguments? RPAREN
  | LBRACKET subscripts RBRACKET
  ;

arguments : argument (COMMA argument)* COMMA? ;
argument : expression (ASSIGN expression | comprehensionClause+)? ;

subscripts : subscript (COMMA subscript)* COMMA? ;
subscript
  : expression slice?
  | slice
  ;
slice : COLON expression? (COLON expression?)? ;

atom
  : NAME
  | INTEGER
  | FLOAT
  | STRING+
  | TRUE
  | FALSE
  | NONE
  | ELLIPSIS
  | LPAREN elements? RPAREN
  | LBRACKET elements? RBRACKET
  | LBRACE entries? RBRACE
  ;
elements : expression (comprehensionClause+ | (COMMA expression)* COMMA?) ;
entries : entry (comprehensionClause+ | (COMMA entry)* COMMA?) ;
entry : expression (COLON expression)? ;
comprehensionClause : FOR targets IN operation (IF operation)* ;
