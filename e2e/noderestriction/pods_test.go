// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// mirror creates a mirror pod of the Env's own node. The tweaks edit the pod.
func mirror(tweaks ...func(*Env, *corev1.Pod)) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		pod := fixtures.Pod(e.Namespace(ctx), e.NewName("mirror"), e.Own, fixtures.Mirror(e.Node(ctx, e.Own)))
		for _, tweak := range tweaks {
			tweak(e, pod)
		}
		return Create(api.Pods).In(pod.Namespace).With(pod)
	}
}

// with applies a fixture's tweak to a mirror pod.
func with(tweak fixtures.PodTweak) func(*Env, *corev1.Pod) {
	return func(_ *Env, pod *corev1.Pod) { tweak(pod) }
}

const (
	onlyMirrors    = "can only create mirror pods"
	ownNodeName    = "can only create pods with spec.nodeName set to itself"
	singleOwner    = "can only create pods with a single owner reference set to itself"
	ownedByItself  = "can only create pods with an owner reference set to itself"
	asController   = "can only create pods with a controller owner reference set to itself"
	notBlocking    = "must not set blockOwnerDeletion on an owner reference"
	noReference    = "can not create pods that reference"
	ownPodsOnly    = "can only delete pods with spec.nodeName set to itself"
	ownStatusOnly  = "can only update pod status for pods with spec.nodeName set to itself"
	noStatusLabels = "cannot update labels through pod status"
	ownEvictions   = "can only evict pods with spec.nodeName set to itself"
)

var _ = DescribeTable("a node that creates a pod", admit,
	Entry("creates a mirror pod of its own", Allows("NR-POD-1"), mirror()),
	Entry("does not create another pod", Denies("NR-POD-1"), mirror(func(_ *Env, pod *corev1.Pod) {
		pod.Annotations, pod.Spec.ServiceAccountName = nil, fixtures.Account
	}), onlyMirrors),

	Entry("is the owner and the controller of its mirror pod", Allows("NR-POD-2"), mirror()),
	Entry("does not bind it to another node", Denies("NR-POD-2"), mirror(func(e *Env, pod *corev1.Pod) {
		pod.Spec.NodeName = e.Other
	}), ownNodeName),
	Entry("does not create it without an owner", Denies("NR-POD-2"), mirror(func(_ *Env, pod *corev1.Pod) {
		pod.OwnerReferences = nil
	}), ownedByItself),
	Entry("does not give it two owners", Denies("NR-POD-2"), mirror(func(_ *Env, pod *corev1.Pod) {
		second := pod.OwnerReferences[0]
		second.Name, second.UID, second.Controller = "another", "another", nil
		pod.OwnerReferences = append(pod.OwnerReferences, second)
	}), singleOwner),
	Entry("does not set an owner of another kind", Denies("NR-POD-2"), mirror(func(_ *Env, pod *corev1.Pod) {
		pod.OwnerReferences[0].APIVersion, pod.OwnerReferences[0].Kind = "apps/v1", "ReplicaSet"
	}), ownedByItself),
	Entry("does not set another Node as the owner", Denies("NR-POD-2"), mirror(func(e *Env, pod *corev1.Pod) {
		pod.OwnerReferences[0].Name = e.Other
	}), ownedByItself),
	Entry("does not set itself as an owner that is not the controller", Denies("NR-POD-2"),
		mirror(func(_ *Env, pod *corev1.Pod) {
			pod.OwnerReferences[0].Controller = nil
		}), asController),
	Entry("does not set blockOwnerDeletion", Denies("NR-POD-2"), mirror(func(_ *Env, pod *corev1.Pod) {
		pod.OwnerReferences[0].BlockOwnerDeletion = ptr.To(true)
	}), notBlocking),
	Entry("does not set the UID of its former Node", Denies("NR-POD-2"), mirror(func(_ *Env, pod *corev1.Pod) {
		pod.OwnerReferences[0].UID = "another"
	}), "UID mismatch"),

	Entry("creates a mirror pod without API objects", Allows("NR-POD-3"),
		mirror(with(fixtures.Using("scratch", corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{},
		})))),
	Entry("does not create it with a config map volume", Denies("NR-POD-3"), mirror(with(fixtures.WithConfigMap("any"))),
		noReference),
	Entry("does not create it with a config map in its environment", Denies("NR-POD-3"),
		mirror(with(fixtures.WithConfigMapInEnv("any"))),
		noReference),
	Entry("does not create it with a claim", Denies("NR-POD-3"), mirror(with(fixtures.WithClaim("any"))), noReference),
	Entry("does not create it with an ephemeral volume", Denies("NR-POD-3"), mirror(with(fixtures.WithEphemeralClaim())),
		noReference),
	Entry("does not create it with a CSI volume", Denies("NR-POD-3"),
		mirror(with(fixtures.Using("driven", corev1.VolumeSource{
			CSI: &corev1.CSIVolumeSource{Driver: fixtures.Driver},
		}))), noReference),
	Entry("does not create it with a trust bundle", Denies("NR-POD-3"),
		mirror(with(fixtures.Using("trust", corev1.VolumeSource{
			Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
				ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Name: ptr.To("any"), Path: "trust.pem"},
			}}},
		}))), noReference),
)

