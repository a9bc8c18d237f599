// Tokens of Tessera.
//
// Every byte of a file lands in exactly one token, white space and comments included, and each rule
// that can fail has a twin that matches the broken form, so the lexer itself never reports an error.
// The character stream gives bytes, with every byte from 0x80 up as U+007F (and a real 0x7F as
// U+0000): outside ASCII the lexer needs to know only "part of a longer character", and tables of
// 128 entries stay fast. What is not ASCII may stand in strings and comments alone.

lexer grammar TesseraLexer;

// Made by later phases: layout, names promoted to keywords where they act as such, and Error for
// what has been reported already.
tokens {
  INDENT, DEDENT, MISSING_BLOCK, ERROR,
  CONST, DIM, MODULE, ON, PARAM, REGION, WHERE
}

AND : 'and' ;
AS : 'as' ;
DEF : 'def' ;
ELIF : 'elif' ;
ELSE : 'else' ;
FALSE : 'False' ;
FOR : 'for' ;
FROM : 'from' ;
IF : 'if' ;
IMPORT : 'import' ;
IN : 'in' ;
IS : 'is' ;
LAMBDA : 'lambda' ;
NONE : 'None' ;
NOT : 'not' ;
OR : 'or' ;
PASS : 'pass' ;
RETURN : 'return' ;
TRUE : 'True' ;
WHILE : 'while' ;
WITH : 'with' ;

NAME : [A-Za-z_] [A-Za-z_0-9]* ;

INTEGER
  : '0' ('_'? '0')*
  | [1-9] ('_'? [0-9])*
  | '0' [xX] ('_'? [0-9a-fA-F])+
  | '0' [bB] ('_'? [01])+
  ;
FLOAT
  : DIGITS '.' DIGITS? EXPONENT?
  | '.' DIGITS EXPONENT?
  | DIGITS EXPONENT
  ;
BAD_NUMBER : [0-9] [0-9A-Za-z_]* ;
fragment DIGITS : [0-9] ('_'? [0-9])* ;
fragment EXPONENT : [eE] [+\-]? DIGITS ;

STRING
  : '"' (ESCAPE | ~["\\\r\n])* '"'
  | '\'' (ESCAPE | ~['\\\r\n])* '\''
  | '"""' LONG_DOUBLE '"""'
  | '\'\'\'' LONG_SINGLE '\'\'\''
  ;
UNTERMINATED_STRING
  : '"' (ESCAPE | ~["\\\r\n])*
  | '\'' (ESCAPE | ~['\\\r\n])*
  | '"""' LONG_DOUBLE ('"' '"'?)?
  | '\'\'\'' LONG_SINGLE ('\'' '\''?)?
  ;
fragment ESCAPE : '\\' ('\r\n' | .) ;
fragment LONG_DOUBLE : (('"' '"'?)? (ESCAPE | ~["\\]))* ;
fragment LONG_SINGLE : (('\'' '\''?)? (ESCAPE | ~['\\]))* ;

ELLIPSIS : '...' ;
ARROW : '->' ;
POWER_ASSIGN : '**=' ;
FLOOR_ASSIGN : '//=' ;
LEFT_ASSIGN : '<<=' ;
RIGHT_ASSIGN : '>>=' ;
PLUS_ASSIGN : '+=' ;
MINUS_ASSIGN : '-=' ;
STAR_ASSIGN : '*=' ;
SLASH_ASSIGN : '/=' ;
PERCENT_ASSIGN : '%=' ;
AT_ASSIGN : '@=' ;
AMP_ASSIGN : '&=' ;
CARET_ASSIGN : '^=' ;
BAR_ASSIGN : '|=' ;
POWER : '**' ;
FLOOR : '//' ;
LEFT_SHIFT : '<<' ;
RIGHT_SHIFT : '>>' ;
EQUAL : '==' ;
NOT_EQUAL : '!=' ;
LESS_EQUAL : '<=' ;
GREATER_EQUAL : '>=' ;
LESS : '<' ;
GREATER : '>' ;
PLUS : '+' ;
MINUS : '-' ;
STAR : '*' ;
SLASH : '/' ;
PERCENT : '%' ;
AT : '@' ;
AMP : '&' ;
CARET : '^' ;
BAR : '|' ;
TILDE : '~' ;
BANG : '!' ;
ASSIGN : '=' ;
LPAREN : '(' ;
RPAREN : ')' ;
LBRACKET : '[' ;
RBRACKET : ']' ;
LBRACE : '{' ;
RBRACE : '}' ;
COMMA : ',' ;
COLON : ':' ;
SEMICOLON : ';' ;
DOT : '.' ;

NEWLINE : '\r'? '\n' ;
SPACE : [ \t]+ ;
COMMENT : '#' ~[\r\n]* ;
CONTINUATION : '\\' '\r'? '\n' ;
NON_ASCII : '\u007F'+ ;
UNKNOWN : . ;
