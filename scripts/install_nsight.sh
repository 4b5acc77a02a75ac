#!/usr/bin/env bash
# Unpacks Debian's nsight-systems 2023.4 and nsight-compute 2024.1 (trixie, non-free) into a folder of their own and
# leaves the system's packages alone, so that it works on older releases too (bookworm's own nsys cannot write
# parquetdir). About 530 MB of downloads, 1.5 GB unpacked. Does nothing where both tools are there already.
# usage: scripts/install_nsight.sh [PREFIX]     (root, on Debian; default /opt/nsight) then: PREFIX/bin/nsys, PREFIX/bin/ncu
set -euo pipefail

prefix=${1:-/opt/nsight}
[ -x "$prefix/bin/nsys" ] && [ -x "$prefix/bin/ncu" ] && exit 0

fail() { echo "install_nsight.sh: $1" >&2; exit 1; }
command -v apt-get >/dev/null ||
  fail "this needs Debian's apt-get. Elsewhere install NVIDIA Nsight Systems and Nsight Compute with NVIDIA's own installers: Warpdeck finds them on PATH and under /opt/nvidia."
[ "$(id -u)" -eq 0 ] || fail "this writes to $prefix and installs libraries: run it as root."
[ "$(dpkg --print-architecture)" = amd64 ] || fail "Debian packages the Nsight tools for amd64 only."
sources=/etc/apt/sources.list.d/debian.sources
[ -f "$sources" ] || fail "there is no $sources to take Debian's mirror from."

export DEBIAN_FRONTEND=noninteractive
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$prefix/bin"

# The machine's own Debian mirror, with trixie and the non-free component.
awk '/^Suites:/ {print "Suites: trixie"; next}
     /^Components:/ {print "Components: main contrib non-free"; next}
     /^$/ {exit}
     {print}' "$sources" > "$work/trixie.sources"
apt=(-o "Dir::Etc::sourcelist=$work/trixie.sources" -o Dir::Etc::sourceparts=/dev/null
     -o "Dir::State::Lists=$work/lists" -o "Dir::Cache::pkgcache=$work/p.bin" -o "Dir::Cache::srcpkgcache=$work/s.bin"
     -o APT::Sandbox::User=root)
apt-get "${apt[@]}" -qq update
(cd "$work" &&
  apt-get "${apt[@]}" -qq download nsight-systems nsight-systems-target nsight-compute nsight-compute-target)

# The libraries that the tools load and a bare system lacks come from the system's own release.
apt-get -qq update
apt-get install -y -qq --no-install-recommends libelf1 libssh-4 zlib1g >/dev/null

for deb in "$work"/*.deb; do
  dpkg -x "$deb" "$prefix/root"
done
# Debian points this link at its own library folder; unpacked elsewhere it must point at the system's.
ln -sf /usr/lib/x86_64-linux-gnu/libssh.so.4 "$prefix/root/usr/lib/x86_64-linux-gnu/libssh.so.4"

for tool in nsight-systems/bin/nsys nsight-compute/ncu; do
  name=${tool##*/}
  printf '#!/bin/sh\nexec "%s" "$@"\n' "$prefix/root/usr/lib/$tool" > "$prefix/bin/$name.new"
  chmod +x "$prefix/bin/$name.new"
  mv "$prefix/bin/$name.new" "$prefix/bin/$name"
done
"$prefix/bin/nsys" --version
"$prefix/bin/ncu" --version | tail -1
