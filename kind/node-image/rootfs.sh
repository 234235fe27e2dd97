#!/usr/bin/env bash
# Copyright The Bulkhead Authors
# SPDX-License-Identifier: Apache-2.0
#
# Makes the root file system of a kind node: Debian, kind's own node files, and
# the binaries that were built from source. In two parts, because the first does not
# need the binaries: `rootfs.sh debian`, then `rootfs.sh fill`.
#
# Settings:
#   ROOTFS      folder to make; for debian it must not exist
#   KIND_FILES  images/base/files of the kind module
#   BIN         folder with the built binaries
#   VERSION     Kubernetes version, written where kind looks for it
#   PAUSE       image of the pod sandbox, as kubeadm wants it
set -o errexit -o nounset -o pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# bookworm: the systemd of later releases refuses cgroup v1 hosts.
suite=bookworm
packages=systemd,systemd-sysv,dbus,conntrack,iptables,nftables,iproute2,ethtool,util-linux,mount,kmod,libseccomp2,pigz,e2fsprogs,ca-certificates,jq,procps,curl,runc

debian() {
  debootstrap --variant=minbase --include="${packages}" "${suite}" "${ROOTFS}"
  # debootstrap cannot unmount it while another program reads it, such as a search of all files.
  if mountpoint --quiet "${ROOTFS}/proc"; then umount --lazy "${ROOTFS}/proc"; fi
  rm -rf "${ROOTFS}"/var/cache/apt/archives/*.deb "${ROOTFS}"/var/lib/apt/lists/* \
    "${ROOTFS}"/usr/share/{doc,man,locale}/*
}

kind_files() {
  cp -r --no-preserve=mode,ownership "${KIND_FILES}/." "${ROOTFS}/"
  chmod 0755 "${ROOTFS}"/usr/local/bin/* "${ROOTFS}"/kind "${ROOTFS}"/kind/bin "${ROOTFS}"/kind/bin/*
  install -m 0755 "${here}/entrypoint.sh" "${ROOTFS}/usr/local/bin/bulkhead-entrypoint"
  mkdir -p "${ROOTFS}/kind/manifests" "${ROOTFS}/etc/kubernetes/manifests" "${ROOTFS}/etc/cni/net.d"
  cp "${here}/default-cni.yaml" "${here}/default-storage.yaml" "${ROOTFS}/kind/manifests/"
  printf '%s' "${VERSION}" >"${ROOTFS}/kind/version"
}

binaries() {
  install -m 0755 "${BIN}"/{kubelet,kubeadm,kubectl} "${ROOTFS}/usr/bin/"
  install -m 0755 "${BIN}"/{containerd,ctr,containerd-shim-runc-v2} "${ROOTFS}/usr/local/bin/"
  install -d "${ROOTFS}/opt/cni/bin"
  install -m 0755 "${BIN}"/{host-local,loopback,ptp,bridge,portmap} "${ROOTFS}/opt/cni/bin/"
}

# What kind's base image does to systemd, so that a container boots like a node.
services() {
  local units=${ROOTFS}/lib/systemd/system
  find "${units}/sysinit.target.wants/" -name systemd-tmpfiles-setup.service -delete
  rm -f "${units}"/multi-user.target.wants/* "${ROOTFS}"/etc/systemd/system/*.wants/* \
    "${units}"/local-fs.target.wants/* "${units}"/sockets.target.wants/*udev* \
    "${units}"/sockets.target.wants/*initctl* "${units}"/basic.target.wants/*
  echo "ReadKMsg=no" >>"${ROOTFS}/etc/systemd/journald.conf"
  chroot "${ROOTFS}" systemctl enable kubelet.service containerd.service undo-mount-hacks.service
  chroot "${ROOTFS}" systemctl mask systemd-binfmt.service
}

containerd_config() {
  sed -i "s#sandbox_image = .*#sandbox_image = \"${PAUSE}\"#" "${ROOTFS}/etc/containerd/config.toml"
  grep -q "${PAUSE}" "${ROOTFS}/etc/containerd/config.toml"
  chroot "${ROOTFS}" sh -c 'ctr oci spec' |
    jq '.hooks.createContainer[.hooks.createContainer | length] |= . + {"path": "/kind/bin/mount-product-files.sh"} | del(.process.rlimits)' \
      >"${ROOTFS}/etc/containerd/cri-base.json"
}

fill() {
  kind_files
  binaries
  services
  containerd_config
}

case "${1:-}" in
  debian | fill) "$1" ;;
  *)
    echo "usage: rootfs.sh debian|fill" >&2
    exit 2
    ;;
esac
