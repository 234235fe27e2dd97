// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
)

func TestInstallLooksAfterTheRenewer(t *testing.T) {
	for _, tc := range []struct {
		name   string
		broken bool
	}{
		{"one that runs needs no word", false},
		{"failed renewer is reported without a rollback", true},
	} {
		onHost(t, tc.name, func(t *testing.T, h *testHost) {
			h.certsBroken = tc.broken
			must(t, h.installer().Install(t.Context(), options(Hardened)))
			if got := h.out.String(); strings.Contains(got, "nothing renews them") != tc.broken {
				t.Errorf("it says:\n%s", got)
			}
		})
	}
}

// shown is an API with one pod.
type shown struct{ pod *corev1.Pod }

func (s shown) MirrorPod(context.Context, string, string) (*corev1.Pod, error) { return s.pod, nil }

func TestRenewer(t *testing.T) {
	layout := host.DefaultLayout()
	manifest, err := certsPod(layout, options(Hardened))
	must(t, err)
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		p := decode(t, manifest)
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		change(&p)
		return &p
	}
	for _, tc := range []struct {
		name           string
		pod            *corev1.Pod
		ready, running string
	}{
		{"the pod of the manifest, ready, is it", pod(func(*corev1.Pod) {}), "", ""},
		{"no pod is not it", nil, "runs no static pod", "runs no static pod"},
		{"the pod of an earlier manifest is ready and not it", pod(func(p *corev1.Pod) {
			p.Spec.Containers[0].Command = append(p.Spec.Containers[0].Command, "--cert-validity=2h")
		}), "", "not restarted it yet"},
		{"pod of a manifest that runs another program: ready, not restarted", pod(func(p *corev1.Pod) {
			p.Spec.Containers[0].Command[0] = "/bulkhead"
		}), "", "not restarted it yet"},
		{"the pod of an earlier image is ready and not it", pod(func(p *corev1.Pod) { p.Spec.Containers[0].Image = "old" }),
			"", "not restarted it yet"},
		{"waiting pod reports the reason", pod(func(p *corev1.Pod) {
			p.Status.Conditions = nil
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
		}), "ImagePullBackOff", "ImagePullBackOff"},
		{"ended pod reports the phase", pod(func(p *corev1.Pod) {
			p.Status.Conditions[0].Status, p.Status.Phase = corev1.ConditionFalse, corev1.PodFailed
		}), "Failed", "Failed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := StaticPod{Layout: layout, MirrorPods: shown{tc.pod}, Container: CertsContainer}
			mentions(t, r.Ready(t.Context()), tc.ready)
			mentions(t, r.running(t.Context(), manifest), tc.running)
		})
	}
}

func TestEveryCertificateWriterUsesOneLock(t *testing.T) {
	layout := host.DefaultLayout()
	if got := layout.Rotator(options(Hardened).Certificates, time.Now).Lock; got != layout.PKI() {
		t.Errorf("it locks %q; the static pod sees %s and no other directory that the installer does not replace", got,
			layout.PKI())
	}
}
