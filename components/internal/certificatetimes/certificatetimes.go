// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package certificatetimes has the default lifetime of the certificates on a control-plane host, and
// its limits. The configuration file and the installer both need them.
package certificatetimes

import "time"

const day = 24 * time.Hour

// The defaults. The time between renewal and expiry is long, so that an operator sees a renewal that
// fails in time.
const (
	DefaultValidity    = 90 * day
	DefaultRenewBefore = 30 * day
)

// LeastRenewBefore is the shortest time between the renewal and the expiry of a client certificate.
// kube-apiserver looks for a new certificate every five minutes (client-go
// transport/cert_rotation.go, CertCallbackRefreshDuration). The renewer also polls, which needs one
// minute more.
const LeastRenewBefore = 6 * time.Minute
