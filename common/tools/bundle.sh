#!/usr/bin/env bash
# Collects the headers and libraries that a build needs, from the Debian packages installed here, into .deps/: with it a
# machine without these packages and without a network builds everything:
#
#   common/tools/bundle.sh
#   cmake --preset cpu -DCMAKE_PREFIX_PATH="$PWD/.deps"
#
# Libraries are static where Debian has them so; fmt and Google Benchmark come as shared libraries only.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

packages=(libfmt-dev libfmt9 libcli11-dev nlohmann-json3-dev libpcre2-dev libeigen3-dev libgtest-dev libgmock-dev
  libbenchmark-dev libbenchmark1debian librapidcheck-dev)
deps=${1:-.deps}
limit_kb=20480

die() { echo "bundle: $*" >&2; exit 2; }
command -v dpkg-query >/dev/null || die "dpkg-query is not here: the bundle is made on Debian 12 and used anywhere"

# wanted PATH: whether a file of a package belongs into the bundle.
wanted() {
  case $1 in
    */pkgconfig/* | */unsupported/* | */doc/* | */man/* | */libpcre2-16* | */libpcre2-32* | */libpcre2-posix*) return 1 ;;
    */libpcre2-8.so*) return 1 ;;  # the static one is taken
    /usr/include/* | */cmake/* | */libfmt.so* | */libbenchmark*.so* | *.a) return 0 ;;
    *) return 1 ;;
  esac
}

[[ $# -le 1 && $deps != -* ]] || die "usage: bundle.sh [FOLDER]"
# Only a bundle or an empty folder is replaced: nothing of anybody else's is deleted.
if [[ -e $deps && ! -f $deps/.octavo_bundle && -n $(ls -A "$deps") ]]; then
  die "$deps is there and is no bundle; name an empty or a new folder"
fi
rm -rf "$deps"
mkdir -p "$deps"
touch "$deps/.octavo_bundle"
for package in "${packages[@]}"; do
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true) == installed ]] ||
    die "the package $package is not installed; ./run setup installs it"
  while read -r path; do
    if [[ -f $path || -L $path ]] && wanted "$path"; then
      mkdir -p "$deps/$(dirname "${path#/usr/}")"
      cp -a "$path" "$deps/${path#/usr/}"
    fi
  done < <(dpkg-query -L "$package")
done

size_kb=$(du -sk "$deps" | cut -f1)
[[ $size_kb -le $limit_kb ]] || die "$deps holds $size_kb KB, the limit is $limit_kb"
echo "bundle: $deps, $size_kb KB, from ${#packages[@]} packages"
