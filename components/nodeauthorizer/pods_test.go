// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"
)

func TestPods(t *testing.T) { run(t, podRows()) }

func podRows() []row {
	const needsSelector = "can only list/watch pods with spec.nodeName field selector [NA-POD-2]"
	mine := selecting("spec.nodeName", selection.Equals, "me")
	return []row{
		{"its pod may get it", request{Verb: "get", Resource: "pods", Namespace: "ns", Name: "my-pod"}, allowed,
			"[NA-POD-1]"},
		{"another node's pod is refused", request{Verb: "get", Resource: "pods", Namespace: "ns", Name: "other"}, refused,
			unrelated + "[NA-POD-1]"},
		{"another node's pod with a selector is refused",
			request{Verb: "get", Resource: "pods", Namespace: "ns", Name: "other", FieldSelectorRequirements: mine}, refused,
			unrelated + "[NA-POD-1]"},
		{"a pod without a name is refused", request{Verb: "get", Resource: "pods", Namespace: "ns"}, refused,
			"No Object name found [NA-POD-1]"},
		{"a list of its pods may have it", request{Verb: "list", Resource: "pods", FieldSelectorRequirements: mine}, allowed,
			"[NA-POD-2]"},
		{"a watch of its pods may have it", request{Verb: "watch", Resource: "pods", FieldSelectorRequirements: mine},
			allowed, "[NA-POD-2]"},
		{"a list of its pods in a namespace may have it",
			request{Verb: "list", Resource: "pods", Namespace: "any", FieldSelectorRequirements: mine}, allowed, "[NA-POD-2]"},
		{"a list that is narrowed further may have it",
			request{Verb: "list", Resource: "pods",
				FieldSelectorRequirements: append(selecting("status.phase", selection.NotEquals, "Failed"), mine...)}, allowed,
			"[NA-POD-2]"},
		{"a list with a partly parsed selector may have it",
			request{Verb: "list", Resource: "pods", FieldSelectorRequirements: mine, FieldSelectorParsingErr: errors.New("bad")},
			allowed, "[NA-POD-2]"},
		{"a list of its pod by name may have it", request{Verb: "list", Resource: "pods", Namespace: "ns", Name: "my-pod"},
			allowed, "[NA-POD-2]"},
		{"a watch of another's pod by name is refused",
			request{Verb: "watch", Resource: "pods", Namespace: "ns", Name: "other"}, refused, unrelated + "[NA-POD-2]"},
		{"a list of all pods is refused", request{Verb: "list", Resource: "pods"}, refused, needsSelector},
		{"a list of another's pods is refused",
			request{Verb: "list", Resource: "pods",
				FieldSelectorRequirements: selecting("spec.nodeName", selection.Equals, "other")}, refused, needsSelector},
		{"a list of all but its pods is refused",
			request{Verb: "list", Resource: "pods",
				FieldSelectorRequirements: selecting("spec.nodeName", selection.NotEquals, "me")}, refused, needsSelector},
		{"a list with a set of nodes is refused",
			request{Verb: "list", Resource: "pods", FieldSelectorRequirements: selecting("spec.nodeName", selection.In, "me")},
			refused, needsSelector},
		{"a list by a field named otherwise is refused",
			request{Verb: "list", Resource: "pods",
				FieldSelectorRequirements: selecting("spec.nodename", selection.Equals, "me")}, refused, needsSelector},
		{"a list with an empty selector is refused",
			request{Verb: "list", Resource: "pods", FieldSelectorRequirements: fields.Requirements{}}, refused, needsSelector},
		{"a list with an unparsed selector is refused",
			request{Verb: "list", Resource: "pods", FieldSelectorParsingErr: errors.New("bad")}, refused, needsSelector},
		{"the creation of a pod is left to admission", request{Verb: "create", Resource: "pods", Namespace: "ns"}, allowed,
			"[NA-POD-3]"},
		{"the deletion of a pod is left to admission",
			request{Verb: "delete", Resource: "pods", Namespace: "ns", Name: "other"}, allowed, "[NA-POD-3]"},
		{"the update of its pod is refused", request{Verb: "update", Resource: "pods", Namespace: "ns", Name: "my-pod"},
			refused, "no rule allows a node to update pods [NA-POD-3]"},
		{"the patch of its pod is refused", request{Verb: "patch", Resource: "pods", Namespace: "ns", Name: "my-pod"},
			refused, "no rule allows a node to patch pods [NA-POD-3]"},
		{"the deletion of many pods is refused",
			request{Verb: "deletecollection", Resource: "pods", Namespace: "ns", FieldSelectorRequirements: mine}, refused,
			"no rule allows a node to deletecollection pods [NA-POD-3]"},
		{"the update of a status is left to admission",
			request{Verb: "update", Resource: "pods", Subresource: "status", Namespace: "ns", Name: "my-pod"}, allowed,
			"[NA-POD-4]"},
		{"the patch of a status is left to admission",
			request{Verb: "patch", Resource: "pods", Subresource: "status", Namespace: "ns", Name: "my-pod"}, allowed,
			"[NA-POD-4]"},
		{"its pod's status, to read it, is refused",
			request{Verb: "get", Resource: "pods", Subresource: "status", Namespace: "ns", Name: "my-pod"}, refused,
			"no rule allows a node to get pods/status [NA-POD-4]"},
		{"exec in its pod is refused",
			request{Verb: "create", Resource: "pods", Subresource: "exec", Namespace: "ns", Name: "my-pod"}, refused,
			"no rule allows a node to create pods/exec [NA-POD-4]"},
		{"the log of its pod is refused",
			request{Verb: "get", Resource: "pods", Subresource: "log", Namespace: "ns", Name: "my-pod"}, refused,
			"no rule allows a node to get pods/log [NA-POD-4]"},
		{"the binding of a pod is refused",
			request{Verb: "create", Resource: "pods", Subresource: "binding", Namespace: "ns", Name: "my-pod"}, refused,
			"no rule allows a node to create pods/binding [NA-POD-4]"},
		{"a resize of its pod is refused",
			request{Verb: "patch", Resource: "pods", Subresource: "resize", Namespace: "ns", Name: "my-pod"}, refused,
			"no rule allows a node to patch pods/resize [NA-POD-4]"},
		{"an eviction is left to admission",
			request{Verb: "create", Resource: "pods", Subresource: "eviction", Namespace: "ns", Name: "my-pod"}, allowed,
			"[NA-POD-5]"},
		{"an eviction, to read it, is refused",
			request{Verb: "get", Resource: "pods", Subresource: "eviction", Namespace: "ns", Name: "my-pod"}, refused,
			"no rule allows a node to get pods/eviction [NA-POD-5]"},
	}
}

