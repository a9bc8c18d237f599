" Editing rules of Tessera: four spaces, comments with #, gq by tessera-fmt.
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1

setlocal expandtab shiftwidth=4 softtabstop=4 tabstop=8
setlocal textwidth=100
setlocal commentstring=#\ %s comments=b:#
setlocal suffixesadd=.tsr
setlocal include=^\\s*\\%(%include\\\|from\\\|import\\)
setlocal define=^\\s*\\%(def\\\|module\\\|const\\\|param\\\|dim\\)\\>
setlocal foldmethod=indent foldlevel=99

" Formats the lines that gq or = names, or the whole file. The cursor stays.
function! s:Format(first, last) abort
  if !executable("tessera-fmt")
    echohl ErrorMsg | echo "tessera-fmt is not on the PATH" | echohl None
    return
  endif
  let l:view = winsaveview()
  let l:range = "--range=" . a:first . ":" . a:last
  let l:name = empty(expand("%:t")) ? "" : "--stdin-name=" . shellescape(expand("%:t"))
  let l:lines = systemlist("tessera-fmt - " . l:name . " " . l:range, getline(1, "$"))
  if v:shell_error
    echohl ErrorMsg | echo join(l:lines, "\n") | echohl None
  elseif l:lines !=# getline(1, "$")
    call setline(1, l:lines)
    if line("$") > len(l:lines)
      execute "silent keepjumps " . (len(l:lines) + 1) . ",$delete _"
    endif
  endif
  call winrestview(l:view)
endfunction

function! TesseraFormatExpr() abort
  if mode() =~# "[iR]"
    return 1 " while typing: Vim's own wrapping
  endif
  call s:Format(v:lnum, v:lnum + v:count - 1)
  return 0
endfunction

setlocal formatexpr=TesseraFormatExpr()
command! -buffer -range=% TesseraFormat call s:Format(<line1>, <line2>)

let b:undo_ftplugin = "setlocal et< sw< sts< ts< tw< cms< com< sua< inc< def< fdm< fdl< fex<"
      \ . " | delcommand TesseraFormat"
