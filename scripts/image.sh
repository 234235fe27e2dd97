#!/usr/bin/env bash
# Copyright The Bulkhead Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the image with Bulkhead's programs, for a registry of your own.
#
# Settings:
#   IMAGE     its name and tag (default ghcr.io/bulkhead-k8s/bulkhead:dev)
#   VERSION   the version of the programs (default: a description of the commit)
#   GOARCH    the architecture of the nodes (default: that of this machine)
set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
image=${IMAGE:-ghcr.io/bulkhead-k8s/bulkhead:dev}
staging=_output/image

main() {
  local flags
  flags=$(scripts/ldflags.sh ${VERSION:+"${VERSION}"})
  mkdir -p "${staging}"
  # Every program in components/cmd is in the image, so a new one cannot be forgotten here.
  CGO_ENABLED=0 GOOS=linux go build -trimpath -ldflags="${flags}" -o "${staging}/" ./components/cmd/...
  docker build --platform="linux/$(go env GOARCH)" --tag "${image}" --file components/Dockerfile "${staging}"
  echo "built ${image}; push it, and give it to: bulkhead install --image=${image}"
  echo "The program for the hosts is ${staging}/bulkhead."
}

main "$@"
