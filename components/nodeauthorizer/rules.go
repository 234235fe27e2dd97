// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import "github.com/bulkhead-k8s/bulkhead/components/rules"

// Rules are all the promises of this component, in the order of its
// documentation. Each owns a class of requests, within which it both allows and
// refuses; those without an allowance of their own stand before or behind
// all others: NA-REVOKE-1, NA-IDENT-1, NA-UNREADY, NA-LIMIT and NA-DEFAULT. The optional rules
// only refuse, what the rule of the class would allow.
var Rules = []rules.Rule{
	credentialRevoked.Rule,
	identityNamed.Rule,
	secretGet.Rule,
	secretList.Rule,
	secretUnwatched.Rule,
	configMapGet.Rule,
	configMapList.Rule,
	configMapUnwatched.Rule,
	claimGet.Rule,
	claimStatus.Rule,
	claimOwned.Rule,
	volumeGet.Rule,
	volumeAttachmentGet.Rule,
	resourceClaimGet.Rule,
	serviceAccountGet.Rule,
	serviceAccountToken.Rule,
	serviceAccountUsable.Rule,
	nodeRead.Rule,
	nodeWrite.Rule,
	nodeStatus.Rule,
	nodeRegistered.Rule,
	podGet.Rule,
	podList.Rule,
	podWrite.Rule,
	podStatus.Rule,
	podEviction.Rule,
	podEnded.Rule,
	leaseCreate.Rule,
	leaseDelete.Rule,
	leaseOwnName.Rule,
	csiNodeCreate.Rule,
	csiNodeOwnName.Rule,
	sliceCreate.Rule,
	sliceOwn.Rule,
	sliceSelected.Rule,
	podCertificateCreate.Rule,
	podCertificateGet.Rule,
	podCertificateSelected.Rule,
	tokenReviews.Rule,
	subjectAccessReviews.Rule,
	localSubjectAccessReviews.Rule,
	services.Rule,
	events.Rule,
	endpoints.Rule,
	endpointsReferenced.Rule,
	certificateSigningRequests.Rule,
	certificateSigningRequestOwn.Rule,
	csiDrivers.Rule,
	runtimeClasses.Rule,
	clusterTrustBundles.Rule,
	passPaths.Rule,
	passSelfReviews.Rule,
	passSelfNodeClient.Rule,
	passKubeadm.Rule,
	passAdmissionQuestions.Rule,
	nothingElse.Rule,
	unready.Rule,
	limit.Rule,
}
