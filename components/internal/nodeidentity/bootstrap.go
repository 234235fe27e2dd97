// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeidentity

import (
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
)

// BootstrapGroup is the group of every bootstrap token. A token may have further groups,
// each of which begins with this name and a colon
// (staging/src/k8s.io/cluster-bootstrap/token/api/types.go).
const BootstrapGroup = "system:bootstrappers"

// IsBootstrapper reports whether a user is in [BootstrapGroup] or in a group below it: a
// machine that asks for its first node credential. The name does not count: a cluster may
// use a client certificate instead of a token. It does not allocate.
func IsBootstrapper(u user.Info) bool {
	if u == nil {
		return false
	}
	for _, group := range u.GetGroups() {
		rest, ok := strings.CutPrefix(group, BootstrapGroup)
		if ok && (rest == "" || rest[0] == ':') {
			return true
		}
	}
	return false
}

// Writer returns in whose share of the webhook a user's writes count, and whether they are
// reviewed at all: those of nodes, by node name, and those of bootstrappers, by user name.
// It does not allocate.
func Writer(u user.Info) (share string, reviewed bool) {
	if name, isNode := NodeName(u); isNode {
		return name, true
	}
	if IsBootstrapper(u) {
		return u.GetName(), true
	}
	return "", false
}
