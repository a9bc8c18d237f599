#!/usr/bin/env bash
# Makes the documentation site, static pages that are read without a server and without a network.
# Usage: tools/docs.sh [--open] [FOLDER]   (FOLDER: build/docs when not given; its first page is index.html)
#   --open   shows it in a browser then
# What needs packages of Debian that are missing names them; tools/setup.sh --docs installs them.
set -euo pipefail

show=false
folder=
for argument in "$@"; do
  case $argument in
    -h | --help) sed -n '2,5s/^# //p' "$0"; exit ;;
    --open) show=true ;;
    -*) echo "tools/docs.sh: there is no option $argument; --help says which there are" >&2; exit 2 ;;
    *)
      [ -z "$folder" ] || { echo "tools/docs.sh: one folder, not $folder and $argument" >&2; exit 2; }
      folder=$(realpath -m "$argument")
      ;;
  esac
done
cd "$(dirname "$0")/.."
folder=${folder:-$PWD/build/docs}

# Debian's Python has Debian's packages, also where another one comes first in PATH.
python=/usr/bin/python3
[ -x "$python" ] || python=python3
missing=()
for module in sphinx:python3-sphinx furo:furo myst_parser:python3-myst-parser; do
  "$python" -c "import ${module%%:*}" 2>/dev/null || missing+=("${module##*:}")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "tools/docs.sh: not installed: ${missing[*]}" >&2
  echo "  apt-get install --no-install-recommends ${missing[*]}   (or: tools/setup.sh --docs)" >&2
  exit 77
fi

faults=0
# Each page has the sidebar, so all are written where the order of navigation changed.
index=$folder.pages/source/index.md
before=$(cat "$index" 2>/dev/null || true)
"$python" tools/site/stage.py "$folder.pages" || faults=$?
all=()
[ "$before" = "$(cat "$index")" ] || all=(-a)
"$python" -m sphinx -b html -c tools/site -d "$folder.pages/doctrees" -j auto -q -W --keep-going "${all[@]}" \
  "$folder.pages/source" "$folder" || faults=$?
rm -rf "$folder/repository"
cp -r "$folder.pages/extra/repository" "$folder/"
if [ $faults -ne 0 ]; then
  echo "tools/docs.sh: the pages have the faults above" >&2
  exit 1
fi
echo "$folder/index.html"
if $show; then
  for browser in "${BROWSER:-}" xdg-open chromium firefox; do
    if [ -n "$browser" ] && command -v "$browser" >/dev/null; then
      exec "$browser" "$folder/index.html"
    fi
  done
  echo "tools/docs.sh: there is no browser to open it with; BROWSER names one" >&2
  exit 1
fi
