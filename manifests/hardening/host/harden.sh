#!/bin/sh
# Copyright The Bulkhead Authors
# SPDX-License-Identifier: Apache-2.0
#
# Sets modes and owners of files on a node that kubeadm does not set. Run it as root on every node
# after `kubeadm init` or `kubeadm join`, and again when such a file was replaced. It changes nothing
# that is right already.
#
#   harden.sh [file-modes] [etcd-owner]    without arguments: both
set -o errexit -o nounset

# Only root reads how the kubelet is configured. CIS 4.1.1, 4.1.9.
file_modes() {
  for file in /var/lib/kubelet/config.yaml \
    /etc/systemd/system/kubelet.service.d/10-kubeadm.conf \
    /usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf; do
    if [ -e "${file}" ]; then
      chmod 600 "${file}"
    fi
  done
}

# etcd's data belongs to a user without a shell, a home or a password. CIS 1.1.12. kubeadm's etcd
# still runs as root, and needs this user for nothing: docs/hardening.md has what that means.
etcd_owner() {
  if [ ! -d /var/lib/etcd ]; then
    return # a worker, or etcd is on other hosts
  fi
  if ! getent passwd etcd >/dev/null; then
    useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin etcd
  fi
  chown -R etcd:etcd /var/lib/etcd
  chmod 700 /var/lib/etcd
}

if [ "$#" -eq 0 ]; then
  set -- file-modes etcd-owner
fi
for step in "$@"; do
  case "${step}" in
    file-modes) file_modes ;;
    etcd-owner) etcd_owner ;;
    *)
      echo "cannot do ${step}: use file-modes or etcd-owner" >&2
      exit 2
      ;;
  esac
done
