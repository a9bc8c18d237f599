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

function! s:Code(lnum) abort
  return substitute(getline(a:lnum), '\v("[^"]*"|''[^'']*''|#.*$)', "", "g")
endfunction

" How many brackets a line opens more than it closes.
function! s:Opened(code) abort
  return strlen(substitute(a:code, "[^([{]", "", "g")) - strlen(substitute(a:code, "[^])}]", "", "g"))
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
  let l:above = prevnonblank(a:lnum - 1)
  if l:above == 0
    return 0
  endif
  if getline(a:lnum) =~# '\v^\s*(elif|else)>'
    return s:BranchIndent(l:above)
  endif
  let l:code = s:Code(l:above)
  let l:indent = indent(l:above)
  let l:open = s:Opened(l:code)
  if l:open > 0
    let l:column = match(l:code, '[([{]\ze[^])}]*$')
    let l:ends = l:code =~# '[([{]\s*$'
    let l:indent = l:ends ? l:indent + shiftwidth() : l:column + 1
    return getline(a:lnum) =~# '^\s*[])}]' ? indent(l:above) : l:indent
  endif
  if l:open < 0
    " The line that opened the brackets has the indentation of the statement.
    let l:depth = l:open
    while l:depth < 0 && l:above > 1
      let l:above -= 1
      let l:depth += s:Opened(s:Code(l:above))
    endwhile
    let l:indent = indent(l:above)
  endif
  if l:code =~# ':\s*$'
    return l:indent + shiftwidth()
  endif
  return l:code =~# '\v^\s*(return|pass)>' ? max([0, l:indent - shiftwidth()]) : l:indent
endfunction
