// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"context"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Mode is the decision for a node's request that no rule allows.
type Mode int

const (
	// Compat decides as the in-tree authorizer does: Allow or NoOpinion.
	Compat Mode = iota
	// Strict denies every request that no rule allows, so that no later authorizer can allow it.
	// NoOpinion remains for users that are not nodes, for NA-UNREADY and for the NA-PASS rules.
	Strict
)

// Relations knows which objects are related to which node. It must be safe for concurrent use.
type Relations interface {
	// Relation returns whether an object bound to the node refers to this object, so that the node
	// may read it. It also returns which optional rule, if any, applies to that relation.
	Relation(node string, kind graph.Kind, namespace, name string) graph.Relation
	// Registered reports whether a Node object of that name exists.
	Registered(node string) bool
}

// Refresher updates [Relations] from the cluster. The authorizer calls it only before it denies a
// request, or before it reports that an audited rule would deny the request. A call ends with ctx
// at the latest.
type Refresher interface {
	// Refresh updates Relations with every object that can relate this object to the node.
	// Afterwards Relations is at least as new as the start of the call. If that is not certain, why
	// is the reason, as the end of a sentence. Otherwise why is empty.
	Refresh(ctx context.Context, node string, kind graph.Kind, namespace, name string) (why string)
	// RefreshNode does the same for the Node object of that name.
	RefreshNode(ctx context.Context, node string) (why string)
}

// Config is the configuration of an [Authorizer].
type Config struct {
	// Mode is Compat if unset.
	Mode Mode
	// Features should start from [DefaultFeatures]. In the zero value, all features are off.
	Features Features
	// Relations may be nil. Then no object is related to any node.
	Relations Relations
	// Refresher may be nil. Then the authorizer decides from Relations without a live read.
	Refresher Refresher
	// Modes are the modes of the optional rules. A rule that is missing is off. Some of these rules
	// are decided by Relations: create the graph with [GraphOptions] of the same modes.
	Modes map[rules.ID]rules.Mode
	// Revoked returns the currently revoked credentials. It may be nil.
	Revoked func() *revocationlist.Set
	// Unready returns why Relations must not be used, as the end of a sentence: it has not seen the
	// whole cluster yet, or it is out of date. While the reason is not empty, every node request
	// gets NoOpinion. If Unready is nil, every node request gets NoOpinion.
	Unready func() (why string)
	// NewerServer reports whether the API server has a newer minor version than these rules know. In
	// Strict mode, a request for a resource without a rule then gets NoOpinion and a finding, not
	// Deny. It must be false if the version is not known. If it is nil, the version is known.
	NewerServer func() bool
}

// Features are the feature gates of kube-apiserver that change what a node may do. Set them as they
// are set in the API server that calls this authorizer. Gates that no longer change a decision in
// 1.37 (DynamicResourceAllocation, AuthorizeNodeWithSelectors, …) are left out.
//
// In the zero value, all features are off. Start from [DefaultFeatures].
type Features struct {
	// ServiceAccountTokenForCredentialProviders lets a node get the ServiceAccounts of its pods.
	// PodCertificateRequest allows the same.
	ServiceAccountTokenForCredentialProviders bool
	// PodCertificateRequest lets a node create and read PodCertificateRequests.
	PodCertificateRequest bool
	// ClusterTrustBundle lets every node read ClusterTrustBundles.
	ClusterTrustBundle bool
	// CSIVolumeHealth lets a node get, update and patch the status of its CSINode.
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

// ByGate returns the features by their names in kube-apiserver's --feature-gates. A write through
// one of the pointers changes f.
func (f *Features) ByGate() map[string]*bool {
	return map[string]*bool{
		"KubeletServiceAccountTokenForCredentialProviders": &f.ServiceAccountTokenForCredentialProviders,
		"PodCertificateRequest":                            &f.PodCertificateRequest,
		"ClusterTrustBundle":                               &f.ClusterTrustBundle,
		"CSIVolumeHealth":                                  &f.CSIVolumeHealth,
	}
}
