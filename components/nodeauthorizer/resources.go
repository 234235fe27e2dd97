// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer

import (
	"context"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// authorizeResource, with the functions of single API groups below, is the only list of the
// resources that nodes may access, in all versions. It compares with constants, because a table
// lookup took a fifth of the time of most decisions. unknownResource decides all other resources.
func (z *Authorizer) authorizeResource(ctx context.Context, node string, a *request) rules.Decision {
	switch a.APIGroup {
	case "":
		return z.authorizeCore(ctx, node, a)
	case "storage.k8s.io":
		return z.authorizeStorage(ctx, node, a)
	case "resource.k8s.io":
		return z.authorizeDevices(ctx, node, a)
	case "certificates.k8s.io":
		return z.authorizeCertificates(ctx, node, a)
	case "authentication.k8s.io":
		return z.authorizeAuthentication(a)
	case "authorization.k8s.io":
		return z.authorizeAuthorization(a)
	}
	switch {
	case a.APIGroup == "coordination.k8s.io" && a.Resource == "leases":
		return authorizeLease(node, a)
	case a.APIGroup == "events.k8s.io" && a.Resource == "events":
		return z.authorizeEvent(ctx, node, a)
	case a.APIGroup == "node.k8s.io" && a.Resource == "runtimeclasses":
		return uniform(runtimeClasses, readOnly, a)
	}
	return z.unknownResource(a)
}

func (z *Authorizer) authorizeCore(ctx context.Context, node string, a *request) rules.Decision {
	switch a.Resource {
	case "secrets":
		return z.authorizeSecret(ctx, node, a)
	case "configmaps":
		return z.authorizeConfigMap(ctx, node, a)
	case "persistentvolumeclaims":
		return z.authorizePersistentVolumeClaim(ctx, node, a)
	case "persistentvolumes":
		return z.authorizePersistentVolume(ctx, node, a)
	case "serviceaccounts":
		return z.authorizeServiceAccount(ctx, node, a)
	case "nodes":
		return authorizeNode(node, a)
	case "endpoints":
		return z.authorizeEndpoints(node, a)
	case "pods":
		return z.authorizePod(ctx, node, a)
	case "services":
		return uniform(services, readOnly, a)
	case "events":
		return z.authorizeEvent(ctx, node, a)
	}
	return z.unknownResource(a)
}

func (z *Authorizer) authorizeStorage(ctx context.Context, node string, a *request) rules.Decision {
	switch a.Resource {
	case "csinodes":
		return z.authorizeCSINode(node, a)
	case "volumeattachments":
		return z.authorizeVolumeAttachment(ctx, node, a)
	case "csidrivers":
		return uniform(csiDrivers, readOnly, a)
	}
	return z.unknownResource(a)
}

func (z *Authorizer) authorizeDevices(ctx context.Context, node string, a *request) rules.Decision {
	switch a.Resource {
	case "resourceclaims":
		return z.authorizeResourceClaim(ctx, node, a)
	case "resourceslices":
		return z.authorizeResourceSlice(ctx, node, a)
	}
	return z.unknownResource(a)
}

func (z *Authorizer) authorizeCertificates(ctx context.Context, node string, a *request) rules.Decision {
	switch a.Resource {
	case "podcertificaterequests":
		return z.authorizePodCertificateRequest(ctx, node, a)
	case "certificatesigningrequests":
		return z.authorizeCertificateSigningRequest(ctx, node, a)
	case "clustertrustbundles":
		return z.authorizeClusterTrustBundle(a)
	}
	return z.unknownResource(a)
}

func (z *Authorizer) authorizeAuthentication(a *request) rules.Decision {
	switch a.Resource {
	case "tokenreviews":
		return uniform(tokenReviews, createOnly, a)
	case "selfsubjectreviews":
		return authorizeSelfReview(a)
	}
	return z.unknownResource(a)
}

func (z *Authorizer) authorizeAuthorization(a *request) rules.Decision {
	switch a.Resource {
	case "subjectaccessreviews":
		return uniform(subjectAccessReviews, createOnly, a)
	case "localsubjectaccessreviews":
		return uniform(localSubjectAccessReviews, createOnly, a)
	case "selfsubjectaccessreviews", "selfsubjectrulesreviews":
		return authorizeSelfReview(a)
	}
	return z.unknownResource(a)
}

// unknownResource denies a request for a resource that no rule names. In a newer Kubernetes, a
// kubelet may need this resource. So the request is left to the next authorizers there, and the
// denial is only a finding. Compat mode leaves it to them in every version, without a finding.
func (z *Authorizer) unknownResource(a *request) rules.Decision {
	d := noRule(nothingElse, a)
	if z.mode == Strict && z.newer() {
		return d.AsFinding(rules.NoOpinion)
	}
	return d
}
