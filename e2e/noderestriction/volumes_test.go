// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// asWorkersKubelet is the body of entries that use the worker's own kubelet certificate.
func asWorkersKubelet(ctx SpecContext, makeRequest RequestFunc, text ...string) {
	suite.ExpectWriteClaim(ctx, must(suite.RealKubelet(ctx, suite.Worker)), makeRequest, text...)
}

func worker(*Env) string { return suite.Worker }

// itself is a write to the worker's Node.
func itself(r Request) RequestFunc {
	return func(context.Context, *Env) Request { return r.Named(suite.Worker) }
}

// uniqueName returns the name that kubelets use for a volume of the specs' driver.
func uniqueName(volume string) string { return "kubernetes.io/csi/" + fixtures.Driver + "^" + volume }

func attachedVolumes(names ...string) fields {
	all := []any{}
	for _, name := range names {
		all = append(all, fields{"name": name, "devicePath": ""})
	}
	return status("volumesAttached", all)
}

func volumesInUse(names ...string) fields { return status("volumesInUse", names) }

// podWithVolume starts a pod on a node with a volume of the specs' driver. The volumes of the
// tweaks come first. It returns the volume once it is bound.
func podWithVolume(
	ctx context.Context, e *Env, node string, before ...fixtures.PodTweak,
) *corev1.PersistentVolume {
	GinkgoHelper()
	claim := fixtures.Claim(e.Namespace(ctx), e.NewName("claim"), e.NewName("volume"))
	volume := fixtures.Volume(claim.Spec.VolumeName, claim.Namespace, claim.Name, "none")
	e.Put(ctx, volume, claim)
	Eventually(ctx, func() (corev1.PersistentVolumeClaimPhase, error) {
		got, err := suite.Client.CoreV1().PersistentVolumeClaims(claim.Namespace).Get(ctx, claim.Name, metav1.GetOptions{})
		return got.Status.Phase, err
	}).WithTimeout(ControllerManager).WithPolling(time.Second).Should(Equal(corev1.ClaimBound))
	e.Pod(ctx, node, append(before, fixtures.WithClaim(claim.Name))...)
	return volume
}

// usesVolumeOn makes the Env's own node report the volume of a pod on the given node.
func usesVolumeOn(where place) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		volume := podWithVolume(ctx, e, where(e))
		return Patch(api.Nodes).Sub("status").Named(e.Own).With(volumesInUse(uniqueName(volume.Name)))
	}
}

// usesVolumeOfEndedPod makes the Env's own node report the volume of its pod that has ended.
func usesVolumeOfEndedPod(ctx context.Context, e *Env) Request {
	volume := podWithVolume(ctx, e, e.Own)
	pods := suite.Client.CoreV1().Pods(e.Namespace(ctx))
	all, err := pods.List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	Expect(all.Items).To(HaveLen(1))
	ended := []byte(`{"status": {"phase": "Succeeded"}}`)
	_, err = pods.Patch(ctx, all.Items[0].Name, types.MergePatchType, ended, metav1.PatchOptions{}, "status")
	Expect(err).NotTo(HaveOccurred())
	return Patch(api.Nodes).Sub("status").Named(e.Own).With(volumesInUse(uniqueName(volume.Name)))
}

// usesVolumeBehind makes the Env's own node report the volume of its oldest pod, after newer pods
// were added to the node.
func usesVolumeBehind(pods int, tweaks ...fixtures.PodTweak) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		request := usesVolumeOn(own)(ctx, e)
		for range pods {
			e.Pod(ctx, e.Own, tweaks...)
		}
		return request
	}
}

// usesVolumeAfter makes the Env's own node report the last volume of its pod. The volumes before
// it are of a kind that the node attaches or mounts.
func usesVolumeAfter(count int) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		volume := podWithVolume(ctx, e, e.Own, withShares(count))
		return Patch(api.Nodes).Sub("status").Named(e.Own).With(volumesInUse(uniqueName(volume.Name)))
	}
}

// withShares adds volumes that need no lookup.
func withShares(count int) fixtures.PodTweak {
	return func(pod *corev1.Pod) {
		for i := range count {
			fixtures.Using(fmt.Sprintf("share-%d", i), corev1.VolumeSource{
				NFS: &corev1.NFSVolumeSource{Server: "192.0.2.80", Path: "/"},
			})(pod)
		}
	}
}

// withMissingClaims adds volumes with claims that do not exist.
func withMissingClaims(count int) fixtures.PodTweak {
	return func(pod *corev1.Pod) {
		for i := range count {
			name := fmt.Sprintf("missing-%d", i)
			fixtures.Using(name, corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
			})(pod)
		}
	}
}

// usesVolumeOfAnotherClaim makes the Env's own node report the volume of another node's pod. A
// claim of its own pod also names the volume, but the volume is bound to the other claim.
func usesVolumeOfAnotherClaim(ctx context.Context, e *Env) Request {
	volume := podWithVolume(ctx, e, e.Other)
	claim := fixtures.Claim(e.Namespace(ctx), e.NewName("claim"), volume.Name)
	e.Put(ctx, claim)
	e.Pod(ctx, e.Own, fixtures.WithClaim(claim.Name))
	return Patch(api.Nodes).Sub("status").Named(e.Own).With(volumesInUse(uniqueName(volume.Name)))
}

