// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	"sigs.k8s.io/e2e-framework/klient/k8s"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

func aSecret(namespace, name string) k8s.Object    { return fixtures.Secret(namespace, name) }
func aConfigMap(namespace, name string) k8s.Object { return fixtures.ConfigMap(namespace, name) }
func aDevice(namespace, name string) k8s.Object    { return fixtures.ResourceClaim(namespace, name) }

var _ = DescribeTable("a node and a secret", decide,
	Entry("gets one that a pod on it mounts", Allows("NA-SECRET-1"),
		used(own, aSecret, fixtures.WithSecret, named(Get(api.Secrets)))),
	Entry("does not get one that a pod on another node mounts", Denies("NA-SECRET-1"),
		used(other, aSecret, fixtures.WithSecret, named(Get(api.Secrets))), unrelated),
	Entry("gets one that a pod on it has in its environment", Allows("NA-SECRET-1"),
		used(own, aSecret, fixtures.WithSecretInEnv, named(Get(api.Secrets)))),
	Entry("does not get one that a pod on another node has in its environment", Denies("NA-SECRET-1"),
		used(other, aSecret, fixtures.WithSecretInEnv, named(Get(api.Secrets))), unrelated),
	Entry("gets one that pulls the image of a pod on it", Allows("NA-SECRET-1"),
		used(own, aSecret, fixtures.WithPullSecret, named(Get(api.Secrets)))),
	Entry("does not get one that pulls the image of a pod on another node", Denies("NA-SECRET-1"),
		used(other, aSecret, fixtures.WithPullSecret, named(Get(api.Secrets))), unrelated),
	Entry("does not get one that no pod uses", Denies("NA-SECRET-1"),
		unused(aSecret, named(Get(api.Secrets))), unrelated),
	Entry("does not get one that does not exist", Denies("NA-SECRET-1"),
		inNamespace(func(ns string) Request { return Get(api.Secrets).In(ns).Named("never-was") }), unrelated),
	Entry("does not update one that a pod on it mounts", Denies("NA-SECRET-1"),
		used(own, aSecret, fixtures.WithSecret, func(ns, name string) Request {
			return Update(api.Secrets).In(ns).Named(name).With(aSecret(ns, name))
		}), onlyReads),
	Entry("does not delete one that a pod on it mounts", Denies("NA-SECRET-1"),
		used(own, aSecret, fixtures.WithSecret, named(Delete(api.Secrets))), onlyReads),
	Entry("does not create one", Denies("NA-SECRET-1"),
		inNamespace(func(ns string) Request { return Create(api.Secrets).In(ns).With(aSecret(ns, "new")) }), onlyReads),
	Entry("does not get a subresource of one that a pod on it mounts", Denies("NA-SECRET-1"),
		used(own, aSecret, fixtures.WithSecret, named(Get(api.Secrets).Sub("scale"))), noSubresource),

	Entry("lists one by name that a pod on it mounts", Allows("NA-SECRET-2"),
		used(own, aSecret, fixtures.WithSecret, selected(List(api.Secrets)))),
	Entry("does not list one by name that a pod on another node mounts", Denies("NA-SECRET-2"),
		used(other, aSecret, fixtures.WithSecret, selected(List(api.Secrets))), unrelated),
	Entry("does not list the namespace of one that a pod on it mounts", Denies("NA-SECRET-2"),
		used(own, aSecret, fixtures.WithSecret, unselected(List(api.Secrets))), noName),
	Entry("does not list secrets of all namespaces", Denies("NA-SECRET-2"),
		used(own, aSecret, fixtures.WithSecret, clusterWide(List(api.Secrets))), onlyNamespaced),
	Entry("watches one by name that a pod on it mounts", Allows("NA-SECRET-2"),
		used(own, aSecret, fixtures.WithSecret, selected(Watch(api.Secrets)))),
	Entry("does not watch one by name that a pod on another node mounts", Denies("NA-SECRET-2"),
		used(other, aSecret, fixtures.WithSecret, selected(Watch(api.Secrets))), unrelated),
	Entry("does not watch the namespace of one that a pod on it mounts", Denies("NA-SECRET-2"),
		used(own, aSecret, fixtures.WithSecret, unselected(Watch(api.Secrets))), noName),
	Entry("watches one on the old watch path that a pod on it mounts", Allows("NA-SECRET-2"),
		used(own, aSecret, fixtures.WithSecret, named(Watch(api.Secrets).OnWatchPath()))),
	Entry("does not watch one on the old watch path that a pod on another node mounts", Denies("NA-SECRET-2"),
		used(other, aSecret, fixtures.WithSecret, named(Watch(api.Secrets).OnWatchPath())), unrelated),
)

