#!/usr/bin/env bash
# Tests tessera-lsp with real clients.
# Usage: tests/lsp/clients.sh neovim|emacs|npm BUILD_DIR   exits with 77, which counts as skipped, where the client is
# missing
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work XDG_CONFIG_HOME=$work XDG_DATA_HOME=$work XDG_STATE_HOME=$work XDG_CACHE_HOME=$work
export TESSERA_BUILD=$build

case $1 in
  neovim)
    command -v nvim >/dev/null || { echo "skipped: needs Neovim (tools/setup.sh --editors)"; exit 77; }
    timeout 100 nvim --headless -u NONE -i NONE --cmd 'set noswapfile' -S "$root/tests/lsp/neovim.lua"
    ;;
  emacs)
    # Debian's packages of Emacs Lisp, which -Q leaves out.
    start=(emacs -Q --batch
           --eval "(setq package-directory-list '(\"/usr/share/emacs/site-lisp/elpa\"))" -f package-initialize)
    "${start[@]}" --eval "(require 'eglot)" >/dev/null 2>&1 ||
      { echo "skipped: needs Emacs with eglot (tools/setup.sh --editors)"; exit 77; }
    timeout 100 "${start[@]}" -l "$root/tests/lsp/eglot-test.el" -f ert-run-tests-batch-and-exit
    ;;
  npm)
    command -v node >/dev/null || { echo "skipped: needs Node"; exit 77; }
    timeout 100 node "$root/tests/lsp/protocol.js" "$build" "$root/editors/vscode/node_modules"
    ;;
  *) echo "usage: tests/lsp/clients.sh neovim|emacs|npm BUILD_DIR" >&2; exit 1 ;;
esac
