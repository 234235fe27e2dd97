#!/usr/bin/env bash
# Copyright The Bulkhead Authors
# SPDX-License-Identifier: Apache-2.0
#
# Fits the node to its host, then hands over to kind's own entrypoint.
# A host that lacks CAP_SYS_RESOURCE can neither raise limits nor lower an OOM
# score; elsewhere nothing is changed.
set -o errexit -o nounset -o pipefail

cap_sys_resource=24

has_sys_resource() {
  local bounding
  bounding=$(awk '/^CapBnd:/ {print $2}' /proc/self/status)
  (((16#${bounding} >> cap_sys_resource) & 1))
}

if ! has_sys_resource; then
  echo "INFO: no CAP_SYS_RESOURCE: containerd keeps the limits it is given" >&2
  sed -i -E '/^(Limit(NPROC|CORE|NOFILE)|TasksMax|OOMScoreAdjust)=/d' /etc/systemd/system/containerd.service
  sed -i 's/restrict_oom_score_adj = false/restrict_oom_score_adj = true/' /etc/containerd/config.toml
fi

exec /usr/local/bin/entrypoint "$@"
