// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

// Features are the feature gates of kube-apiserver that change what a node may
// write. They must be set as the API server in front has them. Gates that no
// longer change a decision in 1.37 (DynamicResourceAllocation, …) are left out.
//
// The zero value has everything off; start from [DefaultFeatures].
type Features struct {
	// ServiceAccountNodeAudienceRestriction holds the audience of a token that a node
	// asks for to those that its pod uses.
	ServiceAccountNodeAudienceRestriction bool
	// PodCertificateRequest lets a node make PodCertificateRequests for its pods.
	PodCertificateRequest bool
	// RecoverVolumeExpansionFailure lets a node report what a claim's expansion was
	// allocated. It can be off only on servers before 1.34.
	RecoverVolumeExpansionFailure bool
	// AllowInsecureKubeletCertificateSigningRequests lets a node ask for a kubelet
	// certificate in any name.
	AllowInsecureKubeletCertificateSigningRequests bool
	// CSIVolumeHealth lets a node report the status of its CSINode.
	CSIVolumeHealth bool
}

// DefaultFeatures are the defaults of Kubernetes 1.37.
func DefaultFeatures() Features {
	return Features{
		ServiceAccountNodeAudienceRestriction:          true,
		PodCertificateRequest:                          true,
		RecoverVolumeExpansionFailure:                  true,
		AllowInsecureKubeletCertificateSigningRequests: false,
		CSIVolumeHealth:                                false,
	}
}

// ByGate returns the features under the names that kube-apiserver's
// --feature-gates gives them. Writing through the pointers changes f.
func (f *Features) ByGate() map[string]*bool {
	return map[string]*bool{
		"ServiceAccountNodeAudienceRestriction":          &f.ServiceAccountNodeAudienceRestriction,
		"PodCertificateRequest":                          &f.PodCertificateRequest,
		"RecoverVolumeExpansionFailure":                  &f.RecoverVolumeExpansionFailure,
		"AllowInsecureKubeletCertificateSigningRequests": &f.AllowInsecureKubeletCertificateSigningRequests,
		"CSIVolumeHealth":                                &f.CSIVolumeHealth,
	}
}
