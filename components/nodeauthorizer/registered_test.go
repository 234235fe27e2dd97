// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestRegistered(t *testing.T) { runTwins(t, registeredTwins()) }

func registeredTwins() []twins {
	var all []twins
	for _, tc := range []struct {
		name, bare string
		asks       request
	}{
		{"a secret", "[NA-SECRET-1]", request{Verb: "get", Resource: "secrets", Namespace: "ns", Name: "my-secret"}},
		{"a watch of a secret", "[NA-SECRET-2]",
			request{Verb: "watch", Resource: "secrets", Namespace: "ns", Name: "my-secret"}},
		{"a config map", "[NA-CM-1]", request{Verb: "get", Resource: "configmaps", Namespace: "ns", Name: "my-configmap"}},
		{"a claim", "[NA-PVC-1]",
			request{Verb: "get", Resource: "persistentvolumeclaims", Namespace: "ns", Name: "my-persistentvolumeclaim"}},
		{"the status of a claim", "[NA-PVC-2]",
			request{Verb: "patch", Resource: "persistentvolumeclaims", Subresource: "status", Namespace: "ns",
				Name: "my-persistentvolumeclaim"}},
		{"a volume", "[NA-PV-1]", request{Verb: "get", Resource: "persistentvolumes", Name: "my-persistentvolume"}},
		{"an attachment", "[NA-VA-1]",
			request{Verb: "get", APIGroup: "storage.k8s.io", Resource: "volumeattachments", Name: "my-volumeattachment"}},
		{"a resource claim", "[NA-CLAIM-1]",
			request{Verb: "get", APIGroup: "resource.k8s.io", Resource: "resourceclaims", Namespace: "ns",
				Name: "my-resourceclaim"}},
		{"an account", "[NA-SA-1]",
			request{Verb: "get", Resource: "serviceaccounts", Namespace: "ns", Name: "my-serviceaccount"}},
		{"a token", "[NA-SA-2]",
			request{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: "ns",
				Name: "my-serviceaccount"}},
		{"a pod", "[NA-POD-1]", request{Verb: "get", Resource: "pods", Namespace: "ns", Name: "my-pod"}},
		{"a watch of a pod", "[NA-POD-2]", request{Verb: "watch", Resource: "pods", Namespace: "ns", Name: "my-pod"}},
		{"a new pod", "[NA-POD-3]", request{Verb: "create", Resource: "pods", Namespace: "ns"}},
		{"the deletion of a pod", "[NA-POD-3]", request{Verb: "delete", Resource: "pods", Namespace: "ns", Name: "x"}},
		{"the status of a pod", "[NA-POD-4]",
			request{Verb: "patch", Resource: "pods", Subresource: "status", Namespace: "ns", Name: "x"}},
		{"the eviction of a pod", "[NA-POD-5]",
			request{Verb: "create", Resource: "pods", Subresource: "eviction", Namespace: "ns", Name: "x"}},
		{"a slice", "[NA-SLICE-2]",
			request{Verb: "delete", APIGroup: "resource.k8s.io", Resource: "resourceslices", Name: "my-resourceslice"}},
		{"a certificate for a pod", "[NA-PCR-2]", pcr("get", "", "my-podcertificaterequest")},
		{"a new certificate for a pod", "[NA-PCR-1]", pcr("create", "", "")},
		{"an event", "[NA-UNI-EVENTS]", request{Verb: "create", Resource: "events", Namespace: "ns"}},
		{"the patch of an event", "[NA-UNI-EVENTS]",
			request{Verb: "patch", APIGroup: "events.k8s.io", Resource: "events", Namespace: "ns", Name: "x"}},
	} {
		refused, allowed := tc.asks, tc.asks
		refused.User, allowed.User = nodeNamed("stranger"), nodeNamed("me")
		all = append(all, twins{
			name: tc.name + " without a Node object", refused: refused, allowed: allowed,
			by: nodeRegistered, bare: tc.bare, text: "node 'stranger' has no Node object", reads: []string{"node stranger"},
		})
	}
	return all
}

