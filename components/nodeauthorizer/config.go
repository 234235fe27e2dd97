// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"context"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Mode is what becomes of a node's request that no rule allows.
type Mode int

const (
	// Compat answers as the in-tree authorizer does: Allow or NoOpinion.
	Compat Mode = iota
	// Strict denies what it does not allow, so that no authorizer behind can
	// allow it. NoOpinion remains for requests that are not a node's, for
	// NA-UNREADY and for the NA-PASS rules.
	Strict
)

// Relations knows which objects are related to which node.
type Relations interface {
	// Relation says whether the node may see the object because something bound to
	// the node refers to it, and what the optional rules make of that. It must not
	// allocate.
	Relation(node string, kind graph.Kind, namespace, name string) graph.Relation
	// Registered reports whether there is a Node object of that name. It must not
	// allocate.
	Registered(node string) bool
}

// Refresher makes sure that [Relations] is not behind the cluster. It is called
// only before a request is refused, or before it is reported that an audited rule
// would have refused it; the wait for it ends with ctx.
type Refresher interface {
	// Refresh has Relations know of everything that could have related the object
	// to the node when it was called. Why is empty if it does now; else it says, as
	// the end of a sentence, why that is not certain.
	Refresh(ctx context.Context, node string, kind graph.Kind, namespace, name string) (why string)
	// RefreshNode does the same for whether there is a Node object of that name.
	RefreshNode(ctx context.Context, node string) (why string)
}

// Config is what an [Authorizer] decides from.
type Config struct {
	// Mode is Compat if unset.
	Mode Mode
	// Features should start from [DefaultFeatures]: the zero value has all off.
	Features Features
	// Relations, if nil, relates nothing to any node.
	Relations Relations
	// Refresher, if nil, confirms nothing: Relations has the last word.
	Refresher Refresher
	// Modes are those of the optional rules; one that is not named is off. Those
	// that rule on what is related, [GraphOptions], must be told to Relations too.
	Modes map[rules.ID]rules.Mode
	// Revoked, if not nil, returns the credentials that are revoked now. It must not
	// allocate.
	Revoked func() *revocationlist.Set
	// Unready says, as the end of a sentence, why Relations is not to be relied
	// on: it does not know the whole cluster yet, or is out of date. While it says
	// anything, and forever if it is nil, every request of a node is left to
	// others. It must not allocate to say nothing.
	Unready func() (why string)
}

// Features are the feature gates of kube-apiserver that change what a node may
// do. They must be set as the API server in front has them. Gates that no
// longer change a decision in 1.37 (DynamicResourceAllocation,
// AuthorizeNodeWithSelectors, …) are left out.
//
// The zero value has everything off; start from [DefaultFeatures].
type Features struct {
	// ServiceAccountTokenForCredentialProviders lets a node read the
	// ServiceAccounts of its pods. So does PodCertificateRequest.
	ServiceAccountTokenForCredentialProviders bool
	// PodCertificateRequest lets a node work with PodCertificateRequests.
	PodCertificateRequest bool
	// ClusterTrustBundle lets every node read ClusterTrustBundles.
	ClusterTrustBundle bool
	// CSIVolumeHealth lets a node report the status of its CSINode.
	CSIVolumeHealth bool
}

// DefaultFeatures are the defaults of Kubernetes 1.37.
func DefaultFeatures() Features {
	return Features{
		ServiceAccountTokenForCredentialProviders: true,
		PodCertificateRequest:                     true,
		ClusterTrustBundle:                        true,
		CSIVolumeHealth:                           false,
	}
}

// ByGate returns the features under the names that kube-apiserver's
// --feature-gates gives them. Writing through the pointers changes f.
func (f *Features) ByGate() map[string]*bool {
	return map[string]*bool{
		"KubeletServiceAccountTokenForCredentialProviders": &f.ServiceAccountTokenForCredentialProviders,
		"PodCertificateRequest":                            &f.PodCertificateRequest,
		"ClusterTrustBundle":                               &f.ClusterTrustBundle,
		"CSIVolumeHealth":                                  &f.CSIVolumeHealth,
	}
}
