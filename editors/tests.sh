#!/usr/bin/env bash
# Tests the configurations for Neovim and Emacs: colours, indentation, formatting, that they load without a warning.
# Usage: editors/tests.sh neovim|emacs|helix BUILD_DIR   exits with 77, which counts as skipped, where the editor is
#                                                        missing; of Helix, whose format is TOML, the file alone is read
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
PATH=$(cd "$2" && pwd)/bin:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work XDG_CONFIG_HOME=$work XDG_DATA_HOME=$work XDG_STATE_HOME=$work XDG_CACHE_HOME=$work

case $1 in
  neovim)
    command -v nvim >/dev/null || { echo "skipped: needs Neovim (tools/setup.sh --editors)"; exit 77; }
    TESSERA_ROOT=$root timeout 100 nvim --headless -u NONE -i NONE --cmd "set rtp^=$root/editors/neovim noswapfile" \
      --cmd 'filetype plugin indent on' --cmd 'syntax on' -S "$root/editors/neovim/tests/test.lua"
    ;;
  emacs)
    command -v emacs >/dev/null || { echo "skipped: needs Emacs (tools/setup.sh --editors)"; exit 77; }
    cp "$root"/editors/emacs/*.el "$work"
    (cd "$work" && timeout 100 emacs -Q --batch -L . --eval '(setq byte-compile-error-on-warn t)' \
      -f batch-byte-compile tessera-words.el tessera-mode.el tessera-stages.el)
    timeout 100 emacs -Q --batch -L "$work" -l "$root/editors/emacs/tests/tessera-mode-test.el" \
      -f ert-run-tests-batch-and-exit
    ;;
  helix)
    /usr/bin/python3 - "$root/editors/helix" <<'EOF'
import pathlib, sys, tomllib
folder = pathlib.Path(sys.argv[1])
settings = tomllib.loads((folder / "languages.toml").read_text())
(language,) = settings["language"]
assert language["name"] == "tessera" and language["file-types"] == ["tsr"], language
assert language["comment-token"] == "#", language
assert language["formatter"] == {"command": "tessera-fmt", "args": ["-"]}, language
for server in language["language-servers"]:
    assert settings["language-server"][server]["command"] == "tessera-lsp", settings
for query in (folder / "queries/tessera").iterdir():
    assert query.read_text() == f"; inherits: {language['grammar']}\n", query
EOF
    ;;
  *) echo "usage: editors/tests.sh neovim|emacs|helix BUILD_DIR" >&2; exit 1 ;;
esac