// A kubelet needs these requests before it has a Node object.
func TestUnregisteredNodeAccess(t *testing.T) {
	mine := selecting("spec.nodeName", selection.Equals, "stranger")
	for _, tc := range []struct {
		name string
		asks request
		want string
	}{
		{"its Node may get it", request{Verb: "get", Resource: "nodes", Name: "stranger"}, "[NA-NODE-1]"},
		{"a new Node may do so", request{Verb: "create", Resource: "nodes"}, "[NA-NODE-2]"},
		{"the status of its Node may do so",
			request{Verb: "patch", Resource: "nodes", Subresource: "status", Name: "stranger"}, "[NA-NODE-3]"},
		{"its pods may list them", request{Verb: "list", Resource: "pods", FieldSelectorRequirements: mine}, "[NA-POD-2]"},
		{"its lease may get it",
			request{Verb: "get", APIGroup: "coordination.k8s.io", Resource: "leases", Namespace: "kube-node-lease",
				Name: "stranger"}, "[NA-LEASE-3]"},
		{"its CSINode may get it", csi("get", "", "stranger"), "[NA-CSINODE-2]"},
		{"a new slice may do so", request{Verb: "create", APIGroup: "resource.k8s.io", Resource: "resourceslices"},
			"[NA-SLICE-1]"},
		{"its slices may watch them",
			request{Verb: "watch", APIGroup: "resource.k8s.io", Resource: "resourceslices", FieldSelectorRequirements: mine},
			"[NA-SLICE-3]"},
		{"a new signing request may do so", signing("create", ""), "[NA-UNI-CERTIFICATESIGNINGREQUESTS]"},
		{"services may watch them", request{Verb: "watch", Resource: "services"}, "[NA-UNI-SERVICES]"},
		{"a token review may have it", request{Verb: "create", APIGroup: "authentication.k8s.io", Resource: "tokenreviews"},
			"[NA-UNI-TOKENREVIEWS]"},
		{"CSI drivers may list them", request{Verb: "list", APIGroup: "storage.k8s.io", Resource: "csidrivers"},
			"[NA-UNI-CSIDRIVERS]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := complete(tc.asks)
			a.User = nodeNamed("stranger")
			got := decideIn(t, Strict, Modes(rules.Enforce), a, &reader{})
			if got.Decision != authorizer.DecisionAllow || got.Reason != tc.want || len(got.Reads) > 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// An authorizer without Relations knows no Node object, so it must deny.
func TestNoNodeIsRegisteredWithoutRelations(t *testing.T) {
	a := complete(request{Verb: "create", Resource: "events", Namespace: "ns"})
	a.User = nodeNamed("me")
	got := decideOver(t, nil, Strict, Modes(rules.Enforce), a, &reader{})
	if got.Decision != authorizer.DecisionDeny || !strings.HasSuffix(got.Reason, "[NA-NODE-4]") {
		t.Errorf("%+v", got)
	}
}

// A kubelet sends more requests immediately after it has registered, even if the watch has not
// shown the Node yet.
func TestANodeThatHasJustRegistered(t *testing.T) {
	for want, asks := range map[string]request{
		"[NA-POD-3]":      {Verb: "create", Resource: "pods", Namespace: "ns"},
		"[NA-POD-4]":      {Verb: "patch", Resource: "pods", Subresource: "status", Namespace: "ns", Name: "x"},
		"[NA-UNI-EVENTS]": {Verb: "create", Resource: "events", Namespace: "ns"},
	} {
		for _, mode := range []rules.Mode{rules.Audit, rules.Enforce} {
			view := lagging{nothing, map[string]graph.Relation{nodeIsRead: known}}
			got := decideOver(t, &view, Strict, Modes(mode), complete(asks), view.reader(""))
			checkOutcome(t, outcome{Decision: authorizer.DecisionAllow, Reason: want, Reads: []string{nodeIsRead}}, got)
		}
	}
}

// A request that is refused for every node is refused by the rule of its class, without a live
// read.
func TestFormComesBeforeRegistration(t *testing.T) {
	for want, asks := range map[string]request{
		"[NA-POD-3]":       {Verb: "update", Resource: "pods", Namespace: "ns", Name: "my-pod"},
		"[NA-POD-4]":       {Verb: "create", Resource: "pods", Subresource: "exec", Namespace: "ns", Name: "my-pod"},
		"[NA-UNI-EVENTS]":  {Verb: "list", Resource: "events"},
		"[NA-SECRET-1]":    {Verb: "update", Resource: "secrets", Namespace: "ns", Name: "my-secret"},
		"found [NA-PVC-1]": {Verb: "get", Resource: "persistentvolumeclaims", Namespace: "ns"},
	} {
		a := complete(asks)
		a.User = nodeNamed("stranger")
		got := decideIn(t, Strict, Modes(rules.Enforce), a, &reader{})
		if got.Decision != authorizer.DecisionDeny || len(got.Reads) > 0 || got.Reason[len(got.Reason)-len(want):] != want {
			t.Errorf("want %s, got %+v", want, got)
		}
	}
}

// kubeadm reads these config maps with the certificate of a node whose Node object may be gone.
func TestKubeadmConfigMapsAreLeftOpenToUnregisteredNodes(t *testing.T) {
	for verb, want := range map[string]outcome{
		"get": {Decision: authorizer.DecisionNoOpinion, Reason: "node 'stranger' has no Node object [NA-PASS-4]",
			Reads: []string{"node stranger"}},
		"watch": {Decision: authorizer.DecisionDeny, Reason: "node 'stranger' has no Node object [NA-NODE-4]",
			Reads: []string{"node stranger"}},
	} {
		a := complete(request{Verb: verb, Resource: "configmaps", Namespace: "kube-system", Name: "kubeadm-config",
			User: nodeNamed("stranger")})
		checkOutcome(t, want, decideIn(t, Strict, Modes(rules.Enforce), a, &reader{}))
	}
}

// Enforce leaves this request to the next authorizers and does not refuse it. So audit does not
// report it.
func TestKubeadmConfigMapsInAudit(t *testing.T) {
	for verb, findings := range map[string]int{"get": 0, "watch": 1} {
		view := lagging{is: relatedOnly}
		a := complete(request{Verb: verb, Resource: "configmaps", Namespace: "kube-system", Name: "kube-proxy"})
		got := decideOver(t, &view, Strict, Modes(rules.Audit), a, &reader{})
		if got.Decision != authorizer.DecisionAllow || len(got.Findings) != findings {
			t.Errorf("%s: %+v", verb, got)
		}
	}
}