var _ = DescribeTable("a node that writes to a pod", admit,
	Entry("deletes its own", Allows("NR-POD-4"), podOn(own, aboutPod(Delete(api.Pods)))),
	Entry("does not delete another node's", Denies("NR-POD-4"), podOn(other, aboutPod(Delete(api.Pods))), ownPodsOnly),

	Entry("updates the status of its own", Allows("NR-POD-6"),
		podOn(own, aboutPod(Patch(api.Pods).Sub("status").With(status("message", "well"))))),
	Entry("does not update the status of another node's", Denies("NR-POD-6"),
		podOn(other, aboutPod(Patch(api.Pods).Sub("status").With(status("message", "well")))), ownStatusOnly),

	Entry("updates a status without a label", Allows("NR-POD-7"),
		podOn(own, aboutPod(Patch(api.Pods).Sub("status").With(status("reason", "Well"))), labelled)),
	Entry("does not add a label through a status", Denies("NR-POD-7"),
		podOn(own, aboutPod(Patch(api.Pods).Sub("status").With(metadata("labels", fields{"app": "payments"})))),
		noStatusLabels),
	Entry("does not change a label through a status", Denies("NR-POD-7"),
		podOn(own, aboutPod(Patch(api.Pods).Sub("status").With(metadata("labels", fields{"unlisted": "other"}))), labelled),
		noStatusLabels),
	Entry("does not remove a label through a status", Denies("NR-POD-7"),
		podOn(own, aboutPod(Patch(api.Pods).Sub("status").With(metadata("labels", fields{"unlisted": nil}))), labelled),
		noStatusLabels),
	Entry("does not set resource claims through a status", Denies("NR-POD-7"),
		podOn(own, aboutPod(Patch(api.Pods).Sub("status").With(
			status("resourceClaimStatuses", []any{fields{"name": "device", "resourceClaimName": "stolen"}}))),
			fixtures.WithResourceClaimTemplate("any")), "cannot update resource claim statues"),

	Entry("evicts its own", Allows("NR-POD-8"), podOn(own, evicted)),
	Entry("does not evict another node's", Denies("NR-POD-8"), podOn(other, evicted), ownEvictions),
)

// labelled is a pod with a label that no namespace lists.
func labelled(pod *corev1.Pod) { pod.Labels = map[string]string{"unlisted": "one"} }

func evicted(pod *corev1.Pod) Request {
	return Create(api.Pods).In(pod.Namespace).Named(pod.Name).Sub("eviction").With(
		fixtures.Eviction(pod.Namespace, pod.Name))
}

// The authorizers allow no node these requests. An accidental or malicious RBAC grant must not
// allow them either.
var _ = DescribeTable("a node to which RBAC grants writes of pods",
	func(ctx SpecContext, makeRequest RequestFunc, text string) {
		admitGranted(ctx, granted(makeRequest, rbacv1.PolicyRule{
			Verbs: []string{"update", "patch", "create"}, APIGroups: []string{""},
			Resources: []string{"pods", "pods/ephemeralcontainers", "pods/resize", "pods/binding"},
		}), text)
	},
	Entry("does not update its own pod", Denies("NR-POD-5"),
		podOn(own, aboutPod(Patch(api.Pods).With(metadata("labels", fields{"app": "payments"})))),
		"can only create and delete mirror pods"),
	Entry("does not add a container to its own pod", Denies("NR-POD-9"),
		podOn(own, aboutPod(Patch(api.Pods).Sub("ephemeralcontainers").With(spec("ephemeralContainers", []any{
			fields{"name": "debug", "image": fixtures.PauseImage},
		})))), "unexpected pod subresource"),
	Entry("does not resize its own pod", Denies("NR-POD-9"),
		podOn(own, aboutPod(Patch(api.Pods).Sub("resize").With(fields{}))), "unexpected pod subresource"),
)

var _ = DescribeTable("a node that writes pods with its own rights", admit,
	Entry("updates the status of its own pod", Allows("NR-POD-9"),
		podOn(own, aboutPod(Patch(api.Pods).Sub("status").With(status("message", "well"))))),
	Entry("creates a mirror pod", Allows("NR-POD-5"), mirror()),
)
