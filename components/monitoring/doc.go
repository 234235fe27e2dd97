// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package monitoring has no code of its own. Its tests run what is in manifests/monitoring with
// Prometheus' own code: the alerts on series of testdata, in the format of `promtool test rules`,
// and every query on the metrics of the programs, which they build, start and scrape.
package monitoring
