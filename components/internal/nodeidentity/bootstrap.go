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

// IsBootstrapper reports whether a user is in [BootstrapGroup] or in a group below it. Such a user
// is a machine that requests its first node credential. The user name is not checked, because a
// cluster may use a client certificate instead of a token.
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

// Writer reports whether the webhook reviews a user's writes, and which share of the limits these
// writes use. It is true for nodes, whose share is the node name, and for bootstrappers, whose
// share is the user name.
func Writer(u user.Info) (share string, reviewed bool) {
	if name, isNode := NodeName(u); isNode {
		return name, true
	}
	if IsBootstrapper(u) {
		return u.GetName(), true
	}
	return "", false
}
