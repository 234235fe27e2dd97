#!/usr/bin/env bash
# Copyright The Bulkhead Authors
# SPDX-License-Identifier: Apache-2.0
#
# Prints the linker flags that set the version of Bulkhead's programs. They depend only on the
# commit and on whether the checkout has changes.
#
# Arguments:
#   version   v0.2.0, for a release (default: a description of the commit)
set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
package=github.com/bulkhead-k8s/bulkhead/components/internal/version

# describe prints the last tag and the commit, as a semantic version that an image tag can have.
describe() {
  git describe --tags --match='v[0-9]*' --abbrev=12 2>/dev/null || echo "v0.0.0-g${commit:0:12}"
}

main() {
  local commit changes state=clean version date
  commit=$(git rev-parse --verify HEAD)
  changes=$(git status --porcelain)
  version=${1:-$(describe)}
  if [[ -n "${changes}" ]]; then
    state=dirty
    version=${1:-${version}-dirty}
  fi
  date=$(TZ=UTC0 git show --no-patch --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd "${commit}")
  echo "-s -w -X ${package}.gitVersion=${version} -X ${package}.gitCommit=${commit}" \
    "-X ${package}.gitTreeState=${state} -X ${package}.buildDate=${date}"
}

main "$@"
