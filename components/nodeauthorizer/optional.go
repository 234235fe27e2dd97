// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"context"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// optionalModes are the modes of the optional rules that this package decides. [Relations] decides
// the rules about a relation's condition.
type optionalModes struct {
	endpoints, certificateSigningRequests, node rules.Mode
	secretWatch, configMapWatch, credential     rules.Mode
}

func newOptionalModes(modes map[rules.ID]rules.Mode) optionalModes {
	return optionalModes{
		endpoints:                  modes[endpointsReferenced.ID],
		certificateSigningRequests: modes[certificateSigningRequestOwn.ID],
		node:                       modes[nodeRegistered.ID],
		secretWatch:                modes[secretUnwatched.ID],
		configMapWatch:             modes[configMapUnwatched.ID],
		credential:                 modes[credentialRevoked.ID],
	}
}

// Modes returns one mode for all optional rules of this component.
func Modes(mode rules.Mode) map[rules.ID]rules.Mode { return rules.Modes(Rules, mode) }

// GraphOptions returns the options with which the graph must be created for these modes.
// credentialProviders is true if kubelets have credential providers that use ServiceAccount tokens.
func GraphOptions(modes map[rules.ID]rules.Mode, credentialProviders bool) graph.Options {
	return graph.Options{
		Ended:               modes[podEnded.ID],
		Unusable:            modes[serviceAccountUsable.ID],
		Unowned:             modes[claimOwned.ID],
		CredentialProviders: credentialProviders,
	}
}

// Needs are the resources and other data that only optional rules use.
type Needs struct {
	Nodes, CertificateSigningRequests, PersistentVolumeClaims bool
	// PodEnds is true if a rule needs to know that a pod has ended.
	PodEnds bool
	// Revocations is true if a rule needs the list of revoked credentials.
	Revocations bool
}

// NeedsOf returns what these modes need. A rule that is off needs nothing.
func NeedsOf(modes map[rules.ID]rules.Mode) Needs {
	return Needs{
		Nodes:                      modes[nodeRegistered.ID] != rules.Off,
		CertificateSigningRequests: modes[certificateSigningRequestOwn.ID] != rules.Off,
		PersistentVolumeClaims:     modes[claimOwned.ID] != rules.Off,
		PodEnds:                    modes[podEnded.ID] != rules.Off,
		Revocations:                modes[credentialRevoked.ID] != rules.Off,
	}
}

var nodeRegistered = rules.Rule{
	ID: "NA-NODE-4",
	Description: "A node without a Node object may not use what its pods need: no tokens, no pod certificates, no " +
		"writes of pods, no events. It keeps what it needs to register: the reads that all nodes have, its own " +
		"Node, lease and CSINode, and certificate signing requests.",
	Source: "Bulkhead: upstream takes every certificate of a node for a node that exists " +
		"(plugin/pkg/admission/noderestriction/admission.go has a TODO)",
	Extension: true,
	Optional:  true,
}

// ifRegistered allows by rule r if a Node object exists.
func (z *Authorizer) ifRegistered(ctx context.Context, node string, r rules.Rule) rules.Decision {
	if z.optional.node == rules.Off || z.relations.Registered(node) {
		return allow(r)
	}
	return z.ifRegisteredNow(ctx, node, r)
}

// ifRegisteredNow does a live read before it denies: a kubelet sends more requests immediately
// after it has registered.
func (z *Authorizer) ifRegisteredNow(ctx context.Context, node string, r rules.Rule) rules.Decision {
	why := ""
	if z.refresher != nil {
		if why = z.refresher.RefreshNode(ctx, node); z.relations.Registered(node) {
			return allow(r)
		}
	}
	if z.optional.node == rules.Audit {
		return audit(r, nodeRegistered)
	}
	return deny(nodeRegistered, because(noNodeObject(node), why))
}

// eventWrites are the verbs that a node may use on events, in both API groups.
var eventWrites = []string{"create", "update", "patch"}

func (z *Authorizer) authorizeEvent(ctx context.Context, node string, a *request) rules.Decision {
	if v := uniform(events, eventWrites, a); v.Effect != rules.Allow {
		return v
	}
	return z.ifRegistered(ctx, node, events)
}

func noNodeObject(node string) string { return "node '" + node + "' has no Node object" }
