// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"strings"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
)

// accountOf splits the user name of a ServiceAccount. isAccount is true for whatever
// begins as theirs do, wellFormed if it is a name that an API server gives: a namespace
// is a label of RFC 1123, an account a DNS subdomain. It does not allocate.
//
// Source: k8s.io/apiserver/pkg/authentication/serviceaccount SplitUsername;
// k8s.io/apimachinery/pkg/api/validation ValidateNamespaceName, ValidateServiceAccountName.
func accountOf(userName string) (namespace, name string, isAccount, wellFormed bool) {
	rest, isAccount := strings.CutPrefix(userName, serviceaccount.ServiceAccountUsernamePrefix)
	if !isAccount {
		return "", "", false, false
	}
	namespace, name, _ = strings.Cut(rest, serviceaccount.ServiceAccountUsernameSeparator)
	return namespace, name, true, isLabel(namespace) && isDomain(name)
}

// claims are what a token says of the pod that it was made for, and of that pod's node.
type claims struct {
	podName, podUID, nodeName string
	// state says whether the others can be relied on.
	state claimState
}

type claimState uint8

const (
	// brokenClaims are such as no API server writes. It is the zero value.
	brokenClaims claimState = iota
	// noPod is a token that is bound to no pod: of a secret, or requested without one.
	noPod
	// ofPod is a token of a pod. If it names a node, that is where the pod was bound.
	ofPod
)

// readClaims reads the extra of a user. What is there has one value that is not empty;
// pod-name and pod-uid come together, and node-uid does not come without node-name.
//
// Source: k8s.io/apiserver/pkg/authentication/serviceaccount ServiceAccountInfo.UserInfo; KEP-4193.
func readClaims(extra map[string][]string) claims {
	podName, ok1 := claim(extra, serviceaccount.PodNameKey)
	podUID, ok2 := claim(extra, serviceaccount.PodUIDKey)
	nodeName, ok3 := claim(extra, serviceaccount.NodeNameKey)
	nodeUID, ok4 := claim(extra, serviceaccount.NodeUIDKey)
	switch {
	case !ok1 || !ok2 || !ok3 || !ok4, (podName == "") != (podUID == ""), nodeName == "" && nodeUID != "":
		return claims{state: brokenClaims}
	case podName == "":
		return claims{state: noPod}
	default:
		return claims{podName: podName, podUID: podUID, nodeName: nodeName, state: ofPod}
	}
}

// claim is the only value of a key, and empty if the key is not there. It is not ok if
// there are several values, none, or an empty one.
func claim(extra map[string][]string, key string) (value string, ok bool) {
	values, there := extra[key]
	if !there {
		return "", true
	}
	if len(values) != 1 || values[0] == "" {
		return "", false
	}
	return values[0], true
}
