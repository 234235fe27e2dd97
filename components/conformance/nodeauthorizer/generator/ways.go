// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// way is a field in which a pod names an object.
type way struct {
	via  string
	kind graph.Kind
	// add adds the reference to the pod. number is the index among the pod's references. It makes
	// names within the pod unique.
	add func(pod *corev1.Pod, number int, name string)
	// late is true for a field that can change while the pod runs.
	late bool
	// ofPod is true for a field whose object name begins with the pod's name.
	ofPod bool
	// namesNothing is true for a field that only looks like a reference.
	namesNothing bool
}

// ways are all pod fields that name an object, or look as if they did.
var ways = append(append([]way{
	{via: "serviceAccountName", kind: graph.ServiceAccount, add: func(pod *corev1.Pod, _ int, name string) {
		pod.Spec.ServiceAccountName = name
	}},
	{via: "imagePullSecrets", kind: graph.Secret, add: func(pod *corev1.Pod, _ int, name string) {
		pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}},
	{
		via:  "resourceClaims.resourceClaimName",
		kind: graph.ResourceClaim,
		add: func(pod *corev1.Pod, number int, name string) {
			pod.Spec.ResourceClaims = append(
				pod.Spec.ResourceClaims,
				corev1.PodResourceClaim{Name: numbered(number), ResourceClaimName: &name},
			)
		},
	},
	{via: madeFromTemplate, kind: graph.ResourceClaim, late: true, add: func(pod *corev1.Pod, number int, name string) {
		addTemplate(pod, number)
		addClaimStatus(pod, number, &name)
	}},
	{via: notYetMade, namesNothing: true, add: func(pod *corev1.Pod, number int, _ string) {
		addTemplate(pod, number)
	}},
	{via: neverMade, namesNothing: true, late: true, add: func(pod *corev1.Pod, number int, _ string) {
		addTemplate(pod, number)
		addClaimStatus(pod, number, nil)
	}},
	{via: extendedClaim, kind: graph.ResourceClaim, late: true, add: func(pod *corev1.Pod, _ int, name string) {
		pod.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: name}
	}},
}, environmentWays()...), volumeWays...)

// Fields that a pod's status sets later.
const (
	madeFromTemplate = "status.resourceClaimStatuses"
	notYetMade       = "resourceClaims.resourceClaimTemplateName, without a status"
	neverMade        = "status.resourceClaimStatuses, without a name"
	extendedClaim    = "status.extendedResourceClaimStatus"
)

var waysByVia = func() map[string]*way {
	byVia := map[string]*way{}
	for i := range ways {
		byVia[ways[i].via] = &ways[i]
	}
	return byVia
}()

func wayOf(ref Ref) *way {
	way, ok := waysByVia[ref.Via]
	if !ok {
		panic(fmt.Sprintf("no pod names anything via %q", ref.Via))
	}
	return way
}

func numbered(number int) string { return fmt.Sprintf("number-%d", number) }

func addTemplate(pod *corev1.Pod, number int) {
	template := "template"
	pod.Spec.ResourceClaims = append(
		pod.Spec.ResourceClaims,
		corev1.PodResourceClaim{Name: numbered(number), ResourceClaimTemplateName: &template},
	)
}

func addClaimStatus(pod *corev1.Pod, number int, made *string) {
	pod.Status.ResourceClaimStatuses = append(
		pod.Status.ResourceClaimStatuses,
		corev1.PodResourceClaimStatus{Name: numbered(number), ResourceClaimName: made},
	)
}
