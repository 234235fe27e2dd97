// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// Rules are all rules of this component, in the order of its
// documentation. Each owns a class of requests, within which it both allows and
// refuses; those without an allowance of their own stand before or behind
// all others: NA-REVOKE-1, NA-IDENT-1, NA-UNREADY, NA-LIMIT and NA-DEFAULT. The optional rules
// only refuse, what the rule of the class would allow.
var Rules = []rules.Rule{
	credentialRevoked,
	identityNamed,
	secretGet,
	secretList,
	secretUnwatched,
	configMapGet,
	configMapList,
	configMapUnwatched,
	claimGet,
	claimStatus,
	claimOwned,
	volumeGet,
	volumeAttachmentGet,
	resourceClaimGet,
	serviceAccountGet,
	serviceAccountToken,
	serviceAccountUsable,
	nodeRead,
	nodeWrite,
	nodeStatus,
	nodeRegistered,
	podGet,
	podList,
	podWrite,
	podStatus,
	podEviction,
	podEnded,
	leaseCreate,
	leaseDelete,
	leaseOwnName,
	csiNodeCreate,
	csiNodeOwnName,
	sliceCreate,
	sliceOwn,
	sliceSelected,
	podCertificateCreate,
	podCertificateGet,
	podCertificateSelected,
	tokenReviews,
	subjectAccessReviews,
	localSubjectAccessReviews,
	services,
	events,
	endpoints,
	endpointsReferenced,
	certificateSigningRequests,
	certificateSigningRequestOwn,
	csiDrivers,
	runtimeClasses,
	clusterTrustBundles,
	passPaths,
	passSelfReviews,
	passSelfNodeClient,
	passKubeadm,
	passAdmissionQuestions,
	nothingElse,
	unready,
	limit,
}
