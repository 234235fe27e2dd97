// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"testing"
	"testing/synctest"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func podIn(version, node, name string) *corev1.Pod {
	pod := podOn(node, name)
	pod.ResourceVersion = version
	return pod
}

// The watch has reached version 10, with the pods x and y.
func TestFold(t *testing.T) {
	for _, row := range []struct {
		name string
		do   func(s *Sync, pods *store)
		read []runtime.Object
		news int
		err  bool
		on1  bool
	}{
		{"version ahead of the watch: applied", nil, []runtime.Object{podIn("11", "n1", "z")}, 1, false, true},
		{"version that the watch has shown: ignored", nil, []runtime.Object{podIn("10", "n1", "z")}, 0, false, false},
		{"9 is before 10", nil, []runtime.Object{podIn("9", "n1", "z")}, 0, false, false},
		{"a deletion that was shown is not undone", func(_ *Sync, pods *store) {
			must(pods.Add(podIn("11", "n1", "z")))
			must(pods.Delete(podIn("12", "n1", "z")))
		}, []runtime.Object{podIn("11", "n1", "z")}, 0, false, false},
		{"an older read does not undo a newer one", func(s *Sync, _ *store) {
			_, err := s.Fold(Pods, podIn("12", "n2", "z"))
			must(err)
		}, []runtime.Object{podIn("11", "n1", "z")}, 0, false, false},
		{"bookmark of an older version: still applied", func(_ *Sync, pods *store) {
			must(pods.Bookmark("10"))
		}, []runtime.Object{podIn("11", "n1", "z")}, 1, false, true},
		{"bookmark of the version: ignored", func(_ *Sync, pods *store) {
			must(pods.Bookmark("11"))
		}, []runtime.Object{podIn("11", "n1", "z")}, 0, false, false},
		{"a version that cannot be compared is refused", nil, []runtime.Object{podIn("x", "n1", "z")}, 0, true, false},
		{"version before the first list: rejected", func(_ *Sync, pods *store) {
			must(pods.Replace(nil, ""))
		}, []runtime.Object{podIn("11", "n1", "z")}, 0, true, false},
		{"an object of another type is refused", nil, []runtime.Object{attachmentIn("11")}, 0, true, false},
		{"no object: ignored", nil, nil, 0, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := graph.New(graph.Options{})
			s := New(fake.NewClientset(), g, Options{})
			pods := s.watched[0].store
			must(pods.Replace([]any{podIn("8", "n1", "x"), podIn("10", "n1", "y")}, "10"))
			if row.do != nil {
				row.do(s, pods)
			}
			news, err := s.Fold(Pods, row.read...)
			if news != row.news || (err != nil) != row.err {
				t.Errorf("Fold = %v, %v, want %v and an error: %v", news, err, row.news, row.err)
			}
			if got := g.Reaches("n1", graph.Secret, "ns", "secret-of-z"); got != row.on1 {
				t.Errorf("what was read is related: %v, want %v", got, row.on1)
			}
		})
	}
}

func attachmentIn(version string) runtime.Object {
	attachment := attachmentTo("n1", "z")
	attachment.ResourceVersion = version
	return attachment
}

