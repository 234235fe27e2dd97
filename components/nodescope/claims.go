// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope

import (
	"strings"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
)

// accountOf splits the user name of a ServiceAccount. The result isAccount is true for every
// name with the prefix of ServiceAccounts. The result wellFormed is true for a name that an API
// server can assign: the namespace is a label of RFC 1123, the account a DNS subdomain.
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

// claims are what a token says about its pod, and about the node of that pod.
type claims struct {
	podName, podUID, nodeName string
	// state says whether the other fields are valid.
	state claimState
}

type claimState uint8

const (
	// brokenClaims are claims that no API server writes. This is the zero value.
	brokenClaims claimState = iota
	// noPod is a token that is not bound to a pod: a token of a secret, or one requested
	// without a pod.
	noPod
	// ofPod is a token of a pod. If the token names a node, the pod was bound to that node.
	ofPod
)

// readClaims reads the extra fields of a user. Each claim that is present must have exactly one
// value, which is not empty. pod-name and pod-uid must be present together. node-uid must not
// be present without node-name.
//
// Source: k8s.io/apiserver/pkg/authentication/serviceaccount ServiceAccountInfo.UserInfo;
// KEP-4193.
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

// ClaimedNode returns the node name in a pod's token, and true: every user has limits. The pods of
// one node share them, and so do all users without exactly one node name. The API server has
// verified the token. The policy checks whether the pod is really on that node.
func ClaimedNode(u user.Info) (node string, limited bool) {
	node, _ = claim(u.GetExtra(), serviceaccount.NodeNameKey)
	return node, true
}

// claim returns the only value of a key, and an empty string if the key is absent. ok is false
// if the key is present with no value, several values, or an empty one.
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
