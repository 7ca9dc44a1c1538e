#!/usr/bin/env bash
# What `./run check` runs: check.sh BUILD_FOLDER. Everything is checked before it ends, and it fails if one check did.
set -uo pipefail
build=$1
tools=common/tools
failed=()

check() {  # check NAME COMMAND...
  local name=$1 start=$SECONDS
  shift
  if "$@"; then echo "ok      $name ($((SECONDS - start)) s)"; else echo "FAILED  $name"; failed+=("$name"); fi
}

check format python3 $tools/format.py
check layering python3 $tools/layering.py
check sizes python3 $tools/sizes.py
check words python3 $tools/words.py
check "README links and commands" python3 $tools/readme_commands.py
check tables python3 $tools/tables.py
check clang-tidy python3 $tools/tidy.py "$build"
[[ ${#failed[@]} -eq 0 ]] || { echo "check: failed: ${failed[*]}" >&2; exit 1; }
