#!/usr/bin/env bash
# Copyright The Bulkhead Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs one check of `make verify`. It prints only what is wrong and how to repair it.
#
# Arguments:
#   check   gofmt, tidy, and so on: the functions check-* below
set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=${PWD}/_output/bin

# files lists what git knows or would add, without deleted files. No file at all is an error.
files() {
  local found
  found=$(git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
    [[ ! -e "${file}" ]] || echo "${file}"
  done)
  [[ -n "${found}" ]] || { echo "no file matches: $*" >&2; return 1; }
  echo "${found}"
}

# in-modules runs a command in each of Bulkhead's Go modules, also if it fails in one.
in-modules() {
  local modules module failed=0
  modules=$(files go.mod 'components/**/go.mod' kind/registrytest/go.mod scripts/release/go.mod)
  for module in ${modules}; do
    (cd "$(dirname "${module}")" && "$@") || failed=1
  done
  return "${failed}"
}

check-gofmt() {
  local unformatted
  unformatted=$(files '*.go' | xargs gofmt -l)
  [[ -z "${unformatted}" ]] || { echo "run gofmt -w on:"; echo "${unformatted}"; return 1; }
}

check-licence-headers() {
  files '*.go' '*.sh' Makefile '*Dockerfile' .ci/run | xargs awk '
    /Copyright The Bulkhead Authors/ { copyright[FILENAME] }
    /SPDX-License-Identifier: Apache-2.0/ { licence[FILENAME] }
    FNR == 5 { nextfile }
    END {
      for (i = 1; i < ARGC; i++) if (!(ARGV[i] in copyright && ARGV[i] in licence)) {
        print "add the two licence lines to the beginning of " ARGV[i]
        failed = 1
      }
      exit failed
    }'
}

check-tidy() { in-modules go mod tidy -diff; }

# check-golangci-lint also runs the analyzers of go vet (the linter govet). The command go vet would look at
# every dependency, too, which takes ten minutes on an empty cache.
check-golangci-lint() {
  CGO_ENABLED=0 GOWORK=off GOFLAGS="${GOFLAGS-} -mod=readonly" go -C scripts/tools build -trimpath -ldflags='-s -w' \
    -o "${bin}/golangci-lint" github.com/golangci/golangci-lint/v2/cmd/golangci-lint
  in-modules "${bin}/golangci-lint" run --timeout=60m ./...
}

# check-govulncheck looks for known vulnerabilities in what the programs call. testrun skips it if the
# database cannot be reached.
check-govulncheck() {
  GOWORK=off GOFLAGS="${GOFLAGS-} -mod=readonly" go -C scripts/tools build -trimpath -ldflags='-s -w' \
    -o "${bin}/govulncheck" golang.org/x/vuln/cmd/govulncheck
  "${bin}/govulncheck" -db="${GOVULNDB:-https://vuln.go.dev}" ./components/cmd/...
}

check-shellcheck() { files '*.sh' .ci/run | xargs shellcheck; }

# check-actionlint checks the workflows of GitHub, and by shellcheck the commands in them.
check-actionlint() {
  GOWORK=off GOFLAGS="${GOFLAGS-} -mod=readonly" go -C scripts/actionlint build -trimpath -ldflags='-s -w' \
    -o "${bin}/actionlint" github.com/rhysd/actionlint/cmd/actionlint
  files '.github/workflows/*.yaml' | xargs "${bin}/actionlint"
}

check-rules-doc() {
  go run ./components/cmd/bulkhead rules --output=markdown | diff docs/rules.md - ||
    { echo "docs/rules.md differs from the rules: run make update"; return 1; }
  scripts/prometheusrule.sh | diff manifests/monitoring/operator/prometheusrule.yaml - ||
    { echo "prometheusrule.yaml differs from the alerts: run make update"; return 1; }
}

check-docs-marks() {
  local page failed=0
  for page in install rotate-ca; do
    go run ./scripts/docsrun --check "docs/${page}.md" || failed=1
  done
  return "${failed}"
}

# A component of kustomize is built with a base only. The installer's tests do that.
components=':!manifests/kustomize/components/**'

# check-manifests builds every kustomization. The tests in manifests/ decode each object strictly.
check-manifests() {
  [[ -x "${bin}/kubectl" ]] || go run ./kind/cmd/refcluster tools
  local all file failed=0
  all=$(files 'manifests/**/kustomization.yaml' "${components}")
  for file in ${all}; do
    "${bin}/kubectl" kustomize "$(dirname "${file}")" >/dev/null || failed=1
  done
  return "${failed}"
}

# check-dry-run has the API server of KUBECONFIG validate, and not store, every production manifest.
check-dry-run() {
  local kustomizations pods file failed=0
  local options=(--dry-run=server --validate=strict)
  kustomizations=$(files 'manifests/**/kustomization.yaml' "${components}")
  pods=$(files 'manifests/**/static-pod.yaml')
  for file in ${kustomizations}; do
    "${bin}/kubectl" apply "${options[@]}" --kustomize "$(dirname "${file}")" >/dev/null || failed=1
  done
  for file in ${pods}; do
    "${bin}/kubectl" create "${options[@]}" --filename "${file}" >/dev/null || failed=1
  done
  return "${failed}"
}

"check-$1"
