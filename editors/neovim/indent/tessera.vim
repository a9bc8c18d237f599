" Indentation of Tessera: deeper behind a colon and in open brackets, back behind return and pass.
if exists("b:did_indent")
  finish
endif
let b:did_indent = 1

setlocal indentexpr=TesseraIndent(v:lnum)
setlocal indentkeys=0),0],0},!^F,o,O,<:>,0=else,0=elif
setlocal autoindent nosmartindent

let b:undo_indent = "setlocal indentexpr< indentkeys< autoindent< smartindent<"

if exists("*TesseraIndent")
  finish
endif

function! s:InText() abort
  return synIDattr(synID(line("."), col("."), 1), "name") =~# 'tessera\%(String\|Comment\|Escape\)'
endfunction

" The bracket that is open where a line begins; [0, 0] if none is.
function! s:OpenBracket(lnum) abort
  call cursor(a:lnum, 1)
  return searchpairpos("[([{]", "", "[])}]", "bnW", "s:InText()", max([1, a:lnum - 300]))
endfunction

" The line that the statement on a line begins with.
function! s:Statement(lnum) abort
  let l:lnum = a:lnum
  while 1
    let l:open = s:OpenBracket(l:lnum)[0]
    if l:open == 0
      return l:lnum
    endif
    let l:lnum = l:open
  endwhile
endfunction

" That of the `if` which an `elif` or `else` behind a line belongs to.
function! s:BranchIndent(above) abort
  let l:least = indent(a:above) + 1
  let l:lnum = a:above
  while l:lnum > 0
    if indent(l:lnum) < l:least && getline(l:lnum) =~# '\S'
      if getline(l:lnum) =~# '\v^\s*(if|elif)>' && (l:lnum == a:above || indent(l:lnum) < indent(a:above))
        return indent(l:lnum)
      endif
      let l:least = indent(l:lnum) + 1
    endif
    let l:lnum -= 1
  endwhile
  return indent(a:above)
endfunction

function! TesseraIndent(lnum) abort
  let l:open = s:OpenBracket(a:lnum)
  if l:open[0] > 0
    if strpart(getline(l:open[0]), l:open[1]) !~# '^\s*\%(#.*\)\?$'
      return l:open[1]
    endif
    let l:indent = indent(s:Statement(l:open[0]))
    return getline(a:lnum) =~# '^\s*[])}]' ? l:indent : l:indent + shiftwidth()
  endif
  let l:above = prevnonblank(a:lnum - 1)
  if l:above == 0
    return 0
  endif
  if getline(a:lnum) =~# '\v^\s*(elif|else)>'
    return s:BranchIndent(l:above)
  endif
  let l:first = s:Statement(l:above)
  let l:indent = indent(l:first)
  if getline(l:above) =~# ':\s*\%(#.*\)\?$' && getline(l:above) !~# '^\s*#'
    return l:indent + shiftwidth()
  endif
  " What is written back already ends its block.
  let l:here = indent(a:lnum)
  if getline(a:lnum) =~# '\S' && l:here < l:indent && l:here % shiftwidth() == 0
    return l:here
  endif
  return getline(l:first) =~# '\v^\s*(return|pass)>' ? max([0, l:indent - shiftwidth()]) : l:indent
endfunction
