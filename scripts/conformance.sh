#!/usr/bin/env bash
# Copyright The Bulkhead Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds bulkhead-conformance for GOOS and GOARCH: the program and, in it, the compiled suites and Ginkgo.
#
# Arguments:
#   output    the path of the program
#   content   a folder for what the program contains; an old one is replaced
#   version   v0.2.0, for a release (default: a description of the commit)
set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
output=$1 content=$2 version=${3:-}

main() {
  local flags
  flags=$(scripts/ldflags.sh ${version:+"${version}"})
  # go build would keep an old program that has the same code, with what bundle has added to it.
  rm -rf "${content}" "${output}"
  mkdir -p "${content}/e2e/suites" "${content}/docs" "$(dirname "${output}")"
  # Reports name the version of the suites.
  go test -c -ldflags="${flags}" -o "${content}/e2e/suites/" \
    ./e2e/nodeauthorizer ./e2e/noderestriction ./e2e/kubeletauth ./e2e/nodescope ./e2e/attacks
  go build -ldflags='-s -w' -o "${content}/e2e/suites/" github.com/onsi/ginkgo/v2/ginkgo
  cp -r docs/examples "${content}/docs/"
  go build -ldflags="${flags}" -o "${output}" ./e2e/cmd/conformance
  # This program runs here, not on the platform of the output.
  env -u GOOS -u GOARCH go run ./scripts/bundle -o "${output}" "${output}" "${content}"
}

main
