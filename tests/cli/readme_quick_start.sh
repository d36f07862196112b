#!/usr/bin/env bash
# Runs the command-line quick start of the README to the letter, and checks that its C++ program is
# examples/quick_start.cpp. Arguments: the repository, the folder of the program.
set -euo pipefail
repository=$1 program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

diff <(awk '/^```cpp/ {on=1; next} /^```/ {on=0} on' "$repository/README.md") \
     <(tail -n +2 "$repository/examples/quick_start.cpp")

mkdir -p "$work/build/release" "$work/tmp"
ln -s "$program/remblai" "$work/build/release/remblai"
ln -s "$repository/data" "$work/data"
awk '/^## Quick start: command line/ {on=1; next} /^## |^\|/ {on=0} on && /^    /' "$repository/README.md" \
  | sed "s|/tmp/|$work/tmp/|g; s|../../build|$work/build|" > "$work/commands"
grep -q adapt "$work/commands"
cd "$work"
bash -euo pipefail "$work/commands"
