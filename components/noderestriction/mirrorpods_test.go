// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// gated sets a mirror pod policy that is enforced and denies k8s-app, unless an edit changes it.
func gated(edits ...func(*configuration.MirrorPods)) func(*Config) {
	policy := &configuration.Configuration{MirrorPods: configuration.MirrorPods{
		Gate: configuration.Enforce, DeniedLabelKeys: configuration.NewKeys("k8s-app"),
	}}
	for _, edit := range edits {
		edit(&policy.MirrorPods)
	}
	return func(c *Config) { c.Configuration = func() *configuration.Configuration { return policy } }
}

func warnOnly(p *configuration.MirrorPods)     { p.Gate = configuration.Warn }
func optIn(p *configuration.MirrorPods)        { p.RequireNamespace = true }
func unrestricted(p *configuration.MirrorPods) { p.UnrestrictedPrefix = true }

// annotated sets the annotations of the namespace kube-system.
func annotated(c *fakeCluster, annotations map[string]string) *fakeCluster {
	c.namespaces["kube-system"] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system",
		Annotations: annotations}}
	return c
}

func listing(keys string) *fakeCluster {
	return annotated(aCluster(), map[string]string{"node.kubernetes.io/mirror.allowed-label-keys": keys})
}

// mirror returns the creation of a mirror pod with these labels.
func mirror(labels map[string]string, edits ...func(*corev1.Pod)) admission.Attributes {
	pod := aMirrorPod("me", edits...)
	pod.Labels = labels
	return write("me", admission.Create, "pods", "", pod, nil)
}

func with(annotations ...string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		for _, key := range annotations {
			pod.Annotations[key] = "x"
		}
	}
}

func keys(all ...string) map[string]string {
	labels := map[string]string{}
	for _, key := range all {
		labels[key] = "x"
	}
	return labels
}

const (
	aboutMirror = `pods "static-me" is forbidden: node "me" `
	notListed   = aboutMirror +
		`can only create mirror pods with labels that the annotation node.kubernetes.io/mirror.allowed-label-keys ` +
		`of namespace "kube-system" lists, and it does not list `
)

func TestMirrorPodNamespace(t *testing.T) {
	const says = aboutMirror +
		`can only create mirror pods in namespaces that have the annotation ` +
		`node.kubernetes.io/mirror.allowed, and "kube-system" does not [NR-MIRROR-1]`
	for value, by := range map[string]string{"true": "", "": "", "anything": "", "false": "NR-MIRROR-1"} {
		opted := annotated(aCluster(), map[string]string{"node.kubernetes.io/mirror.allowed": value})
		run(t, restrict(opted, gated(optIn)),
			[]row{{name: "allowed: " + value, write: mirror(nil), by: rules.ID(by), says: says}})
	}
	run(t, restrict(aCluster(), gated(optIn)),
		[]row{{name: "namespace without the annotation: denied", write: mirror(nil), by: "NR-MIRROR-1", says: says}})
	run(t, restrict(aCluster(), gated()), []row{{name: "namespace without the annotation, not needed: allowed",
		write: mirror(nil)}})
	gone := aCluster()
	delete(gone.namespaces, "kube-system")
	run(t, restrict(gone, gated(optIn)), []row{
		{name: "namespace not found", write: mirror(nil), by: "NR-MIRROR-1", code: 404,
			says: `namespaces "kube-system" not found [NR-MIRROR-1]`},
	})
}

func TestMirrorPodAnnotations(t *testing.T) {
	const says = aboutMirror + "must not create mirror pods with the following annotations: "
	var rows []row
	for _, key := range []string{
		"podpreset.admission.kubernetes.io/exclude", "seccomp.security.alpha.kubernetes.io/pod",
		"container.seccomp.security.alpha.kubernetes.io/c", "container.apparmor.security.beta.kubernetes.io/c",
		"scheduler.alpha.kubernetes.io/preferAvoidPods", "node.kubernetes.io/bootstrap-checkpoint",
		"unrestricted.node.kubernetes.io/a", "kubernetes.io/limit-ranger", "own.example.com/a",
	} {
		rows = append(rows, row{name: key, write: mirror(nil, with(key))})
	}
	rows = append(rows,
		row{name: "annotations of the kubelet: allowed", write: mirror(nil)},
		row{name: "other annotation: denied",
			write: mirror(nil, with("b.example.com/b", "a.example.com/a")), by: "NR-MIRROR-4",
			says: says + "a.example.com/a, b.example.com/b [NR-MIRROR-4]"},
		row{name: "key that starts with a listed key: denied",
			write: mirror(nil, with("kubernetes.io/config.mirrors")), by: "NR-MIRROR-4",
			says: says + "kubernetes.io/config.mirrors [NR-MIRROR-4]"},
	)
	run(t, restrict(aCluster(),
		gated(func(p *configuration.MirrorPods) { p.AllowedAnnotations = configuration.NewKeys("own.example.com/*") })), rows)
	run(t, restrict(aCluster(), gated()), []row{
		{name: "annotation that the operator did not list: denied",
			write: mirror(nil, with("own.example.com/a")), by: "NR-MIRROR-4",
			says: says + "own.example.com/a [NR-MIRROR-4]"},
	})
}

