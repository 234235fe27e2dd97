// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"testing"

	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// signing returns a request for certificate signing requests.
func signing(verb, name string) request {
	return request{Verb: verb, APIGroup: "certificates.k8s.io", Resource: "certificatesigningrequests", Name: name}
}

func TestCertificateSigningRequests(t *testing.T) { runTwins(t, certificateSigningRequestTwins()) }

func certificateSigningRequestTwins() []twins {
	const (
		mine   = "my-certificatesigningrequest"
		own    = "can only read certificate signing requests of its own"
		byName = "can only read certificate signing requests by name"
	)
	reads := []string{"me certificatesigningrequest /other"}
	var all []twins
	for _, verb := range []string{"get", "list", "watch"} {
		all = append(all,
			twins{
				name:    "another's request, by " + verb,
				refused: signing(verb, "other"), allowed: signing(verb, mine),
				by: certificateSigningRequestOwn, bare: "[NA-UNI-CERTIFICATESIGNINGREQUESTS]", text: own, reads: reads,
			},
			twins{
				name:    "all requests, by " + verb,
				refused: signing(verb, ""), allowed: signing(verb, mine),
				by: certificateSigningRequestOwn, bare: "[NA-UNI-CERTIFICATESIGNINGREQUESTS]", text: byName,
			},
		)
	}
	return all
}

// A kubelet creates a CSR before it has a Node object, and waits for the certificate.
func TestAnUnregisteredNodeHasItsSigningRequests(t *testing.T) {
	for _, verb := range []string{"create", "get", "list", "watch"} {
		a := complete(signing(verb, "my-certificatesigningrequest"))
		a.User = nodeNamed("stranger")
		got := decideIn(t, Strict, Modes(rules.Enforce), a, &reader{})
		if got.Decision != authorizer.DecisionAllow || len(got.Reads) > 0 {
			t.Errorf("%s: %+v", verb, got)
		}
	}
}

// A kubelet watches its CSR immediately after it has created it.
func TestASigningRequestThatWasJustMade(t *testing.T) {
	const read = "me certificatesigningrequest /x"
	for _, mode := range []rules.Mode{rules.Audit, rules.Enforce} {
		view := lagging{nothing, map[string]graph.Relation{read: relatedOnly}}
		got := decideOver(t, &view, Strict, Modes(mode), complete(signing("watch", "x")), view.reader(""))
		want := outcome{Decision: authorizer.DecisionAllow, Reason: "[NA-UNI-CERTIFICATESIGNINGREQUESTS]",
			Reads: []string{read}}
		checkOutcome(t, want, got)
	}
}
