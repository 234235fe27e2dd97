#!/usr/bin/env bash
# Copyright The Bulkhead Authors
# SPDX-License-Identifier: Apache-2.0
#
# Copies what kube-proxy calls (iptables with its extensions, nft, conntrack) out of the
# node's root file system, with the libraries that these load.
#
# Settings:
#   ROOTFS   the node's root file system
#   OUT      folder to make
set -o errexit -o nounset -o pipefail

programs=(/usr/sbin/xtables-nft-multi /usr/sbin/xtables-legacy-multi /usr/sbin/nft /usr/sbin/conntrack /usr/bin/kmod)

# Every file is printed where it stands and where its links lead.
files() {
  local extensions
  mapfile -t extensions < <(chroot "${ROOTFS}" find /usr/lib -path '*/xtables/*.so')
  printf '%s\n' "${programs[@]}" "${extensions[@]}"
  # Extensions load libraries that no program does: without libm no rule can have
  # `statistic`, and kube-proxy writes none at all once a Service has two endpoints.
  chroot "${ROOTFS}" ldd "${programs[@]}" "${extensions[@]}" | grep -oE '/[^ ]+\.so[^ ]*' | grep -v ':$'
}

main() {
  rm -rf "${OUT}"
  mkdir -p "${OUT}"/{usr/sbin,usr/bin,usr/lib,usr/lib64,run}
  ln -s usr/bin "${OUT}/bin"
  ln -s usr/sbin "${OUT}/sbin"
  ln -s usr/lib "${OUT}/lib"
  ln -s usr/lib64 "${OUT}/lib64"
  files | sort -u | while read -r file; do
    mkdir -p "${OUT}$(dirname "${file}")"
    cp --dereference "${ROOTFS}${file}" "${OUT}${file}"
  done
  # The nft flavour, as in a node that has no legacy rules.
  for name in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore; do
    ln -s xtables-nft-multi "${OUT}/usr/sbin/${name}"
  done
  ln -s kmod "${OUT}/usr/bin/modprobe"
  ln -s ../bin/kmod "${OUT}/usr/sbin/modprobe"
}

main "$@"
