// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// storage is a claim, its bound volume, and the secret that is needed to mount the volume.
type storage struct{ namespace, claim, volume, secret string }

// storageOn creates storage and a pod on a node that uses it.
func storageOn(where place, question func(storage) Request) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		made := storage{e.Namespace(ctx), e.NewName("claim"), e.NewName("volume"), e.NewName("secret")}
		e.Put(ctx,
			fixtures.Secret(made.namespace, made.secret),
			fixtures.Volume(made.volume, made.namespace, made.claim, made.secret),
			fixtures.Claim(made.namespace, made.claim, made.volume),
		)
		e.Pod(ctx, where(e), fixtures.WithClaim(made.claim))
		return question(made)
	}
}

func ofClaim(r Request) func(storage) Request {
	return func(made storage) Request { return r.In(made.namespace).Named(made.claim) }
}

func ofVolume(r Request) func(storage) Request {
	return func(made storage) Request { return r.Named(made.volume) }
}

func ofVolumeSecret(r Request) func(storage) Request {
	return func(made storage) Request { return r.In(made.namespace).Named(made.secret) }
}

// ownedClaim is the claim of the ephemeral volume of a pod on the node. The spec creates the claim,
// because kube-controller-manager may create it later.
func ownedClaim(question ask) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		pod := e.Pod(ctx, e.Own, fixtures.WithEphemeralClaim())
		claim := fixtures.EphemeralClaim(pod)
		if err := e.Objects.Create(ctx, claim); !apierrors.IsAlreadyExists(err) {
			Expect(err).NotTo(HaveOccurred())
		}
		return question(claim.Namespace, claim.Name)
	}
}

// foreignClaim has the name of the claim of a pod's ephemeral volume, but was created before the
// pod.
func foreignClaim(question ask) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		pod := fixtures.Pod(e.Namespace(ctx), e.NewName("pod"), e.Own, fixtures.WithEphemeralClaim())
		e.Node(ctx, e.Own)
		claim := fixtures.EphemeralClaim(pod)
		claim.OwnerReferences = nil
		e.Put(ctx, claim, pod)
		return question(claim.Namespace, claim.Name)
	}
}

const onlyStatusVerbs = "can only get/update/patch this type"

var _ = DescribeTable("a node and a persistent volume claim", decide,
	Entry("gets one that a pod on it uses", Allows("NA-PVC-1"), storageOn(own, ofClaim(Get(api.PersistentVolumeClaims)))),
	Entry("does not get one that a pod on another node uses", Denies("NA-PVC-1"),
		storageOn(other, ofClaim(Get(api.PersistentVolumeClaims))), unrelated),
	Entry("does not list claims by name", Denies("NA-PVC-1"),
		storageOn(own, func(made storage) Request {
			return List(api.PersistentVolumeClaims).In(made.namespace).Where("metadata.name=" + made.claim)
		}), onlyIndividuals),
	Entry("does not delete one that a pod on it uses", Denies("NA-PVC-1"),
		storageOn(own, ofClaim(Delete(api.PersistentVolumeClaims))), onlyIndividuals),

	Entry("patches the status of one that a pod on it uses", Allows("NA-PVC-2"),
		storageOn(own, ofClaim(Patch(api.PersistentVolumeClaims).Sub("status")))),
	Entry("does not patch the status of one that a pod on another node uses", Denies("NA-PVC-2"),
		storageOn(other, ofClaim(Patch(api.PersistentVolumeClaims).Sub("status"))), unrelated),
	Entry("does not get the status of one that a pod on it uses", Denies("NA-PVC-2"),
		storageOn(own, ofClaim(Get(api.PersistentVolumeClaims).Sub("status"))), onlyStatusVerbs),

	Entry("gets the claim of an ephemeral volume that the pod owns", AllowsBy("NA-PVC-3", "NA-PVC-1"),
		ownedClaim(named(Get(api.PersistentVolumeClaims)))),
	Entry("does not get a claim with the name of an ephemeral volume's claim, but another owner",
		DeniesBeyond("NA-PVC-3", "NA-PVC-1"),
		foreignClaim(named(Get(api.PersistentVolumeClaims)))),
	Entry("patches the status of the claim of an ephemeral volume that the pod owns", AllowsBy("NA-PVC-3", "NA-PVC-2"),
		ownedClaim(named(Patch(api.PersistentVolumeClaims).Sub("status")))),
	Entry("does not patch the status of a claim with the name of an ephemeral volume's claim, but another owner",
		DeniesBeyond("NA-PVC-3", "NA-PVC-2"),
		foreignClaim(named(Patch(api.PersistentVolumeClaims).Sub("status")))),
)

var _ = DescribeTable("a node and a persistent volume", decide,
	Entry("gets one whose claim a pod on it uses", Allows("NA-PV-1"),
		storageOn(own, ofVolume(Get(api.PersistentVolumes)))),
	Entry("does not get one whose claim a pod on another node uses", Denies("NA-PV-1"),
		storageOn(other, ofVolume(Get(api.PersistentVolumes))), unrelated),
	Entry("does not list volumes", Denies("NA-PV-1"), plainly(List(api.PersistentVolumes)), onlyIndividuals),
	Entry("does not patch one whose claim a pod on it uses", Denies("NA-PV-1"),
		storageOn(own, ofVolume(Patch(api.PersistentVolumes))), onlyIndividuals),
)

var _ = DescribeTable("a node and the secret of a persistent volume", decide,
	Entry("gets one whose volume a pod on it uses", Allows("NA-SECRET-1"),
		storageOn(own, ofVolumeSecret(Get(api.Secrets)))),
	Entry("does not get one whose volume a pod on another node uses", Denies("NA-SECRET-1"),
		storageOn(other, ofVolumeSecret(Get(api.Secrets))), unrelated),
)
