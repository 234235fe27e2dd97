#!/usr/bin/env bash
# Copyright The Bulkhead Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the image with Bulkhead's programs, for a registry of your own.
#
# Settings:
#   IMAGE   its name and tag (default ghcr.io/bulkhead-k8s/bulkhead:dev)
set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
image=${IMAGE:-ghcr.io/bulkhead-k8s/bulkhead:dev}
staging=_output/image

main() {
  local flags
  flags=$(scripts/ldflags.sh)
  mkdir -p "${staging}"
  # Every program in components/cmd is in the image, so a new one cannot be forgotten here.
  CGO_ENABLED=0 go build -trimpath -ldflags="${flags}" -o "${staging}/" ./components/cmd/...
  docker build --tag "${image}" --file components/Dockerfile "${staging}"
  echo "built ${image}; push it, and give it to: bulkhead install --image=${image}"
}

main "$@"
