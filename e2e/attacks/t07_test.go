// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var _ = tell(Story{
	ID: "T7", Title: "A node creates pods that use the objects of others",
	Source: "Kubernetes issue 40476 and the Node authorizer's design; CVE-2025-4563 (kubernetes/kubernetes#132151)",
	Effect: "The node creates a pod that is bound to itself and names a secret, a config map, an account, a volume " +
		"claim or a resource claim. Its kubelet then receives the content, and controllers attach the volume and " +
		"reserve the device.",
	Stops: "A node creates only mirror pods, and a mirror pod refers to no object of the API.",
	Attempts: []Attempt{
		takes("a secret", "the secret is on the attacker's disk", fixtures.WithSecret("wanted"), "secret", "hush"),
		takes("a config map", "the config map is on the attacker's disk", fixtures.WithConfigMap("wanted"), "configmap",
			"hello"),
		takesAccount(),
		mirrors("a persistent volume claim", "the volume is attached to the attacker's node", claimed, attached,
			fixtures.WithClaim("wanted"), "NR-POD-3", "can not create pods that reference"),
		takesDevice(),
	},
})

// onlyMirrors says why the twin of an ordinary pod has neither the reference nor the form of the attack.
const onlyMirrors = "A node creates only mirror pods, and a mirror pod may not name such an object, so the twin " +
	"differs in both."

// bare is the twin of pods that name objects: a mirror pod without a reference. A kubelet deletes it again, because
// it has no static pod of that name.
func bare(ctx context.Context, r *Run, who *Identity) Answer {
	GinkgoHelper()
	pod := fixtures.Pod(r.Namespace(ctx), r.NewName("static"), r.Node.Name, fixtures.Mirror(r.Node))
	return r.Send(ctx, who, Create(api.Pods).In(pod.Namespace).With(pod).Stored())
}

// creates is the attack of a kubelet: a pod on its own node.
func creates(tweak fixtures.PodTweak) Act {
	return func(ctx context.Context, r *Run, who *Identity) Answer {
		r.Pod = fixtures.Pod(r.Namespace(ctx), r.NewName("taking"), r.Node.Name, tweak)
		return r.Send(ctx, who, Create(api.Pods).In(r.Pod.Namespace).With(r.Pod).Stored())
	}
}