// The pod was deleted at version 11 and created again at 12, on another node. The live read has
// shown version 12 before the watch reaches 11.
func TestEventsThatALiveReadHasOvertaken(t *testing.T) {
	g := graph.New(graph.Options{})
	s := New(fake.NewClientset(), g, Options{})
	pods := s.watched[0].store
	must(pods.Replace([]any{podIn("10", "n1", "x")}, "10"))
	if _, err := s.Fold(Pods, podIn("12", "n2", "x")); err != nil {
		t.Fatal(err)
	}
	expect := func(on1, on2 bool, after string) {
		t.Helper()
		if got1, got2 := g.Reaches("n1", graph.Pod, "ns", "x"), g.Reaches("n2", graph.Pod, "ns", "x"); got1 != on1 ||
			got2 != on2 {
			t.Errorf("after %s: on n1 %v, on n2 %v, want %v and %v", after, got1, got2, on1, on2)
		}
	}
	expect(false, true, "the live read")
	must(pods.Delete(podIn("11", "n1", "x")))
	expect(false, true, "the deletion that was overtaken")
	must(pods.Add(podIn("12", "n2", "x")))
	expect(false, true, "the creation")
	must(pods.Delete(podIn("13", "n2", "x")))
	expect(false, false, "the next deletion")
	if _, err := s.Fold(Pods, podIn("14", "n1", "x")); err != nil {
		t.Fatal(err)
	}
	must(pods.Replace(nil, "13"))
	expect(false, false, "a list")
	if left := pods.versions.ahead; len(left) > 0 {
		t.Errorf("still ahead after a list: %v", left)
	}
}

func TestBookmarksDropOlderLiveLookups(t *testing.T) {
	s := New(fake.NewClientset(), graph.New(graph.Options{}), Options{})
	pods := s.watched[0].store
	must(pods.Replace(nil, "10"))
	if _, err := s.Fold(Pods, podIn("12", "n1", "x"), podIn("15", "n1", "y")); err != nil {
		t.Fatal(err)
	}
	must(pods.Bookmark("12"))
	if left := pods.versions.ahead; len(left) != 1 || left[identity{"ns", "y"}] != "15" {
		t.Errorf("ahead after a bookmark: %v, want y at 15", left)
	}
}

func TestFoldOfUnwatchedResources(t *testing.T) {
	s := New(fake.NewClientset(), graph.New(graph.Options{}), Options{})
	if s.Watches(Nodes) || !s.Watches(Pods) {
		t.Error("watches nodes, or no pods")
	}
	if _, err := s.Fold(Nodes, &corev1.Node{}); err == nil {
		t.Error("folds what is not watched")
	}
}

func nodeNamed(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func signingRequestOf(user, name string) *certificatesv1.CertificateSigningRequest {
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       certificatesv1.CertificateSigningRequestSpec{Username: user},
	}
}

// claimOf is the claim of the ephemeral volume v of pod x.
func claimOf(owner *corev1.Pod) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: named("x-v")}
	claim.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner,
		corev1.SchemeGroupVersion.WithKind("Pod"))}
	return claim
}

func TestRulesHaveTheirResourcesWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := podOn("n1", "x")
		pod.UID = "uid-of-x"
		pod.Spec.Volumes = append(pod.Spec.Volumes,
			corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}})
		client := fake.NewClientset(pod, nodeNamed("n1"), signingRequestOf("system:node:n1", "r"), claimOf(pod))
		g := graph.New(graph.Options{Unowned: rules.Enforce})
		s := New(client, g, Options{Nodes: true, CertificateSigningRequests: true, PersistentVolumeClaims: true})
		run(t, s)
		if !s.HasSynced() {
			t.Error("not synced")
		}
		expect := func(want bool, when string) {
			t.Helper()
			synctest.Wait()
			got := [...]bool{
				g.Registered("n1"),
				g.Reaches("n1", graph.CertificateSigningRequest, "", "r"),
				g.Reaches("n1", graph.PersistentVolumeClaim, "ns", "x-v"),
			}
			if got != [...]bool{want, want, want} {
				t.Errorf("%s: node registered, its request its own, claim owned: %v, want %v", when, got, want)
			}
		}
		expect(true, "listed")
		ctx := t.Context()
		must(client.CoreV1().Nodes().Delete(ctx, "n1", metav1.DeleteOptions{}))
		must(client.CertificatesV1().CertificateSigningRequests().Delete(ctx, "r", metav1.DeleteOptions{}))
		must(client.CoreV1().PersistentVolumeClaims("ns").Delete(ctx, "x-v", metav1.DeleteOptions{}))
		expect(false, "deleted")
		if s.Unready() != "" {
			t.Error(s.Unready())
		}
	})
}
