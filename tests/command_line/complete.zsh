# Prints what zsh would offer for a line: zsh -f complete.zsh FOLDER LINE CACHE
# An interactive zsh in a pseudoterminal gets the line and a tab; there compadd, the builtin that takes candidates,
# is replaced by a function that prints them.
zmodload zsh/zpty || exit 1

zpty offers zsh -f -i
() {
  zpty -w offers "source $1"
  repeat 40; do
    zpty -r -m offers REPLY '*__READY__*' && break
  done
} =( <<< "
PROMPT= RPROMPT=
setopt rcquotes nolistambiguous
stty -echo 2>/dev/null
fpath=(${(q)1} \$fpath)
autoload -Uz compinit
compinit -u -C -d ${(q)3}
bindkey '^M' undefined
bindkey '^J' undefined
bindkey '^I' complete-word
null-line() { print -r - __BEGIN__ }
compprefuncs=( null-line )
ending() { print -r - __END__; exit }
comppostfuncs=( ending )
zstyle ':completion:*' list-grouped false
zstyle ':completion:*' insert-tab false
zstyle ':completion:*' list-separator ''
compadd() {
  # What is only looked up or stored is none of the candidates.
  if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
    builtin compadd \"\$@\"
    return \$?
  fi
  local -a found
  local prefix suffix
  builtin compadd -A found \"\$@\"
  zparseopts -E -a ignored P:=prefix_given S:=suffix_given f=is_file
  for word in \$found; do
    if [[ -n \$is_file && -d \$word ]]; then word+=/; fi
    print -r - __WORD__\$IPREFIX\${prefix_given[2]}\$word
  done
  builtin compadd \"\$@\"
}
print -r - __READY__
" )

zpty -w offers "$2"$'\t'
integer tries=0
local reply
while (( tries++ < 400 )); do
  zpty -r offers reply || break
  reply=${reply%%$'\r'#$'\n'}
  if [[ $reply == *__END__* ]]; then
    break
  fi
  if [[ $reply == *__WORD__* ]]; then
    print -r - ${reply##*__WORD__}
  fi
done
zpty -d offers
exit 0
