// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"slices"
	"strings"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// entry is a right that may succeed, with the reason why this is acceptable, or how to remove it.
// It covers each combination of its verbs, resources and relations.
type entry struct {
	// who lists names of credentials. A star at the end matches any suffix.
	who string
	// verbs and resources are separated by spaces. A star at the end of a resource matches any
	// suffix.
	verbs, resources string
	// to lists the relations of the objects.
	to []relation
	// objects limits the entry to these objects.
	objects string
	// on limits the entry to a profile. Empty means all judged profiles.
	on Profile
	// unscoped is true for a right that does not exist where node scope is installed.
	unscoped bool
	// inStage limits the entry to the namespace of the stage.
	inStage bool
	why     string
	// neededBy names the client that needs the right, where it reaches beyond the node.
	neededBy string
}

// setting describes the cluster. An entry may depend on it.
type setting struct {
	profile Profile
	scoped  bool
	// namespace is the stage's.
	namespace string
}

// judged reports whether results are compared with the list. On in-tree they are only counted.
func (s setting) judged() bool { return s.profile != InTree }

// applies reports whether the entry applies to such a cluster.
func (e entry) applies(to setting) bool {
	return (e.on == "" || e.on == to.profile) && (!e.unscoped || !to.scoped)
}

// explains reports whether the entry covers this success on that cluster.
func (e entry) explains(a answer, at setting) bool {
	return e.applies(at) && matchesAny(e.who, a.Credential.Name, ", ") &&
		slices.Contains(strings.Fields(e.verbs), a.Verb) &&
		matchesAny(e.resources, a.Resource, " ") && slices.Contains(e.to, a.Relation) &&
		(e.objects == "" || slices.Contains(strings.Fields(e.objects), a.Object)) &&
		(!e.inStage || strings.Contains(a.Path, "/namespaces/"+at.namespace+"/"))
}

// isOutside reports whether the entry allows something beyond the node.
func (e entry) isOutside() bool { return slices.ContainsFunc(e.to, relation.isOutside) }

// matchesAny compares the text with each of the patterns.
func matchesAny(patterns, text, between string) bool {
	return slices.ContainsFunc(strings.Split(patterns, between), func(pattern string) bool {
		before, open := strings.CutSuffix(pattern, "*")
		return pattern == text || open && strings.HasPrefix(text, before)
	})
}

var (
	everything    = []relation{own, other, unrelated}
	itsOwn        = []relation{own}
	unrelatedOnly = []relation{unrelated}
	noObject      = []relation{none}
	others        = []relation{other, unrelated}
)

// reviewed lists what may succeed on hardened and on parity.
var reviewed = slices.Concat(ofEverybody, ofKubelets, ofAccounts, ofTheStage)

// ofEverybody are the rights that each authenticated user has in every cluster.
var ofEverybody = []entry{
	{
		who: "kubelet, stage/*, kube-system/*, bootstrap token", verbs: "create",
		resources: "selfsubjectreviews.authentication.k8s.io selfsubjectaccessreviews.authorization.k8s.io " +
			"selfsubjectrulesreviews.authorization.k8s.io",
		to: noObject, why: "whoever is known may ask who they are and what they may do (system:basic-user): it is about " +
			"the caller alone",
	},
	{
		who: "kubelet, stage/*, kube-system/*, bootstrap token", verbs: "get",
		resources: "/api /api/v1 /apis /apis/apps /apis/apps/v1 /openapi/v2 /openapi/v3 /openapi/v3/api/v1 /healthz /livez " +
			"/readyz /version",
		to: noObject, why: "discovery, health and version are public to whoever is known (system:discovery, " +
			"system:public-info-viewer), and name no object",
	},
	{
		who: "stage/*, kube-system/*", verbs: "get", resources: "/.well-known/openid-configuration /openid/v1/jwks",
		to: noObject, why: "service accounts may read the public keys that their tokens are checked with " +
			"(system:service-account-issuer-discovery)",
	},
	{
		who: "stage/*, kube-system/*", verbs: "get list watch", resources: "clustertrustbundles." + certs,
		to: unrelatedOnly, why: "trust anchors are public to service accounts (system:cluster-trust-bundle-discovery)",
		neededBy: "every pod that mounts a ClusterTrustBundle",
	},
	{
		who: "*", verbs: "get", resources: "kubelet:/ kubelet:/allocatedPods", to: []relation{own, other}, on: Parity,
		why: "nothing is there: a kubelet without a proxy before it says so (404) to whoever asks, and asks nobody " +
			"who that is",
		neededBy: "not needed: it is upstream's answer to an unknown path",
	},
}
