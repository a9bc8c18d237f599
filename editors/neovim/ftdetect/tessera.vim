autocmd BufNewFile,BufRead *.tsr setfiletype tessera
