#!/usr/bin/env bash
# Everything that needs a GPU, in one go and without a network: builds the preset 'cuda' for the device here, runs
# the tests labelled gpu, the benchmarks, and compute-sanitizer where it works, and writes one JSON file.
#
#   common/tools/gpu.sh [FILE]        FILE: docs/results/gpu.json
#
# Exit status: 0 all well, 1 a test, benchmark or sanitizer failed, 2 bad arguments, 3 no CUDA toolkit, 4 built, but
# there is no device to run on. With .deps/ (common/tools/bundle.sh) the libraries come from there.
# OCTAVO_GPU_TARGETS limits the build to some targets.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

[[ $# -le 1 && ${1:-} != -* ]] || { echo "usage: gpu.sh [FILE]" >&2; exit 2; }
out=${1:-docs/results/gpu.json}
build=build/cuda
parts=$build/gpu_parts
jobs=${OCTAVO_JOBS:-$(nproc)}
failed=0

say() { echo "gpu: $*" >&2; }

# timed NAME COMMAND...: runs it, leaves its status and time for the report. Never fails by itself.
timed() {
  local name=$1 start=$SECONDS status=0
  shift
  "$@" || status=$?
  printf '{"status": %d, "seconds": %d}\n' "$status" $((SECONDS - start)) >"$parts/$name.step.json"
  say "$name: status $status, $((SECONDS - start)) s"
  [[ $status -eq 0 ]] || failed=1
}

nvcc=$(command -v nvcc || true)
[[ -n $nvcc ]] || { [[ ! -x /usr/local/cuda/bin/nvcc ]] || nvcc=/usr/local/cuda/bin/nvcc; }
[[ -n $nvcc ]] || { say "no nvcc in PATH or /usr/local/cuda/bin: nothing can be built for a GPU"; exit 3; }

configure() {
  local arguments=()
  [[ ! -d .deps ]] || arguments+=("-DCMAKE_PREFIX_PATH=$PWD/.deps")
  local capability
  capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .) || true
  [[ ! $capability =~ ^[0-9]+$ ]] || arguments+=("-DCMAKE_CUDA_ARCHITECTURES=$capability-real")
  cmake --preset cuda ${arguments[@]+"${arguments[@]}"} >&2
}

# Programs whose tests carry the label gpu, and the benchmarks: the rest of the preset is not needed here.
gpu_programs() { ctest --test-dir "$build" -N -L gpu --show-only=json-v1 | python3 -B common/tools/gpu_report.py programs; }
bench_programs() { find "$build" -type f -executable -name 'ch[0-9][0-9]_bench' | sort; }

run_tests() {
  OCTAVO_REQUIRE_GPU=1 ctest --test-dir "$build" -L gpu --no-tests=error --output-on-failure -j 4 \
    --output-junit "$PWD/$parts/tests.xml" >&2
}

run_benchmark() { "$1" --out "$parts/$(basename "$1").bench.json" --benchmark_repetitions=3 >&2; }

# On some virtual machines the tool cannot attach to the device: that is reported, not failed.
run_sanitizer() {
  local tool program probe=$parts/sanitizer.txt
  tool=$(command -v compute-sanitizer || true)
  if [[ -z $tool ]]; then say "compute-sanitizer is not installed"; echo "not installed" >"$probe"; return 0; fi
  while read -r program; do
    timeout 60 "$tool" --error-exitcode 9 "$program" --gtest_filter='*cuda*:*Gpu*:*Cuda*' \
      </dev/null >"$probe.log" 2>&1 && continue
    if [[ $? -eq 9 ]]; then cat "$probe.log" >&2; echo "errors in $(basename "$program")" >"$probe"; return 1; fi
    say "compute-sanitizer does not work here: $(tail -n 1 "$probe.log")"
    echo "does not work here" >"$probe"
    return 0
  done < <(gpu_programs)
  echo "clean" >"$probe"
}

mkdir -p "$build"
configure
rm -rf "$parts"
mkdir -p "$parts"
# shellcheck disable=SC2086  # the targets are words
timed build cmake --build "$build" -j "$jobs" ${OCTAVO_GPU_TARGETS:+--target $OCTAVO_GPU_TARGETS}
[[ $failed -eq 0 ]] || { say "the build failed"; exit 1; }
if [[ $("$build/common/device/devices" | grep -c '^cuda') -eq 0 ]]; then
  say "built for $(grep -o 'CMAKE_CUDA_ARCHITECTURES:.*' "$build/CMakeCache.txt" | cut -d= -f2), but there is no CUDA device" \
    "here: nothing was run, $out is not written"
  exit 4
fi
timed tests run_tests
for program in $(bench_programs); do timed "$(basename "$program")" run_benchmark "$program"; done
timed sanitizer run_sanitizer
python3 -B common/tools/gpu_report.py report "$parts" "$out"
exit $failed