// wanted creates the objects that the attacker wants, and reads the attacker's Node.
func wanted(ctx context.Context, r *Run) {
	GinkgoHelper()
	r.Put(ctx, fixtures.Secret(r.Namespace(ctx), "wanted"), fixtures.ConfigMap(r.Namespace(ctx), "wanted"))
	node, err := r.Client.CoreV1().Nodes().Get(ctx, r.Attacker(), metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	r.Node = node
}

// takes is the attempt to read an object with a pod that mounts it.
func takes(what, effect string, tweak fixtures.PodTweak, kind, word string) Attempt {
	return Attempt{
		Name: "creating a pod that mounts " + what, Effect: effect, Labels: Label(OnHost),
		By: kubelet, Rule: "NR-POD-1", Text: "can only create mirror pods",
		Prepare: wanted, Attack: creates(tweak),
		Show: func(ctx context.Context, r *Run, _ Answer) {
			Expect(onDisk(ctx, r, running(ctx, r.Pod), kind, "word")).To(Equal(word))
			r.Say("The attacker reads it from the disk of %s: %q.", r.Attacker(), word)
		},
		TwinIs: "a mirror pod without the reference", Twin: bare, TwinAlso: onlyMirrors,
	}
}

// takesAccount is the attempt to get the token of a stronger account.
func takesAccount() Attempt {
	return Attempt{
		Name:   "creating a pod of a stronger account",
		Effect: "the account's token is on the attacker's disk and reads all secrets",
		By:     kubelet, Rule: "NR-POD-1", Text: "can only create mirror pods", Labels: Label(OnHost),
		Prepare: func(ctx context.Context, r *Run) {
			wanted(ctx, r)
			administrator(ctx, r)
		},
		Attack: creates(fixtures.WithAccount),
		Show: func(ctx context.Context, r *Run, _ Answer) {
			bearer, err := suite.ReadToken(ctx, onDisk(ctx, r, running(ctx, r.Pod), "projected", "token"))
			Expect(err).NotTo(HaveOccurred())
			read := r.Send(ctx, suite.AsBearer(bearer), List(api.Secrets))
			Expect(read.Code).To(Equal(200), read.Message)
		},
		TwinIs: "a mirror pod, which has no account", Twin: bare, TwinAlso: onlyMirrors,
	}
}

// mirrors is the attempt to use an object with a mirror pod. No kubelet runs on the Node of the pod.
func mirrors(what, effect string, prepare func(context.Context, *Run), show func(context.Context, *Run, Answer),
	tweak fixtures.PodTweak, rule rules.ID, text string) Attempt {
	return Attempt{
		Name: "creating a mirror pod that names " + what, Effect: effect, By: machine, Rule: rule, Text: text,
		Prepare: func(ctx context.Context, r *Run) {
			r.Node = r.Env.Node(ctx, r.Own)
			prepare(ctx, r)
		},
		Attack: func(ctx context.Context, r *Run, who *Identity) Answer {
			r.Pod = fixtures.Pod(r.Namespace(ctx), r.NewName("static"), r.Own, fixtures.Mirror(r.Node), tweak)
			return r.Send(ctx, who, Create(api.Pods).In(r.Pod.Namespace).With(r.Pod).Stored())
		},
		Show: show, TwinIs: "the same mirror pod without the reference", Twin: bare,
	}
}

// takesDevice is the attempt to use the device of others. The API server accepts no static pod with a
// resource claim since CVE-2025-4563, so the pod is an ordinary one.
func takesDevice() Attempt {
	a := mirrors("", "the device is reserved for the attacker's pod", allocated, reserved, nil, "NR-POD-1",
		"can only create mirror pods")
	a.Name = "creating a pod that names a resource claim"
	a.Attack = creates(fixtures.WithResourceClaim("wanted"))
	a.TwinIs, a.TwinAlso = "a mirror pod without the claim", onlyMirrors
	return a
}

// claimed creates a claim with a volume. kube-controller-manager attaches volumes to the Node.
func claimed(ctx context.Context, r *Run) {
	GinkgoHelper()
	_, err := r.Client.CoreV1().Nodes().Patch(ctx, r.Own, "application/merge-patch+json",
		[]byte(`{"metadata":{"annotations":{"volumes.kubernetes.io/controller-managed-attach-detach":"true"}}}`),
		metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
	volume := r.NewName("volume")
	r.Names["volume"] = volume
	r.Put(ctx, fixtures.CSINode(r.Own), fixtures.Volume(volume, r.Namespace(ctx), "wanted", "none"),
		fixtures.Claim(r.Namespace(ctx), "wanted", volume))
	DeferCleanup(func(ctx context.Context) error {
		attachments, err := attachments(ctx, r)
		for _, one := range attachments {
			err := r.Client.StorageV1().VolumeAttachments().Delete(ctx, one, metav1.DeleteOptions{})
			if err := ignoreNotFound(err); err != nil {
				return err
			}
		}
		return err
	})
}

// attachments returns the names of the attachments of the spec's volume.
func attachments(ctx context.Context, r *Run) (names []string, err error) {
	list, err := r.Client.StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, one := range list.Items {
		if source := one.Spec.Source.PersistentVolumeName; source != nil && *source == r.Names["volume"] {
			names = append(names, one.Name)
		}
	}
	return names, nil
}

func attached(ctx context.Context, r *Run, _ Answer) {
	GinkgoHelper()
	var one *storagev1.VolumeAttachment
	Eventually(ctx, func() ([]string, error) {
		names, err := attachments(ctx, r)
		if err == nil && len(names) > 0 {
			one, err = r.Client.StorageV1().VolumeAttachments().Get(ctx, names[0], metav1.GetOptions{})
		}
		return names, err
	}).WithTimeout(PodStart).WithPolling(500 * time.Millisecond).ShouldNot(BeEmpty())
	Expect(one.Spec.NodeName).To(Equal(r.Own))
	r.Say("kube-controller-manager attaches volume %s to %s.", r.Names["volume"], one.Spec.NodeName)
}

// allocated creates a resource claim with a device, as the scheduler leaves it for another pod.
func allocated(ctx context.Context, r *Run) {
	GinkgoHelper()
	claim := fixtures.ResourceClaim(r.Namespace(ctx), "wanted")
	r.Put(ctx, claim)
	claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
		Results: []resourcev1.DeviceRequestAllocationResult{{
			Request: claim.Spec.Devices.Requests[0].Name, Driver: fixtures.Driver, Pool: r.Own, Device: "device-0"}},
	}}
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{
		{Resource: "pods", Name: "of-others", UID: "of-others"}}
	_, err := r.Client.ResourceV1().ResourceClaims(claim.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

func reserved(ctx context.Context, r *Run, _ Answer) {
	GinkgoHelper()
	Eventually(ctx, func() (names []string, err error) {
		claim, err := r.Client.ResourceV1().ResourceClaims(r.Namespace(ctx)).Get(ctx, "wanted", metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		for _, consumer := range claim.Status.ReservedFor {
			names = append(names, consumer.Name)
		}
		return names, nil
	}).WithTimeout(PodStart).WithPolling(500 * time.Millisecond).Should(ContainElement(r.Pod.Name))
	r.Say("The device is reserved for pod %s.", r.Pod.Name)
}
