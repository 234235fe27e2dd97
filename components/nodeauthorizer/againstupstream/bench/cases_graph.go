// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package bench

// UpstreamCases are the ten requests of upstream's BenchmarkAuthorization, to be
// asked in a world of shape Population.
func UpstreamCases() []Case {
	cases := []Case{
		allowed("get configmaps ns0/configmap0-pod0-node0"),
		allowed("get secrets ns0/secret0-pod0-node0"),
		allowed("get secrets ns0/secret0-shared"),
		refused("get configmaps ns0/configmap0-pod0-node1"),
		refused("get secrets ns0/secret0-pod0-node1"),
		refused("get secrets ns0/secret-pv0-pod0-node1-ns0"),
		refused("get persistentvolumeclaims ns0/pvc0-pod0-node1"),
		refused("get persistentvolumes pv0-pod0-node1-ns0"),
		refused("get volumeattachments.storage.k8s.io attachment0-node1"),
		allowed("get volumeattachments.storage.k8s.io attachment0-node0"),
	}
	for i := range cases {
		cases[i].Parallelism = 5000
	}
	return cases
}

// UnauthorizedCases is the request of upstream's BenchmarkUnauthorizedRequests: a
// node asks for what all other nodes may read, in a world of shape Unauthorized.
func UnauthorizedCases() []Case {
	c := refused("get configmaps ns0/configmap0-shared").by(nodeX)
	c.Parallelism = 500
	return []Case{c}
}

// GraphCases ask for every resource that the graph decides on, once for what
// node0 may see, and once for what only another node may, in a world with
// Everything.
func GraphCases() []Case {
	cases := []Case{
		refused("get secrets ns0/no-such-secret"),
		refused("get configmaps no-such-namespace/x"),
	}
	for _, each := range []string{
		"get secrets ns0/secret0-pod0-", "list secrets ns0/secret0-pod0-", "watch secrets ns0/secret0-pod0-",
		"get configmaps ns0/configmap0-pod0-", "watch configmaps ns0/configmap0-pod0-",
		"get persistentvolumeclaims ns0/pvc0-pod0-", "patch persistentvolumeclaims/status ns0/pvc0-pod0-",
		"get resourceclaims.resource.k8s.io ns0/claim0-pod0-",
		"get volumeattachments.storage.k8s.io attachment0-",
		"get resourceslices.resource.k8s.io slice0-", "update resourceslices.resource.k8s.io slice0-",
		"delete resourceslices.resource.k8s.io slice0-",
		"get podcertificaterequests.certificates.k8s.io ns0/pcr0-pod0-",
		"get serviceaccounts ns0/svcacct-pod0-", "create serviceaccounts/token ns0/svcacct-pod0-",
		"get pods ns0/pod0-", "list pods ns0/pod0-", "watch pods ns0/pod0-",
	} {
		cases = append(cases, allowed(each+"node0"), refused(each+"node1"))
	}
	return append(cases,
		allowed("get persistentvolumes pv0-pod0-node0-ns0"), refused("get persistentvolumes pv0-pod0-node1-ns0"),
		allowed("get secrets ns0/secret-pv0-pod0-node0-ns0"), refused("get secrets ns0/secret-pv0-pod0-node1-ns0"))
}
