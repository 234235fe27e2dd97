#!/usr/bin/env bash
# Copyright The Bulkhead Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the commands of a page on a new kind cluster with a workload on it. Removes the cluster at the
# end, also after a failure or Ctrl-C.
#
# install:   docs/install.md, on a cluster without Bulkhead. After the page has uninstalled Bulkhead,
#            the static pod manifests and the ConfigMap kubeadm-config must be as before, byte for byte.
# rotate-ca: docs/rotate-ca.md, on a cluster with Bulkhead.
#
# Settings: PAGE, one of these (default install); NODE_IMAGE, as for make up; and for install,
# CONTROL_PLANES and WORKERS, the numbers of nodes (default 1).
set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# The page runs make. Without these variables, that make prints nothing about directories.
unset MAKEFLAGS MAKELEVEL MFLAGS

readonly name=bulkhead-docs page=${PAGE:-install}
readonly file=docs/${page}.md
readonly bin=${PWD}/_output/bin state=${PWD}/_output/docs-run
# The images that the page makes.
readonly images=(registry.example/bulkhead:v1 registry.example/bulkhead:v2)
readonly workload=docs-workload control_planes=${CONTROL_PLANES:-1} workers=${WORKERS:-1}

main() {
  case ${page} in
    install) local kind=(--plain --control-planes="${control_planes}" --workers="${workers}") ;;
    rotate-ca) local kind=(--profile=hardened) ;;
    *)
      echo "error: PAGE=${page}: use install or rotate-ca" >&2
      return 2
      ;;
  esac
  rm -rf "${state}" && mkdir -p "${bin}" "${state}"
  # go run does not pass on an interrupt.
  go build -o "${bin}/" ./kind/cmd/refcluster ./scripts/docsrun
  [[ ${page} == install ]] || go build -o "${bin}/" ./components/cmd/bulkhead
  docsrun --check "${file}"
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  trap down EXIT
  refcluster up --name="${name}" --fresh --node-image="${NODE_IMAGE:-auto}" "${kind[@]}"
  # PATH, KUBECONFIG and DOCKER_HOST. An engine may lack buildx.
  local environment
  environment=$(refcluster env --name="${name}")
  eval "${environment}"
  export DOCKER_BUILDKIT=0

  # The page's commands that a kind cluster needs instead of ssh use these.
  NODES=$(kind get nodes --name="${name}" | grep --invert-match load-balancer | sort | tr '\n' ' ')
  CONTROL_PLANE=$(tr ' ' '\n' <<<"${NODES}" | grep control-plane | tr '\n' ' ')
  export NODES CONTROL_PLANE

  start-workload
  if [[ ${page} == install ]]; then
    remove-program
    save before
  fi
  local failed=0
  docsrun --run --cluster="${name}" "${file}" || failed=1
  wait-until-ready || failed=1
  if [[ ${page} == install ]]; then
    save after
    compare || failed=1
  fi
  return "${failed}"
}

docsrun() { "${bin}/docsrun" "$@"; }
refcluster() { "${bin}/refcluster" "$@"; }

down() {
  trap '' INT TERM HUP
  refcluster down --name="${name}"
  if [[ ${page} == install ]]; then
    docker image rm "${images[@]}" >/dev/null 2>&1 || true
    rm -f bulkhead.yaml defaults.yaml from-logs.yaml from-all.yaml enforce.yaml audit-*.log metrics-*.txt
  fi
}

# The page brings the program bulkhead to the hosts.
remove-program() {
  local node
  for node in ${NODES}; do docker exec "${node}" rm --force /usr/local/bin/bulkhead; done
}

start-workload() {
  kubectl apply --filename=scripts/docs-workload.yaml
  wait-until-ready
}

wait-until-ready() {
  kubectl wait --for=condition=Ready nodes --all --timeout=2m &&
    kubectl --namespace="${workload}" rollout status deployment/web --timeout=2m &&
    kubectl --namespace="${workload}" rollout status daemonset/agent --timeout=2m
}

# save writes everything that must be as before to a directory.
save() {
  local to=${state}/$1 node
  mkdir -p "${to}"
  for node in ${CONTROL_PLANE}; do
    docker exec "${node}" sh -c 'tail -n +1 /etc/kubernetes/manifests/*' >"${to}/${node}"
  done
  # The owner and the mode of each file, and that there is no other file.
  for node in ${NODES}; do
    docker exec "${node}" find /etc/kubernetes /etc/systemd/system ! -type d -printf "${node} %p %m %U %G\n" | sort
  done >"${to}/files"
  kubectl --namespace=kube-system get configmap kubeadm-config --output=jsonpath='{.data}' >"${to}/kubeadm-config"
  # No pod was replaced. Their containers have restarted, because the page stops all hosts once.
  kubectl --namespace="${workload}" get pods --sort-by=.metadata.name \
    --output=custom-columns='UID:.metadata.uid' >"${to}/pods"
}

compare() {
  if ! diff --recursive --unified "${state}/before" "${state}/after"; then
    echo "error: the differences above are left after the uninstallation (- before, + after)" >&2
    return 1
  fi
  echo "The manifests, the ConfigMap kubeadm-config and the pods of the workload are as before."
}

main "$@"
