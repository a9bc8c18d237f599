"""Completions of a tool for bash, zsh and fish, of what its help says (tools/gen_command_line.py)."""
import re

FILES = {"FILE", "PATH", "BUNDLE", "LOG"}
FOLDERS = {"DIR"}
PASSES = "$(tessera-opt --list-passes 2>/dev/null | sed -n 's/^\\([a-zA-Z_]\\{1,\\}\\)  .*/\\1/p')"
# Tags of messages, and what -W takes of those that are warnings.
TAGS = "$(tesserac --explain 2>/dev/null | sed 's/ .*//')"
WARNINGS = "error $(tesserac --explain 2>/dev/null | sed -n 's/^\\([^ ]*\\) *(a [a-z]*) .*/\\1 no-\\1 error=\\1/p')"
SHELL_WORDS = {"passes": PASSES, "tags": TAGS, "warnings": WARNINGS}


def is_list(option):
    return option.value.endswith(",...")


def value_kind(option):
    """What completes the value of an option: words, passes, tags, warnings, files, folders, pairs (NAME=FILE) or
    nothing."""
    if option.values():
        return "words"
    name = option.value.removesuffix(",...")
    if name == "PASS":
        return "passes"
    if name == "TAG":
        return "warnings" if option.names[0] == "-W" else "tags"
    if name.endswith("=FILE"):
        return "pairs"
    return "files" if name in FILES else "folders" if name in FOLDERS else "nothing"


# bash: the words of the line are cut at white space, as the shell itself also cuts at `=` and `:`.

BASH_HELPERS = r'''
__tessera_offer() {  # VALUE PREFIX IS_LIST CANDIDATE...
  local value=$1 prefix=$2 list=$3 before= candidate
  shift 3
  if [[ $list == 1 && $value == *,* ]]; then
    before=${value%,*},
  fi
  for candidate; do
    if [[ $before$candidate == "$value"* ]]; then
      COMPREPLY+=("$prefix$before$candidate")
    fi
  done
}
__tessera_paths() {  # VALUE PREFIX KIND, f for files and d for folders
  local path
  while IFS= read -r path; do
    COMPREPLY+=("$2$path")
  done < <(compgen -"$3" -- "$1")
  compopt -o filenames 2>/dev/null
}
__tessera_trim() {  # bash replaces what stands behind the last of its word breaks
  local word=$1 breaks= kept i
  [[ $COMP_WORDBREAKS == *=* ]] && breaks==
  [[ $COMP_WORDBREAKS == *:* ]] && breaks+=:
  if [[ -n $breaks ]]; then
    kept=${word%"${word##*[$breaks]}"}
    for i in "${!COMPREPLY[@]}"; do
      COMPREPLY[i]=${COMPREPLY[i]#"$kept"}
    done
  fi
}
'''


def bash_value(option):
    kind, listed = value_kind(option), int(is_list(option))
    if kind == "words":
        return f'__tessera_offer "$value" "$prefix" {listed} {" ".join(option.values())}'
    if kind in SHELL_WORDS:
        return f'__tessera_offer "$value" "$prefix" {listed} {SHELL_WORDS[kind]}'
    if kind == "pairs":
        return '[[ $value == *=* ]] && __tessera_paths "${value#*=}" "$prefix${value%%=*}=" f'
    if kind == "nothing":
        return ":"
    return f'__tessera_paths "$value" "$prefix" {"f" if kind == "files" else "d"}'


def bash_case(options):
    lines = []
    for option in options:
        if option.value:
            guard = '[[ -z $prefix ]] && return 1; ' if option.joined else ""
            lines.append(f'    {"|".join(option.names)}) {guard}{bash_value(option)} ;;')
    return "\n".join(lines + ["    *) return 1 ;;"])


def bash_scope(function, options, commands):
    names = " ".join(name for option in options for name in option.names)
    words = " ".join(command.names[0] for command in commands)
    offered = f'__tessera_offer "$word" "" 0 {words}' if commands else '__tessera_paths "$word" "" f'
    return f'''
{function}_value() {{
  local option=$1 value=$2 prefix=$3
  case $option in
{bash_case(options)}
  esac
  return 0
}}
{function}() {{
  local word=$1 previous=$2
  if [[ $word == --*=* ]] && {function}_value "${{word%%=*}}" "${{word#*=}}" "${{word%%=*}}="; then
    :
  elif [[ $word == -W* ]] && {function}_value -W "${{word#-W}}" -W; then
    :
  elif [[ $previous == -* ]] && {function}_value "$previous" "$word" ""; then
    :
  elif [[ $word == -* ]]; then
    __tessera_offer "$word" "" 0 {names}
  else
    {offered}
  fi
}}'''


def bash(help, commands):
    function = "_" + help.tool.replace("-", "_")
    scopes = [bash_scope(f"{function}_top", help.options(), help.commands)]
    cases = []
    for command in commands:
        name = command.tool.split()[1]
        scopes.append(bash_scope(f"{function}_{name}", command.options(), []))
        cases.append(f'      {name}) scope={function}_{name}; break ;;')
    choose = ""
    if commands:
        body = "\n".join(cases)
        choose = f'''
  for ((i = 1; i < ${{#words[@]}} - 1; ++i)); do
    case ${{words[i]}} in
{body}
    esac
  done'''
    return f'''# Completion of {help.tool} for bash; made by tools/gen_command_line.py.
{BASH_HELPERS}{"".join(scopes)}
{function}() {{
  local line=${{COMP_LINE:0:COMP_POINT}} scope={function}_top i
  local -a words
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  COMPREPLY=(){choose}
  local word=${{words[-1]}}
  $scope "$word" "${{words[-2]}}"
  __tessera_trim "$word"
}}
complete -F {function} {help.tool}
'''