const (
	notAttached = "is not allowed to modify status.volumesAttached"
	notInUse    = "is not allowed to report volumes in use"
)

var _ = DescribeTable("a node that reports volumes", admit,
	Entry("registers without attached volumes", Allows("NR-VOLUME-1"), registering()),
	Entry("registers with an attached volume: denied", DeniesBeyond("NR-VOLUME-1", Behind),
		registering(func(_ *Env, node *corev1.Node) {
			node.Status.VolumesAttached = []corev1.AttachedVolume{{Name: "kubernetes.io/csi/e2e^victim"}}
		}), notAttached),
	Entry("registers with another node's volume in use: denied", DeniesBeyond("NR-VOLUME-2", Behind),
		registering(func(_ *Env, node *corev1.Node) {
			node.Status.VolumesInUse = []corev1.UniqueVolumeName{"kubernetes.io/csi/e2e^victim"}
		}), notInUse),
)

var _ = DescribeTable("the volumes in use that a node reports", admitCertified,
	Entry("volume of its pod that is not attached yet: allowed", Allows("NR-VOLUME-2"), usesVolumeOn(own)),
	Entry("volume of another node's pod: denied", DeniesBeyond("NR-VOLUME-2", Behind), usesVolumeOn(other), notInUse),
	Entry("volume of its pod that has ended: denied", DeniesBeyond("NR-VOLUME-2", Behind), usesVolumeOfEndedPod, notInUse),
	Entry("volume of its pod, with 12 newer pods on the node: allowed", Allows("NR-VOLUME-2"), usesVolumeBehind(12)),
	Entry("volume of its pod, with a newer pod that has 120 claims: allowed", Allows("NR-VOLUME-2"),
		usesVolumeBehind(1, withMissingClaims(120))),
	Entry("volume that is the 128th of its pod: allowed", Allows("NR-VOLUME-2"), usesVolumeAfter(127)),
	Entry("volume that is the 129th of its pod: denied", DeniesBeyond("NR-VOLUME-2", Behind), usesVolumeAfter(128),
		notInUse),
	Entry("volume that its pod's claim names, but that is bound to another claim: denied",
		DeniesBeyond("NR-VOLUME-2", Behind), usesVolumeOfAnotherClaim, notInUse),
)

var _ = DescribeTable("the worker's kubelet that reports volumes", Label(OnHost, OnWorker), asWorkersKubelet,
	Entry("leaves attached volumes as they are", Allows("NR-VOLUME-1"),
		itself(Patch(api.Nodes).Sub("status").With(status("phase", "Running")))),
	Entry("attaches another node's volume to itself: denied", DeniesBeyond("NR-VOLUME-1", Behind),
		itself(Patch(api.Nodes).Sub("status").With(attachedVolumes(uniqueName("victim")))), notAttached),
	Entry("has another node's volume in use: denied", DeniesBeyond("NR-VOLUME-2", Behind),
		func(ctx context.Context, e *Env) Request {
			volume := podWithVolume(ctx, e, e.Other)
			return Patch(api.Nodes).Sub("status").Named(suite.Worker).With(volumesInUse(uniqueName(volume.Name)))
		}, notInUse),
)

// The specs' driver does not exist, so the volume is never attached. The kubelet reports the volume
// before the attachment, and stops when the pod is deleted.
var _ = It("the worker's kubelet reports the volume of a pod that starts, until the pod is deleted",
	Allows("NR-VOLUME-2"), Label(OnHost, OnWorker, Slow), func(ctx SpecContext) {
		env, since := suite.Env(), time.Now()
		volume := podWithVolume(ctx, env, suite.Worker)
		DeferCleanup(detach, volume.Name)
		name := corev1.UniqueVolumeName(uniqueName(volume.Name))
		inUse := func() ([]corev1.UniqueVolumeName, error) {
			node, err := suite.Client.CoreV1().Nodes().Get(ctx, suite.Worker, metav1.GetOptions{})
			return node.Status.VolumesInUse, err
		}
		Eventually(ctx, inUse).WithTimeout(PodStart).WithPolling(time.Second).Should(ContainElement(name))
		Expect(suite.Client.CoreV1().Pods(env.Namespace(ctx)).DeleteCollection(ctx, metav1.DeleteOptions{},
			metav1.ListOptions{})).To(Succeed())
		Eventually(ctx, inUse).WithTimeout(PodStart).WithPolling(time.Second).ShouldNot(ContainElement(name))
		expectRefusalsOnList(ctx, suite.Worker, since, "with a volume that is not attached")
	})

// detach deletes the objects that kube-controller-manager created to attach a volume.
func detach(ctx context.Context, volume string) error {
	attachments := suite.Client.StorageV1().VolumeAttachments()
	all, err := attachments.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, attachment := range all.Items {
		if source := attachment.Spec.Source.PersistentVolumeName; source != nil && *source == volume {
			if err := attachments.Delete(ctx, attachment.Name, metav1.DeleteOptions{}); err != nil {
				return err
			}
		}
	}
	return nil
}
