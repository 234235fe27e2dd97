// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

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
