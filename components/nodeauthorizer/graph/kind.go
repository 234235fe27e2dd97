// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

// Kind says what sort of object a question is about.
type Kind uint8

// The kinds of objects that can be related to a node.
const (
	Secret Kind = iota
	ConfigMap
	PersistentVolumeClaim
	PersistentVolume
	ResourceClaim
	ServiceAccount
	VolumeAttachment
	ResourceSlice
	PodCertificateRequest
	Pod
	// ServiceAccountToken is asked with the namespace and name of the account: it is
	// the right to request the account's tokens.
	ServiceAccountToken
	CertificateSigningRequest

	kindCount = iota

	// claimRecord is stored for who owns a claim, and cannot be asked about.
	claimRecord = Kind(kindCount)
	storedKinds = kindCount + 1
)

var kindNames = [kindCount]string{
	Secret:                    "secret",
	ConfigMap:                 "configmap",
	PersistentVolumeClaim:     "persistentvolumeclaim",
	PersistentVolume:          "persistentvolume",
	ResourceClaim:             "resourceclaim",
	ServiceAccount:            "serviceaccount",
	VolumeAttachment:          "volumeattachment",
	ResourceSlice:             "resourceslice",
	PodCertificateRequest:     "podcertificaterequest",
	Pod:                       "pod",
	ServiceAccountToken:       "serviceaccounttoken",
	CertificateSigningRequest: "certificatesigningrequest",
}

// String is the kind's name in lower case and singular, as metrics label it.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return "unknown"
	}
	return kindNames[k]
}

// Kinds lists every kind.
func Kinds() []Kind {
	kinds := make([]Kind, kindCount)
	for i := range kinds {
		kinds[i] = Kind(i)
	}
	return kinds
}
