#!/usr/bin/env bash
# Copyright The Bulkhead Authors
# SPDX-License-Identifier: Apache-2.0
#
# Gives every fuzz target some inputs, and prints the events of `go test -json`.
#
# Arguments:
#   processors   how many processors to use (default 1)
#   inputs       how many inputs each target gets (default 1000)
#   guided       true: coverage guides the choice of inputs. Go then compiles every dependency again,
#                which takes ten minutes: too long for a few inputs (default false)
set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
processors=${1:-1}
inputs=${2:-1000}
guided=${3:-false}
failed=0
work=$(mktemp -d)
trap 'rm -rf "${work}"' EXIT

# targets prints "folder target" for each. `go test -list` would link every package, which takes
# longer than the fuzzing.
targets() {
  git grep --untracked -oE '^func Fuzz\w+\(\w+ \*testing\.F\)' -- '*_test.go' |
    sed -E 's|^(.+)/[^/]+:func (Fuzz[A-Za-z0-9_]+).*|\1 \2|' | sort
}

# fuzz runs one target. Go takes an input for a hang if it takes ten seconds, which also happens when
# other jobs use the processors. The second run begins with that input: a true hang hangs again.
fuzz() {
  fuzz-once "$1" || {
    grep -q 'fuzzing process hung' "${work}/log" || return 1
    fuzz-once "$1" || return 1
    git clean -fdq "testdata/fuzz/$1"
  }
}

# fuzz-once runs one target once. Go would spend a minute to minimize each new input. Inputs that
# another run has found would take the place of new ones. A fuzzer without a matching target also
# passes, so the number of inputs is checked.
fuzz-once() {
  "${work}/fuzz.test" -test.run='^$' -test.fuzz="^$1\$" -test.fuzztime="${inputs}x" -test.fuzzminimizetime=1x \
    -test.timeout=12h -test.parallel="${processors}" -test.fuzzcachedir="${work}/found" || return
  local executions
  executions=$(sed -nE 's/^fuzz: .*execs: ([0-9]+) .*/\1/p' "${work}/log" | tail -n 1)
  [[ "${executions:-0}" -ge "${inputs}" ]] && return
  echo "the fuzzer ran ${executions:-0} inputs instead of ${inputs}"
  return 1
}

# report prints the events of one target: its folder, name, result and duration.
report() {
  {
    echo "=== RUN   $2"
    sed 's/^/  | /' "${work}/log"
    echo "--- $3: $2 ($4.00s)"
    echo "$3"
  } | go tool test2json -p "$1"
}

main() {
  local linked='' folder target result instrument=''
  [[ "${guided}" == false ]] || instrument=.
  while read -r folder target; do
    SECONDS=0 result=PASS
    if [[ "${folder}" != "${linked}" ]]; then
      rm -f "${work}/fuzz.test"
      go -C "${folder}" test -c -fuzz="${instrument}" -ldflags='-s -w' -p="${processors}" -o="${work}/fuzz.test" . \
        </dev/null >"${work}/build" 2>&1 || true
      linked=${folder}
    fi
    cp "${work}/build" "${work}/log"
    (cd "${folder}" && fuzz "${target}") </dev/null >>"${work}/log" 2>&1 || result=FAIL failed=1
    report "${folder}" "${target}" "${result}" "${SECONDS}"
  done < <(targets)
  return "${failed}"
}

main