func TestPodsThatHaveEnded(t *testing.T) { runTwins(t, podEndedTwins()) }

func podEndedTwins() []twins {
	var all []twins
	for _, tc := range []struct {
		bare, kind string
		asks       request
	}{
		{"[NA-SECRET-1]", "secret", request{Verb: "get", Resource: "secrets"}},
		{"[NA-SECRET-2]", "secret", request{Verb: "watch", Resource: "secrets"}},
		{"[NA-CM-1]", "configmap", request{Verb: "get", Resource: "configmaps"}},
		{"[NA-CM-2]", "configmap", request{Verb: "list", Resource: "configmaps"}},
		{"[NA-SA-1]", "serviceaccount", request{Verb: "get", Resource: "serviceaccounts"}},
		{"[NA-SA-2]", "serviceaccounttoken", request{Verb: "create", Resource: "serviceaccounts", Subresource: "token"}},
	} {
		refused := tc.asks
		refused.Namespace = "ns"
		allowed := refused
		object := strings.TrimSuffix(tc.kind, "token")
		refused.Name, allowed.Name = "ended-"+object, "my-"+object
		all = append(all, twins{
			name: "the " + tc.kind + " of a pod that has ended, by " + tc.asks.Verb, refused: refused, allowed: allowed,
			by: podEnded, bare: tc.bare, text: "node 'me' is related to this object only through pods that have ended",
			reads: []string{"me " + tc.kind + " ns/ended-" + object},
		})
	}
	return all
}
