#!/usr/bin/env bash
# Fuzzes what reads files from outside, under the address and undefined-behaviour sanitizers, and fails at the first crash.
#   fuzz.sh [SECONDS [TARGET...]]     60 seconds each, all targets
# Inputs that reach new code stay in build/fuzz/corpus/; a crashing one is named in the output and stays beside them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

seconds=${1:-60}
[[ $seconds =~ ^[1-9][0-9]{0,5}$ ]] || { echo "fuzz.sh: SECONDS is '$seconds', must be a whole number from 1 to 999999" >&2; exit 2; }
targets=("${@:2}")
[[ ${#targets[@]} -gt 0 ]] || targets=(fuzz_config fuzz_safetensors fuzz_tokenizer)
build=build/fuzz

[[ -f $build/build.ninja ]] || cmake --preset fuzz -DCMAKE_CXX_COMPILER=clang++ >&2
cmake --build --preset fuzz -j "${OCTAVO_JOBS:-$(nproc)}" --target "${targets[@]}" >&2
python3 -B common/model/fuzz_seeds.py "$build/seeds"
for target in "${targets[@]}"; do
  corpus=$build/corpus/$target
  mkdir -p "$corpus"
  echo "$target for $seconds s"
  # Sized so that one input takes milliseconds; a pattern that backtracks to its limit takes seconds.
  "$build/common/model/$target" -max_total_time="$seconds" -max_len=8192 -timeout=60 -verbosity=0 \
    -print_final_stats=1 -artifact_prefix="$corpus/" "$corpus" "$build/seeds/$target"
done
