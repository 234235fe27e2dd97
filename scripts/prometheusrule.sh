#!/usr/bin/env bash
# Copyright The Bulkhead Authors
# SPDX-License-Identifier: Apache-2.0
#
# Prints the rules of manifests/monitoring/prometheus/rules.yaml as an object of the Prometheus
# operator. Their text is the same.
set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
cat <<'HEADER'
# Copyright The Bulkhead Authors
# SPDX-License-Identifier: Apache-2.0
#
# Made by `make update` from ../prometheus/rules.yaml. Do not edit it.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: bulkhead
  namespace: kube-system
  labels:
    app.kubernetes.io/part-of: bulkhead
    app.kubernetes.io/component: monitoring
spec:
HEADER
sed -n '/^groups:/,$ s/^/  /p' manifests/monitoring/prometheus/rules.yaml