var _ = DescribeTable("a node and a config map", decide,
	Entry("gets one that a pod on it mounts", Allows("NA-CM-1"),
		used(own, aConfigMap, fixtures.WithConfigMap, named(Get(api.ConfigMaps)))),
	Entry("does not get one that a pod on another node mounts", Denies("NA-CM-1"),
		used(other, aConfigMap, fixtures.WithConfigMap, named(Get(api.ConfigMaps))), unrelated),
	Entry("gets one that a pod on it has in its environment", Allows("NA-CM-1"),
		used(own, aConfigMap, fixtures.WithConfigMapInEnv, named(Get(api.ConfigMaps)))),
	Entry("does not get one that no pod uses", Denies("NA-CM-1"),
		unused(aConfigMap, named(Get(api.ConfigMaps))), unrelated),
	Entry("does not delete one that a pod on it mounts", Denies("NA-CM-1"),
		used(own, aConfigMap, fixtures.WithConfigMap, named(Delete(api.ConfigMaps))), onlyReads),

	Entry("lists one by name that a pod on it mounts", Allows("NA-CM-2"),
		used(own, aConfigMap, fixtures.WithConfigMap, selected(List(api.ConfigMaps)))),
	Entry("does not list one by name that a pod on another node mounts", Denies("NA-CM-2"),
		used(other, aConfigMap, fixtures.WithConfigMap, selected(List(api.ConfigMaps))), unrelated),
	Entry("watches one by name that a pod on it mounts", Allows("NA-CM-2"),
		used(own, aConfigMap, fixtures.WithConfigMap, selected(Watch(api.ConfigMaps)))),
	Entry("does not watch the namespace of one that a pod on it mounts", Denies("NA-CM-2"),
		used(own, aConfigMap, fixtures.WithConfigMap, unselected(Watch(api.ConfigMaps))), noName),
)

var _ = DescribeTable("a node and a resource claim", decide,
	Entry("gets one that a pod on it uses", Allows("NA-CLAIM-1"),
		used(own, aDevice, fixtures.WithResourceClaim, named(Get(api.ResourceClaims)))),
	Entry("does not get one that a pod on another node uses", Denies("NA-CLAIM-1"),
		used(other, aDevice, fixtures.WithResourceClaim, named(Get(api.ResourceClaims))), unrelated),
	Entry("does not list one by name that a pod on it uses", Denies("NA-CLAIM-1"),
		used(own, aDevice, fixtures.WithResourceClaim, selected(List(api.ResourceClaims))), onlyIndividuals),
	Entry("does not get the status of one that a pod on it uses", Denies("NA-CLAIM-1"),
		used(own, aDevice, fixtures.WithResourceClaim, named(Get(api.ResourceClaims).Sub("status"))), noGetOfSub),
)

// attached creates a volume attachment for a node.
func attached(where place, question ask) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		e.Node(ctx, e.Own)
		attachment := fixtures.VolumeAttachment(e.NewName("attachment"), e.NewName("volume"), where(e))
		e.Put(ctx, attachment)
		return question("", attachment.Name)
	}
}

var _ = DescribeTable("a node and a volume attachment", decide,
	Entry("gets one that attaches to it", Allows("NA-VA-1"), attached(own, named(Get(api.VolumeAttachments)))),
	Entry("does not get one that attaches to another node", Denies("NA-VA-1"),
		attached(other, named(Get(api.VolumeAttachments))), unrelated),
	Entry("does not list volume attachments by name", Denies("NA-VA-1"),
		attached(own, selected(List(api.VolumeAttachments))), onlyIndividuals),
	Entry("does not delete one that attaches to it", Denies("NA-VA-1"),
		attached(own, named(Delete(api.VolumeAttachments))), onlyIndividuals),
)
