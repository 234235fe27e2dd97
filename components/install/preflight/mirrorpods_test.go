// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// staticPod returns the mirror pod of a static pod on node cp-0, with edits.
func staticPod(namespace, name string, edits ...func(*corev1.Pod)) *corev1.Pod {
	controller := true
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name + "-cp-0", Labels: map[string]string{"tier": "control-plane"},
			Annotations:     map[string]string{corev1.MirrorPodAnnotationKey: "hash"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "cp-0", Controller: &controller}},
		},
		Spec: corev1.PodSpec{NodeName: "cp-0", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func label(key string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Labels[key] = "x" } }

func note(key string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Annotations[key] = "x" } }

func namespaceWith(name string, annotations map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}
}

func TestMirrorPods(t *testing.T) {
	enforcing := &configuration.Configuration{MirrorPods: configuration.MirrorPods{
		Gate: configuration.Enforce, RequireNamespace: true, DeniedLabelKeys: configuration.NewKeys("k8s-app"),
		AllowedAnnotations: configuration.NewKeys("example.com/checksum"),
	}}
	opened := map[string]string{"node.kubernetes.io/mirror.allowed": "true",
		"node.kubernetes.io/mirror.allowed-label-keys": "component,tier,k8s-app"}
	for _, tt := range []struct {
		name    string
		policy  *configuration.Configuration
		objects []runtime.Object
		// refused lists parts of the findings about single pods, in order.
		refused []string
	}{
		{"kubeadm's own are admitted where the installer opens their namespace", enforcing,
			[]runtime.Object{staticPod("kube-system", "etcd", label("component"), note("example.com/checksum"))}, nil},
		{"another label is named", enforcing, []runtime.Object{staticPod("kube-system", "etcd", label("mine"))},
			[]string{`does not list mine [NR-MIRROR-2]`}},
		{"another annotation is named", enforcing, []runtime.Object{staticPod("kube-system", "etcd", note("mine"))},
			[]string{`following annotations: mine [NR-MIRROR-4]`}},
		{"a label that is denied is named", enforcing, []runtime.Object{staticPod("kube-system", "etcd", label("k8s-app"))},
			[]string{`[NR-MIRROR-3]`}},
		{"another namespace is named", enforcing, []runtime.Object{staticPod("default", "web")},
			[]string{`in namespace default, pods "web-cp-0"`}},
		{"one that is open is not", enforcing, []runtime.Object{staticPod("open", "web")}, nil},
		{"foreign settings in kube-system stay", enforcing, []runtime.Object{
			namespaceWith("kube-system", map[string]string{"node.kubernetes.io/mirror.allowed": "false"}),
			staticPod("kube-system", "etcd")}, []string{`[NR-MIRROR-1]`}},
		{"the pod of a Node that was deleted is ignored", enforcing,
			[]runtime.Object{staticPod("default", "web", func(p *corev1.Pod) { p.Spec.NodeName = "gone" })}, nil},
		{"other pods are ignored", enforcing,
			[]runtime.Object{staticPod("default", "web", func(p *corev1.Pod) { p.Annotations = nil })}, nil},
		{"a policy that only warns is not asked",
			&configuration.Configuration{MirrorPods: configuration.MirrorPods{Gate: configuration.Warn, RequireNamespace: true}},
			[]runtime.Object{staticPod("default", "web")}, nil},
		{"no policy is not asked", nil, []runtime.Object{staticPod("default", "web")}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			objects := append([]runtime.Object{controlPlane("cp-0"), namespaceWith("default", nil),
				namespaceWith("open", opened)}, tt.objects...)
			if _, own := tt.objects[0].(*corev1.Namespace); !own {
				objects = append(objects, namespaceWith("kube-system", map[string]string{"other": ""}))
			}
			findings, err := mirrorPodFindings(t.Context(),
				Input{Client: fake.NewClientset(objects...), Policy: tt.policy, Opened: opened})
			if err != nil {
				t.Fatal(err)
			}
			if len(tt.refused) == 0 {
				if len(findings) > 1 || len(findings) == 1 && findings[0].Level != OK {
					t.Errorf("it finds %v", findings)
				}
				return
			}
			if len(findings) != len(tt.refused)+1 ||
				!strings.Contains(findings[len(findings)-1].Detail, "`bulkhead mirror-labels`") {
				t.Fatalf("it finds %v", findings)
			}
			for i, want := range tt.refused {
				if findings[i].Level != Fail || !strings.Contains(findings[i].Detail, want) {
					t.Errorf("it finds %v, want %q", findings[i], want)
				}
			}
		})
	}
}

func TestManyMirrorPodsAreCounted(t *testing.T) {
	objects := []runtime.Object{controlPlane("cp-0"), namespaceWith("default", nil)}
	for i := range 30 {
		objects = append(objects, staticPod("default", fmt.Sprint("web", i)))
	}
	policy := &configuration.Configuration{MirrorPods: configuration.MirrorPods{Gate: configuration.Enforce,
		RequireNamespace: true}}
	findings, err := mirrorPodFindings(t.Context(), Input{Client: fake.NewClientset(objects...), Policy: policy})
	if err != nil || len(findings) != mostNamed+1 ||
		!strings.HasPrefix(findings[mostNamed].Detail, "30 of 30 would be denied") {
		t.Errorf("it finds %v, %v", findings, err)
	}
}

// A rule for mirror pods that only audits denies none. The others still do.
func TestAuditedMirrorPodRuleDeniesNone(t *testing.T) {
	in := Input{Policy: &configuration.Configuration{MirrorPods: configuration.MirrorPods{Gate: configuration.Enforce,
		RequireNamespace: true, DeniedLabelKeys: configuration.NewKeys("k8s-app")}},
		Modes: map[rules.ID]rules.Mode{"NR-MIRROR-1": rules.Audit, "NR-MIRROR-2": rules.Audit, "NR-MIRROR-6": rules.Audit,
			"NR-POD-11": rules.Enforce}}
	in.Client = fake.NewClientset(controlPlane("cp-0"), namespaceWith("default", nil), staticPod("default", "web"))
	if findings, err := mirrorPodFindings(t.Context(), in); err != nil || len(findings) != 2 ||
		slices.ContainsFunc(findings, func(f Finding) bool {
			return f.Level != Warn || !strings.HasPrefix(f.Detail, "before you enforce NR-MIRROR-")
		}) {
		t.Errorf("it finds %v, %v", findings, err)
	}
	in.Client = fake.NewClientset(controlPlane("cp-0"), namespaceWith("default", nil),
		staticPod("default", "web", label("k8s-app")))
	if findings, err := mirrorPodFindings(t.Context(), in); err != nil || len(findings) != 2 ||
		findings[0].Level != Fail || !strings.Contains(findings[0].Detail, "NR-MIRROR-3") {
		t.Errorf("it finds %v, %v", findings, err)
	}
}
