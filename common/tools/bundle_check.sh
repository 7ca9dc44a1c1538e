#!/usr/bin/env bash
# Proves that .deps/ suffices: in namespaces of its own, without a network and with the system's copies of the packages
# hidden, it configures from nothing, builds the targets named, and runs those that are called _test:
#
#   common/tools/bundle_check.sh [TARGET ...]        TARGET: device_test bench_test
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [[ ${1:-} != --inside ]]; then
  [[ "$*" != -* && "$*" != *" -"* ]] || { echo "usage: bundle_check.sh [TARGET ...]" >&2; exit 2; }
  [[ $# -gt 0 ]] || set -- device_test bench_test
  [[ -d .deps ]] || common/tools/bundle.sh
  exec unshare --map-root-user --mount --net "$0" --inside "$@"
fi
shift

hidden=(/usr/share/cmake /usr/share/eigen3 /usr/share/pkgconfig)
for name in fmt CLI nlohmann gtest gmock benchmark eigen3 rapidcheck; do hidden+=("/usr/include/$name"); done
for folder in cmake pkgconfig; do hidden+=(/usr/lib/*-linux-gnu/"$folder"); done
for path in "${hidden[@]}"; do [[ ! -d $path ]] || mount -t tmpfs none "$path"; done
for path in /usr/include/pcre2.h /usr/include/rapidcheck.h \
  /usr/lib/*-linux-gnu/lib{fmt,benchmark,gtest,gtest_main,gmock,gmock_main,rapidcheck,pcre2-8}.{a,so}; do
  [[ ! -f $path ]] || mount --bind /dev/null "$path"
done

# What was hidden must be missing without the bundle: else the proof proves nothing.
build=build/bundle_check
rm -rf "$build"
if cmake -S . -B "$build" -G Ninja >/dev/null 2>&1; then
  echo "bundle_check: the build configures without .deps: the system's packages are not hidden" >&2
  exit 1
fi
rm -rf "$build"
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_PREFIX_PATH=$PWD/.deps" >/dev/null
# shellcheck disable=SC2086  # the targets are words
cmake --build "$build" -j "${OCTAVO_JOBS:-$(nproc)}" --target $*
shopt -s globstar nullglob  # find itself needs one of the libraries that are hidden
for program in $*; do
  for found in "$build"/**/"$program"; do
    [[ ! -f $found || ! -x $found || $program != *_test ]] || "$found" --gtest_brief=1
  done
done
rm -rf "$build"
echo "bundle_check: .deps suffices for: $*"
