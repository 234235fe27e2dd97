// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

var everyResource = []string{Pods, PersistentVolumes, VolumeAttachments, ResourceSlices, PodCertificateRequests}

// longEnough is more than the longest delay between two attempts.
const longEnough = 2 * time.Minute

// failing makes the server answer every list of the resource with the error of fault, unless that
// is nil.
func failing(client *fake.Clientset, resource string, fault func() error) {
	client.PrependReactor("list", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		err := fault()
		return err != nil, nil, err
	})
}

func notServed() error {
	return apierrors.NewNotFound(schema.GroupResource{}, "")
}

func TestGraphHasEveryResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := start(t, fake.NewClientset(oneOfEach()...), Options{})
		if !s.HasSynced() {
			t.Fatal("not synced after every list was answered")
		}
		for kind, namespace := range map[graph.Kind]string{
			graph.Pod: "ns", graph.PersistentVolume: "", graph.VolumeAttachment: "", graph.ResourceSlice: "",
			graph.PodCertificateRequest: "ns",
		} {
			if !g.Reaches("n1", kind, namespace, "x") {
				t.Errorf("%v does not reach its node", kind)
			}
			if g.Reaches("n2", kind, namespace, "x") {
				t.Errorf("%v reaches another node", kind)
			}
		}
	})
}

func TestGraphFollowsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(oneOfEach()...)
		_, g := start(t, client, Options{})
		ctx, pods := context.Background(), client.CoreV1().Pods("ns")
		expect := func(want bool, node, secret, after string) {
			t.Helper()
			synctest.Wait()
			if got := g.Reaches(node, graph.Secret, "ns", secret); got != want {
				t.Errorf("after %s: secret %s reaches %s: %v, want %v", after, secret, node, got, want)
			}
		}
		must := func(_ any, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(pods.Create(ctx, podOn("n2", "y"), metav1.CreateOptions{}))
		expect(true, "n2", "secret-of-y", "a pod was created")
		moved := podOn("n1", "y")
		moved.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "more"}}
		must(pods.Update(ctx, moved, metav1.UpdateOptions{}))
		expect(false, "n2", "secret-of-y", "the pod was updated")
		expect(true, "n1", "more", "the pod was updated")
		must(nil, pods.Delete(ctx, "y", metav1.DeleteOptions{}))
		expect(false, "n1", "secret-of-y", "the pod was deleted")
		expect(true, "n1", "secret-of-x", "another pod was deleted")
	})
}

func TestNotSyncedUntilEveryResourceIsListed(t *testing.T) {
	for _, resource := range everyResource {
		t.Run(resource, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset(oneOfEach()...)
				var repaired atomic.Bool
				failing(client, resource, func() error {
					if repaired.Load() {
						return nil
					}
					return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no right to list"))
				})
				s, _ := start(t, client, Options{})
				time.Sleep(longEnough)
				if s.HasSynced() {
					t.Error("synced without a list")
				}
				if _, heard := s.Lag(resource); heard {
					t.Error("has a lag without a list")
				}
				repaired.Store(true)
				time.Sleep(longEnough)
				if !s.HasSynced() {
					t.Error("not synced after the list was answered")
				}
			})
		})
	}
}

func TestServerWithoutAnAPI(t *testing.T) {
	for _, row := range []struct {
		resource string
		waited   bool
	}{
		{Pods, true}, {PersistentVolumes, true}, {VolumeAttachments, true}, {ResourceSlices, false},
		{PodCertificateRequests, false},
	} {
		t.Run(row.resource, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset(oneOfEach()...)
				failing(client, row.resource, notServed)
				s, _ := start(t, client, Options{})
				time.Sleep(longEnough)
				if s.HasSynced() == row.waited {
					t.Errorf("HasSynced() = %v for a server without %s", !row.waited, row.resource)
				}
				if _, has := s.Lag(row.resource); has {
					t.Error("an API that is not served has a lag")
				}
			})
		})
	}
}

func TestAPIThatComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(oneOfEach()...)
		var served atomic.Bool
		failing(client, ResourceSlices, func() error {
			if served.Load() {
				return nil
			}
			return notServed()
		})
		events := make(chan *watch.RaceFreeFakeWatcher, 10)
		client.PrependWatchReactor(ResourceSlices, func(clienttesting.Action) (bool, watch.Interface, error) {
			w := watch.NewRaceFreeFake()
			events <- w
			return true, w, nil
		})
		s, g := start(t, client, Options{})
		for _, now := range []bool{false, true, false, true} {
			served.Store(now)
			if !now && len(events) > 0 {
				(<-events).Error(&apierrors.NewResourceExpired("too old").ErrStatus)
			}
			time.Sleep(longEnough)
			if got := g.Reaches("n1", graph.ResourceSlice, "", "x"); got != now {
				t.Errorf("slice reaches its node: %v, while its API is served: %v", got, now)
			}
			if !s.HasSynced() {
				t.Errorf("not synced, while the API is served: %v", now)
			}
		}
	})
}

func TestOptionsLeaveResourcesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(oneOfEach()...)
		s, g := start(t, client, Options{WithoutResourceSlices: true, WithoutPodCertificateRequests: true})
		if !s.HasSynced() {
			t.Error("waits for what was left out")
		}
		if g.Reaches("n1", graph.ResourceSlice, "", "x") || g.Reaches("n1", graph.PodCertificateRequest, "ns", "x") {
			t.Error("what was left out reaches a node")
		}
		var asked []string
		for _, progress := range s.Progress() {
			asked = append(asked, progress.Resource)
		}
		if diff := cmp.Diff([]string{Pods, PersistentVolumes, VolumeAttachments}, asked); diff != "" {
			t.Errorf("watched resources (-want +got):\n%s", diff)
		}
	})
}

// A re-list after a broken watch must remove objects whose deletion the watch has missed.
func TestRelistRemovesDeletedObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(podOn("n1", "kept"), podOn("n1", "gone"))
		broken := watch.NewRaceFreeFake()
		var unseen atomic.Bool
		client.PrependWatchReactor(Pods, func(clienttesting.Action) (bool, watch.Interface, error) {
			return !unseen.Load(), broken, nil
		})
		_, g := start(t, client, Options{})
		reached := func() [2]bool {
			return [2]bool{g.Reaches("n1", graph.Secret, "ns", "secret-of-kept"),
				g.Reaches("n1", graph.Secret, "ns", "secret-of-gone")}
		}
		if got := reached(); got != [2]bool{true, true} {
			t.Fatalf("before: kept and gone reach the node: %v", got)
		}
		if err := client.CoreV1().Pods("ns").Delete(context.Background(), "gone", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		unseen.Store(true)
		broken.Error(&apierrors.NewResourceExpired("too old").ErrStatus)
		time.Sleep(longEnough)
		if got := reached(); got != [2]bool{true, false} {
			t.Errorf("after the re-list: kept and gone reach the node: %v, want true and false", got)
		}
	})
}

func TestLagIsTheTimeSinceTheServerWasHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		events := watch.NewRaceFreeFake()
		client.PrependWatchReactor(Pods, clienttesting.DefaultWatchReactor(events, nil))
		s, _ := start(t, client, Options{})
		expect := func(want time.Duration, after string) {
			t.Helper()
			synctest.Wait()
			if got, ok := s.Lag(Pods); got != want || !ok {
				t.Errorf("after %s: Lag = %v, %v, want %v", after, got, ok, want)
			}
		}
		expect(0, "the list")
		time.Sleep(70 * time.Second)
		expect(70*time.Second, "70 s of silence")
		events.Action(watch.Bookmark, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9"}})
		expect(0, "a bookmark")
		time.Sleep(time.Second)
		events.Add(podOn("n1", "x"))
		expect(0, "an event")
		if _, ok := s.Lag("secrets"); ok {
			t.Error("a resource that is not watched has a lag")
		}
	})
}

// A selector would make the view incomplete, and requests for missing objects would be refused.
func TestListsAreNotSelective(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(oneOfEach()...)
		start(t, client, Options{})
		listed := map[string]bool{}
		for _, action := range client.Actions() {
			list, ok := action.(clienttesting.ListActionImpl)
			if !ok {
				continue
			}
			listed[list.Resource.Resource] = true
			if options := list.ListOptions; options.FieldSelector+options.LabelSelector+list.Namespace != "" {
				t.Errorf("list of %s is selective: namespace %q, %+v", list.Resource.Resource, list.Namespace, options)
			}
		}
		if len(listed) != len(everyResource) {
			t.Errorf("listed %v, want %v", listed, everyResource)
		}
	})
}
