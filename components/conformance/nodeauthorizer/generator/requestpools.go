// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

// question is a request that kubelets make.
type question struct {
	group, resource, subresource string
	namespaced, namedAsNode      bool
	verbs                        []string
}

var (
	getVerb   = []string{"get"}
	readVerbs = []string{"get", "get", "list", "watch"}
	ownVerbs  = []string{"get", "create", "update", "patch", "delete"}
)

var usualQuestions = []question{
	{resource: "secrets", namespaced: true, verbs: readVerbs},
	{resource: "secrets", namespaced: true, verbs: getVerb},
	{resource: "secrets", namespaced: true, verbs: getVerb},
	{resource: "configmaps", namespaced: true, verbs: readVerbs},
	{resource: "configmaps", namespaced: true, verbs: getVerb},
	{resource: "persistentvolumeclaims", namespaced: true, verbs: getVerb},
	{resource: "persistentvolumeclaims", subresource: "status", namespaced: true, verbs: []string{"update", "patch"}},
	{resource: "persistentvolumes", verbs: getVerb},
	{resource: "persistentvolumes", verbs: getVerb},
	{resource: "serviceaccounts", namespaced: true, verbs: getVerb},
	{resource: "serviceaccounts", subresource: "token", namespaced: true, verbs: []string{"create"}},
	{resource: "pods", namespaced: true, verbs: readVerbs},
	{resource: "pods", subresource: "status", namespaced: true, verbs: []string{"patch"}},
	{resource: "nodes", namedAsNode: true, verbs: readVerbs},
	{group: "coordination.k8s.io", resource: "leases", namespaced: true, namedAsNode: true, verbs: ownVerbs},
	{group: "storage.k8s.io", resource: "csinodes", namedAsNode: true, verbs: ownVerbs},
	{group: "storage.k8s.io", resource: "csinodes", subresource: "status", namedAsNode: true, verbs: ownVerbs},
	{group: "storage.k8s.io", resource: "volumeattachments", verbs: getVerb},
	{group: "storage.k8s.io", resource: "volumeattachments", verbs: getVerb},
	{group: "resource.k8s.io", resource: "resourceclaims", namespaced: true, verbs: getVerb},
	{group: "resource.k8s.io", resource: "resourceclaims", namespaced: true, verbs: getVerb},
	{
		group:    "resource.k8s.io",
		resource: "resourceslices",
		verbs:    []string{"get", "update", "patch", "delete", "list", "deletecollection"},
	},
	{group: "certificates.k8s.io", resource: "podcertificaterequests", namespaced: true, verbs: readVerbs},
}

// resource is a resource of the API, or a similar name.
type resource struct{ group, name string }

var resources = []resource{
	{
		"",
		"secrets",
	},
	{"", "configmaps"},
	{"", "persistentvolumeclaims"},
	{"", "persistentvolumes"},
	{"", "serviceaccounts"},
	{
		"",
		"nodes",
	},
	{"", "pods"},
	{"", "services"},
	{"", "events"},
	{"", "endpoints"},
	{"", "namespaces"},
	{"", "bindings"},
	{"coordination.k8s.io", "leases"},
	{"storage.k8s.io", "csinodes"},
	{"storage.k8s.io", "volumeattachments"},
	{"storage.k8s.io", "csidrivers"},
	{"storage.k8s.io", "storageclasses"},
	{"resource.k8s.io", "resourceclaims"},
	{"resource.k8s.io", "resourceslices"},
	{"resource.k8s.io", "deviceclasses"},
	{"certificates.k8s.io", "podcertificaterequests"},
	{"certificates.k8s.io", "certificatesigningrequests"},
	{"certificates.k8s.io", "clustertrustbundles"},
	{"node.k8s.io", "runtimeclasses"},
	{"authentication.k8s.io", "tokenreviews"},
	{"authentication.k8s.io", "selfsubjectreviews"},
	{"authorization.k8s.io", "subjectaccessreviews"},
	{"authorization.k8s.io", "localsubjectaccessreviews"},
	{"authorization.k8s.io", "selfsubjectaccessreviews"},
	{"authorization.k8s.io", "selfsubjectrulesreviews"},
	{"events.k8s.io", "events"},
	{"apps", "daemonsets"},
	{"rbac.authorization.k8s.io", "clusterroles"},
	{
		"",
		"",
	},
	{"*", "*"},
	{"", "Pods"},
	{"", "pods/status"},
	{"", "nodes/status"},
	{"", "nodes/proxy"},
	{"", "pods/eviction"},
	{"", "serviceaccounts/token"},
	{"", "persistentvolumeclaims/status"},
	{"storage.k8s.io", "csinodes/status"},
	{"", "https://audience.example"},
}

var (
	verbs    = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
	oddVerbs = []string{
		"",
		"*",
		"GET",
		"impersonate",
		"bind",
		"proxy",
		"request-serviceaccounts-token-audience",
		"request-serviceaccounts-podcertificate-signer",
	}
	subresources = []string{
		"status",
		"token",
		"eviction",
		"proxy",
		"exec",
		"attach",
		"log",
		"binding",
		"ephemeralcontainers",
		"resize",
		"scale",
		"approval",
		"selfnodeclient",
		"nodeclient",
		"*",
		"Status",
	}

	anyNamespaces = []string{"", "ns1", "ns1", "ns2", "kube-system", "kube-node-lease", "default", "*"}
	anyNames      = []string{
		"",
		"a",
		"a",
		"b",
		"c",
		"a-a",
		"b-a",
		"n1",
		"n2",
		"kubeadm-config",
		"kubelet-config",
		"kube-proxy",
		"*",
		"none",
	}
	nodeNames = []string{"n1", "n2", "n3", "n1", "n2", "n3", "", "a"}
	versions  = []string{"v1", "v1", "v1", "v1", "v1beta1", "", "*"}

	paths = []string{
		"/api",
		"/api/v1",
		"/apis",
		"/apis/",
		"/openapi/v3",
		"/version",
		"/version/",
		"/healthz",
		"/livez",
		"/readyz",
		"/healthz/etcd",
		"/metrics",
		"/logs",
		"/",
		"",
		"*",
		"/api/v1/nodes/n1/proxy",
		"/debug/pprof",
		"/.well-known/openid-configuration",
	}
)