func TestMirrorPodGate(t *testing.T) {
	bad := mirror(keys("k8s-app", "app"), with("a.example.com/a"))
	off := func(p *configuration.MirrorPods) { p.Gate = configuration.Off }
	failing := aCluster()
	failing.err = errors.New("timeout")
	for name, r := range map[string]*Restriction{
		"no configuration": restrict(aCluster()),
		"off":              restrict(aCluster(), gated(off, optIn)),
	} {
		if v := r.Review(t.Context(), bad); !v.Allowed() || v.Annotations != nil || v.Warnings != nil || v.Audited() != nil {
			t.Errorf("%s: %+v", name, v)
		}
	}
	v := restrict(aCluster(), gated(warnOnly, optIn)).Review(t.Context(), bad)
	if !v.Allowed() || len(v.Warnings) != 4 ||
		!slices.Equal(v.Audited(), []rules.ID{"NR-MIRROR-3", "NR-MIRROR-4", "NR-MIRROR-1", "NR-MIRROR-2"}) {
		t.Errorf("warn: %+v", v)
	}
	if want := "to be refused: " + aboutMirror +
		"must not create mirror pods with the following labels: k8s-app [NR-MIRROR-3]"; v.Warnings[0] != want {
		t.Errorf("the warning is %q, want %q", v.Warnings[0], want)
	}
	if want := map[string]string{"refused-label-keys": "k8s-app, app",
		"refused-annotation-keys": "a.example.com/a"}; !maps.Equal(v.Annotations, want) {
		t.Errorf("the annotations are %v, want %v", v.Annotations, want)
	}
	// In the mode Warn, a write that cannot be decided is admitted too.
	policy := &configuration.MirrorPods{Gate: configuration.Warn, RequireNamespace: true}
	q := &request{Attributes: mirror(nil), node: "me", configuration: &configuration.Configuration{MirrorPods: *policy}}
	if refused := restrict(failing).reviewMirrorPodMetadata(t.Context(), q, aMirrorPod("me")); refused != nil ||
		len(q.warnings) != 1 {
		t.Errorf("warn without an answer: %v, %v", refused, q.warnings)
	}
	v = restrict(aCluster(), gated()).Review(t.Context(), mirror(keys("b", "a")))
	if v.Allowed() || v.Annotations["refused-label-keys"] != "a, b" || v.Warnings != nil || v.Audited() != nil {
		t.Errorf("enforce: %+v", v)
	}
}

// TestMirrorPodIsDeniedIfTheLookupFails uses a cluster whose lookups fail.
func TestMirrorPodIsDeniedIfTheLookupFails(t *testing.T) {
	failing := aCluster()
	failing.err = errors.New("timeout")
	pod := aMirrorPod("me", func(p *corev1.Pod) { p.Labels = keys("a") })
	for _, tc := range []struct {
		required bool
		audited  rules.ID
		by       string
	}{
		{required: true, by: "NR-MIRROR-1"},
		{required: true, audited: "NR-MIRROR-1", by: "NR-MIRROR-2"},
		{required: true, audited: "NR-MIRROR-2", by: "NR-MIRROR-1"},
		{by: "NR-MIRROR-2"},
		{audited: "NR-MIRROR-1", by: "NR-MIRROR-2"},
		{audited: "NR-MIRROR-2"},
	} {
		q := &request{Attributes: mirror(pod.Labels), node: "me",
			modes: map[rules.ID]rules.Mode{tc.audited: rules.Audit},
			configuration: &configuration.Configuration{MirrorPods: configuration.MirrorPods{Gate: configuration.Enforce,
				RequireNamespace: tc.required}}}
		refused := restrict(failing).reviewMirrorPodMetadata(t.Context(), q, pod)
		switch {
		case tc.by == "" && refused != nil, tc.by != "" && refused == nil:
			t.Errorf("%+v: got %+v", tc, refused)
		case refused != nil && (refused.Status.Code != 500 ||
			!strings.HasSuffix(refused.Status.Message, "timeout ["+tc.by+"]")):
			t.Errorf("%+v: got %+v", tc, refused)
		}
	}
	noNodes := listing("b")
	pod.Labels = keys(corev1.LabelTopologyZone)
	noNodes.nodes = nil
	q := &request{Attributes: mirror(pod.Labels), node: "me",
		configuration: &configuration.Configuration{MirrorPods: configuration.MirrorPods{Gate: configuration.Enforce}}}
	if refused := restrict(noNodes).reviewMirrorPodMetadata(t.Context(), q, pod); refused == nil ||
		refused.Status.Message != `nodes "me" not found [NR-MIRROR-2]` {
		t.Errorf("got %+v", refused)
	}
}

// A key that is denied in every namespace is also one that the namespace does not list.
func TestDeniedLabelInAuditMustStillBeListed(t *testing.T) {
	for list, by := range map[string]rules.ID{"a": "NR-MIRROR-2", "a,k8s-app": ""} {
		pod := aMirrorPod("me", func(p *corev1.Pod) { p.Labels = keys("a", "k8s-app") })
		q := &request{Attributes: mirror(pod.Labels), node: "me",
			modes: map[rules.ID]rules.Mode{"NR-MIRROR-3": rules.Audit},
			configuration: &configuration.Configuration{MirrorPods: configuration.MirrorPods{Gate: configuration.Enforce,
				DeniedLabelKeys: configuration.NewKeys("k8s-app")}}}
		refused := restrict(listing(list)).reviewMirrorPodMetadata(t.Context(), q, pod)
		if by == "" && refused != nil || by != "" && (refused == nil || refused.Rule != by) {
			t.Errorf("a namespace that lists %s: %+v, want %q", list, refused, by)
		}
		if len(q.findings) != 1 || q.findings[0].Rule != "NR-MIRROR-3" {
			t.Errorf("a namespace that lists %s: found %v", list, q.findings)
		}
	}
}