# zsh: one call of _arguments for each command.

def zsh_quote(text):
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:").replace("'", "'\\''")


def zsh_action(option):
    kind = value_kind(option)
    words = (" ".join(option.values()) if kind == "words"
             else SHELL_WORDS.get(kind, "")).replace(":", "\\:").replace("'", "'\\''")
    if words:
        return f"{{_sequence compadd - {words}}}" if is_list(option) else f"{{compadd - {words}}}"
    if kind == "pairs":
        return "{compset -P '\\''*='\\'' && _files}"
    return {"files": "_files", "folders": "_files -/", "nothing": " "}[kind]


def zsh_option(option):
    name = option.names
    text = f"[{zsh_quote(shortened(option.text))}]"
    repeated = "*" if option.value else ""
    specs = []
    for each in name:
        value = ""
        if option.value:
            separator = "=-" if option.joined else "=" if each.startswith("--") else "+"
            value = f"{separator}{text}:{':' if option.optional else ''}{zsh_quote(option.value)}:{zsh_action(option)}"
        specs.append(f"'{repeated}{each}{value or text}'")
    return specs


def zsh_specs(help):
    return [spec for option in help.options() for spec in zsh_option(option)]


def zsh(help, commands):
    function = "_" + help.tool.replace("-", "_")
    join = " \\\n    "
    head = f"#compdef {help.tool}\n# Completion of {help.tool} for zsh; made by tools/gen_command_line.py.\n\n"
    if not commands:
        specs = join.join(["_arguments -S", *zsh_specs(help), "'*:file:_files'"])
        return head + f"{function}() {{\n  {specs}\n}}\n\n{function} \"$@\"\n"
    cases = "\n".join(f"    {command.tool.split()[1]})\n      " +
                      join.join(["_arguments -S", *zsh_specs(command), "'*:file:_files'"]) + " ;;"
                      for command in commands)
    described = " ".join(f"'{command.names[0]}:{zsh_quote(command.text)}'" for command in help.commands)
    specs = join.join(["_arguments -C -S", *zsh_specs(help), "'1:command:->command'", "'*::argument:->argument'"])
    return head + f'''{function}() {{
  local state line context
  typeset -A opt_args
  {specs}
  if [[ $state == command ]]; then
    local -a commands=({described})
    _describe command commands
    return
  fi
  case $line[1] in
{cases}
  esac
}}

{function} "$@"
'''


# fish: one line for each option.

def shortened(text):
    """The first statement of a text, for a menu."""
    return re.split(r"(?<=\w)[.;] |\((?:default|only with|not with)| One of:", text)[0].strip().rstrip(".;")


def fish_quote(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


FISH_WARNINGS = """(echo error
for form in '' no- error=
tesserac --explain 2>/dev/null | string replace -rf '^(\\S+) +\\(a warning\\) .*' "$form\\$1"
end)"""


def fish_value(option):
    kind = value_kind(option)
    if kind in ("tags", "warnings"):
        words = "(tesserac --explain 2>/dev/null | string replace -r ' .*' '')" if kind == "tags" else FISH_WARNINGS
        return " -x -a " + fish_quote(words)
    if kind in ("words", "passes"):
        passes = "(tessera-opt --list-passes 2>/dev/null | string match -r '^[a-zA-Z_]+(?=  )')"
        words = " ".join(option.values()) if kind == "words" else passes
        if is_list(option):
            return " -x -a " + fish_quote(f"(__fish_complete_list , 'printf %s\\n {words}')" if kind == "words" else
                                          f"(__fish_complete_list , 'tessera-opt --list-passes 2>/dev/null | string "
                                          f"match -r \"^[a-zA-Z_]+(?=  )\"')")
        return (" -f" if option.optional else " -x") + " -a " + fish_quote(words)
    if kind == "folders":
        return " -x -a '(__fish_complete_directories)'"
    return {"files": " -r -F", "pairs": " -r -F", "nothing": " -x"}[kind]


def fish_option(tool, condition, option):
    names = "".join(f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in option.names)
    value = fish_value(option) if option.value and (not option.joined or option.values()) else ""
    return f"complete -c {tool}{condition}{names}{value} -d {fish_quote(shortened(option.text))}"


def fish(help, commands):
    lines = [f"# Completion of {help.tool} for fish; made by tools/gen_command_line.py."]
    top = " -n __fish_use_subcommand" if commands else ""
    lines += [fish_option(help.tool, top, option) for option in help.options()]
    for command in help.commands:
        lines.append(
            f"complete -c {help.tool} -n __fish_use_subcommand -f -a {command.names[0]} -d {fish_quote(command.text)}")
    for command in commands:
        condition = f" -n '__fish_seen_subcommand_from {command.tool.split()[1]}'"
        lines += [fish_option(help.tool, condition, option) for option in command.options()]
    return "\n".join(lines) + "\n"


def scripts(help, commands):
    """shell -> (name of the file, its text)."""
    return {"bash": (help.tool, bash(help, commands)), "zsh": ("_" + help.tool, zsh(help, commands)),
            "fish": (help.tool + ".fish", fish(help, commands))}
