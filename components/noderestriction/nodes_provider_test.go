// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestProviderIDOthers(t *testing.T) {
	const by = "NR-NODESPEC-3"
	const says = notAllowed + `have the providerID of node "other" [NR-NODESPEC-3]`
	provided := func(id string) func(*corev1.Node) { return func(n *corev1.Node) { n.Spec.ProviderID = id } }
	c := aCluster()
	c.nodes["other"] = aNode("other", provided("cloud://other"))
	c.nodes["me"] = aNode("me", provided("cloud://me"))
	run(t, restrict(c, enforce(by)), []row{
		{name: "no providerID: admitted", write: making(unchanged)},
		{name: "its own providerID: admitted", write: making(provided("cloud://me"))},
		{name: "providerID of another Node at creation: denied", write: making(provided("cloud://other")), by: by,
			says: says},
		{name: "providerID of another Node later: denied", write: changing("", unchanged, provided("cloud://other")), by: by,
			says: says},
		{name: "providerID of another Node that it has already: admitted",
			write: changing("", provided("cloud://other"), provided("cloud://other"))},
		{name: "providerID that is too long: denied", write: making(provided(strings.Repeat("x", 1025))), by: by,
			says: notAllowed + "have a providerID of more than 1024 bytes [NR-NODESPEC-3]"},
	})
	run(t, restrict(c), []row{{name: "rule off, providerID of another Node: admitted",
		write: making(provided("cloud://other"))}})
	auditedOnly(t, restrict(c, inMode(rules.Audit, by)), making(provided("cloud://other")), by)
	failing := aCluster()
	failing.err = errors.New("timeout")
	run(t, restrict(failing, enforce(by)), []row{
		{name: "owner of the providerID is not known: denied", write: making(provided("cloud://me")), by: by, code: 500,
			says: "timeout [NR-NODESPEC-3]"},
	})
}
