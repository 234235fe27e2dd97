#!/usr/bin/env bash
# Copyright The Bulkhead Authors
# SPDX-License-Identifier: Apache-2.0
#
# Checks that Go is here, and that it is new enough or can download what is. Without this check, an old
# Go says "invalid go version" and not what to do.
set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
  echo "error: cannot build Bulkhead: $1" >&2
  exit 1
}

main() {
  local wanted have
  wanted=$(awk '$1 == "go" { print $2 }' go.mod)
  command -v go >/dev/null || fail "Go ${wanted} or later is missing; install it: https://go.dev/dl/"
  # Outside of the module, because a Go that is too old refuses to run in it.
  have=$(cd / && GOTOOLCHAIN=local go version | sed -E 's/^go version go([0-9.]+).*/\1/')
  [[ $(printf '%s\n' "${wanted}" "${have}" | sort -V | head -n 1) != "${wanted}" ]] || return 0
  # Since Go 1.21, Go downloads the version that a module needs.
  if [[ $(printf '%s\n' 1.21 "${have}" | sort -V | head -n 1) != 1.21 ]]; then
    fail "it needs Go ${wanted} or later, and this is ${have}; install it: https://go.dev/dl/"
  fi
  go version >/dev/null 2>&1 ||
    fail "it needs Go ${wanted} or later, and this is ${have}; run: go env -w GOTOOLCHAIN=auto; or install it: https://go.dev/dl/"
}

main "$@"
