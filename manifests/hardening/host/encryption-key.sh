#!/bin/sh
# Copyright The Bulkhead Authors
# SPDX-License-Identifier: Apache-2.0
#
# Writes an EncryptionConfiguration with a new random key. It never replaces a file: without the old
# key, what is encrypted with it is lost.
#
#   encryption-key.sh /etc/kubernetes/encryption/config.yaml
set -o errexit -o nounset

file=${1:?cannot write the configuration without a path: encryption-key.sh FILE}
if [ -e "${file}" ]; then
  echo "cannot write ${file}: it exists; move it away only if nothing is encrypted with its key" >&2
  exit 1
fi

umask 077
mkdir -p "$(dirname "${file}")"
key=$(head -c 32 /dev/urandom | base64 | tr -d '\n')
cat >"${file}.new" <<CONFIG
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources:
  - secrets
  providers:
  - secretbox:
      keys:
      - name: key1
        secret: ${key}
  # Reads what was written before encryption was on.
  - identity: {}
CONFIG
mv "${file}.new" "${file}"
