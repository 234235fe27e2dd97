// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"regexp"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// upstreamText maps a message of upstream's plugin to the rule of this package that makes the same
// decision. In the profile "hardened", Kubernetes' own NodeRestriction plugin runs before every
// webhook. So it denies first, and its message has no rule ID.
type upstreamText struct {
	rule rules.Rule
	// message is matched against the whole message of a denial.
	message *regexp.Regexp
}

// ofPodCertificate is the beginning of a message about a PodCertificateRequest: a denial, or a plain
// error of the plugin.
const ofPodCertificate = `^(?:podcertificaterequests\..*|Internal error occurred: |)`

// The order of upstreamTexts has no meaning: at most one entry matches a message. Source:
// plugin/pkg/admission/noderestriction/admission.go.
var upstreamTexts = []upstreamText{
	{identityNamed, regexp.MustCompile(`could not determine node from user "`)},

	{podMirror, regexp.MustCompile(`^pods .*pod does not have "kubernetes\.io/config\.mirror" annotation`)},
	{podOwned, regexp.MustCompile(
		`^pods .*can only create pods with (spec\.nodeName set|a single owner reference|an owner reference|` +
			`a controller owner reference)`)},
	{podOwned, regexp.MustCompile(`^pods .*must not set blockOwnerDeletion on an owner reference`)},
	{podOwned, regexp.MustCompile(`^pods .*node \S+ UID mismatch: expected \S+ got`)},
	{podOwned, regexp.MustCompile(`^pods .*error looking up node \S+ to verify uid: `)},
	{podReferences, regexp.MustCompile(
		`^pods .*(can not create pods that reference|error checking mirror pod for API references)`)},
	{podDelete, regexp.MustCompile(`^pods .*can only delete pods with spec\.nodeName set to itself`)},
	{podUpdate, regexp.MustCompile(`^pods .*can only create and delete mirror pods$`)},
	{podStatusBound, regexp.MustCompile(`^pods .*can only update pod status for pods with spec\.nodeName set to itself`)},
	{podStatusFields, regexp.MustCompile(`^pods .*cannot update (labels through pod status|resource claim statues|` +
		`extended resource claim status|node allocatable resource claim statuses)`)},
	{podEviction, regexp.MustCompile(
		`^pods .*(can only evict pods with spec\.nodeName set to itself|could not determine pod from request data)`)},
	{podSubresource, regexp.MustCompile(`^pods .*unexpected pod subresource "`)},

	{nodeOwnName, regexp.MustCompile(`^nodes .*is not allowed to modify node "`)},
	{nodeConfigSource, regexp.MustCompile(`^nodes .*non-nil configSource`)},
	{nodeLabels, regexp.MustCompile(`^nodes .*is not allowed to (set the following|modify) labels: `)},
	{nodeTaints, regexp.MustCompile(`^nodes .*is not allowed to modify taints$`)},
	{nodeOwners, regexp.MustCompile(`^nodes .*is not allowed to modify ownerReferences$`)},

	{claimStatusOnly, regexp.MustCompile(
		`^persistentvolumeclaims .*(may only update PVC status$|unexpected operation ")`)},
	{claimStatusFields, regexp.MustCompile(
		`^persistentvolumeclaims .*is not allowed to update fields other than status\.quantity`)},

	{tokenOfPod, regexp.MustCompile(
		`^serviceaccounts .*node requested token (not bound to a pod|with a pod binding without a uid)$`)},
	{tokenOfLivePod, regexp.MustCompile(
		`^serviceaccounts .*the UID in the bound object reference \(.*\) does not match the UID in record`)},
	{tokenOfOwnPod, regexp.MustCompile(
		`^serviceaccounts .*node requested token bound to a pod scheduled on a different node$`)},
	{tokenAudience, regexp.MustCompile(
		`^serviceaccounts .*(node may only request 0 or 1 audiences|error validating audience "|` +
			`error authorizing \S+ to request tokens for audience "|` +
			`is not authorized to request tokens for (audience "|this audience))`)},

	{podCertificateCreate, regexp.MustCompile(
		`^podcertificaterequests\..*(PodCertificateRequest feature gate is disabled$|` +
			`unexpected operation |unexpected subresource )`)},
	// Some of these are not denials: the plugin returns a plain error, so that the kubelet tries again.
	// The API server sends it as an internal error.
	{podCertificateNode, regexp.MustCompile(`^podcertificaterequests\..*which is not the requesting node "`)},
	{podCertificateNode, regexp.MustCompile(
		ofPodCertificate + `while retrieving node ".*" named in the PodCertificateRequest`)},
	{podCertificateNode, regexp.MustCompile(
		ofPodCertificate + `PodCertificateRequest for pod "[^"]*" names node UID ".*inconsistent with the running node`)},
	{podCertificatePod, regexp.MustCompile(`^podcertificaterequests\..*(is not running on node ".*" named in the ` +
		`PodCertificateRequest|is a mirror pod)`)},
	{podCertificatePod, regexp.MustCompile(
		ofPodCertificate + `while retrieving pod ".*" named in the PodCertificateRequest`)},
	{podCertificatePod, regexp.MustCompile(
		ofPodCertificate + `PodCertificateRequest for pod "[^"]*" contains pod UID \(".*which differs from running pod`)},
	{podCertificateAccount, regexp.MustCompile(`^podcertificaterequests\..*contains serviceAccountName`)},
	{podCertificateAccount, regexp.MustCompile(
		ofPodCertificate + `while retrieving service account ".*" named in the PodCertificateRequest`)},
	{podCertificateAccount, regexp.MustCompile(
		ofPodCertificate + `PodCertificateRequest for pod "[^"]*" names service account UID ".*which differs from`)},
	{podCertificateSigner, regexp.MustCompile(
		`^podcertificaterequests\..*(error authorizing \S+ to request podcertificaterequests|` +
			`does not mount a podCertificate projected volume for signer ")`)},

	{leaseOwnName, regexp.MustCompile(
		`^leases\..*can only access (leases in the "kube-node-lease"|node lease with the same name)`)},
	{csiNodeOwnName, regexp.MustCompile(
		`^csinodes\..*(can only access CSINode with the same name|unable to access the object name)`)},
	{csiNodeStatus, regexp.MustCompile(
		`^csinodes\..*(CSIVolumeHealth feature gate is disabled|is not allowed to modify CSINode spec via status|` +
			`unexpected operation ")`)},
	{sliceCreate, regexp.MustCompile(`^resourceslices\..*can only create ResourceSlice with the same NodeName`)},
	{sliceDelete, regexp.MustCompile(`^resourceslices\..*can only delete ResourceSlice with the same NodeName`)},
	{certificateOwnName, regexp.MustCompile(
		`^certificatesigningrequests\..*(can only create a node CSR with CN=|unable to parse csr: )`)},
}

// RuleOfUpstream returns the rule that makes the same decision as upstream's NodeRestriction
// plugin. message is the message of the plugin's denial: Status.message, as a client or the audit
// log shows it. RuleOfUpstream returns "" for any other message. It is safe for concurrent use.
func RuleOfUpstream(message string) rules.ID {
	for _, t := range upstreamTexts {
		if t.message.MatchString(message) {
			return t.rule.ID
		}
	}
	return ""
}
