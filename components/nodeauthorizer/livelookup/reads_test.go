// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package livelookup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graphsync"
)

// asked are the calls of a fake clientset, in alphabetical order.
func asked(client *fake.Clientset) []string {
	var calls []string
	for _, action := range client.Actions() {
		call := action.GetVerb() + " " + action.GetResource().Resource
		switch action := action.(type) {
		case clienttesting.GetActionImpl:
			call += fmt.Sprintf(" %s/%s at %q", action.Namespace, action.Name, action.GetOptions.ResourceVersion)
		case clienttesting.ListActionImpl:
			call += fmt.Sprintf(" %s where %s at %q", action.Namespace, action.ListOptions.FieldSelector,
				action.ListOptions.ResourceVersion)
		}
		calls = append(calls, call)
	}
	slices.Sort(calls)
	return calls
}

func TestReadsPerKindOfObject(t *testing.T) {
	const pods = `list pods  where spec.nodeName=n1 at ""`
	for kind, want := range map[graph.Kind][]string{
		graph.Secret:                    {pods},
		graph.ConfigMap:                 {pods},
		graph.ResourceClaim:             {pods},
		graph.ServiceAccount:            {pods},
		graph.ServiceAccountToken:       {pods},
		graph.Pod:                       {pods},
		graph.PersistentVolumeClaim:     {`get persistentvolumeclaims ns/x at ""`, pods},
		graph.PersistentVolume:          {`get persistentvolumes /x at ""`, pods},
		graph.VolumeAttachment:          {`get volumeattachments /x at ""`},
		graph.ResourceSlice:             {`get resourceslices /x at ""`},
		graph.PodCertificateRequest:     {`get podcertificaterequests ns/x at ""`},
		graph.CertificateSigningRequest: {`get certificatesigningrequests /x at ""`},
		nodeItself:                      {`get nodes /n1 at ""`},
	} {
		t.Run(kind.String(), func(t *testing.T) {
			client := fake.NewClientset()
			r := New(Config{Client: client, View: &folded{}, Registry: metrics.NewKubeRegistry()})
			confirm := func() string { return r.Refresh(t.Context(), "n1", kind, "ns", "x") }
			if kind == nodeItself {
				confirm = func() string { return r.RefreshNode(t.Context(), "n1") }
			}
			if why := confirm(); why != "" {
				t.Error(why)
			}
			if diff := cmp.Diff(want, asked(client)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
	if len(graph.Kinds()) != 12 {
		t.Error("a kind is not in this table")
	}
}

// A resource that the view does not watch can change no answer.
func TestUnwatchedResourcesAreNotRead(t *testing.T) {
	client := fake.NewClientset()
	view := &folded{unused: graphsync.PersistentVolumeClaims}
	r := New(Config{Client: client, View: view, Registry: metrics.NewKubeRegistry()})
	if why := r.Refresh(t.Context(), "n1", graph.PersistentVolumeClaim, "ns", "x"); why != "" {
		t.Error(why)
	}
	if got := asked(client); len(got) != 1 {
		t.Errorf("calls: %v, want the pods only", got)
	}
	view.unused = graphsync.ResourceSlices
	if why := r.Refresh(t.Context(), "n1", graph.ResourceSlice, "", "x"); why != "" || len(client.Actions()) != 1 {
		t.Errorf("asked for what is not watched: %q, %v", why, asked(client))
	}
}

// A name with special characters must not change the field selector.
func TestNamesAreEscaped(t *testing.T) {
	bubble(t, both, func(t *testing.T, s *server, r *Reader) {
		if why := secret(t.Context(), r, `n1,spec.nodeName!=x\`, "x"); why != "" {
			t.Error(why)
		}
		if got, want := s.seen()[0].node, `n1\,spec.nodeName!\=x\\`; got != want {
			t.Errorf("selects node %q, want %q", got, want)
		}
	})
}

func TestAnswersOfTheServer(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "x"}, "x")
	for _, row := range []struct {
		name       string
		list, get  error
		fold       error
		want       string
		takenLists int
	}{
		{"found", nil, nil, nil, "", 1},
		{"no such object", nil, gone, nil, "", 1},
		{"no such API for pods", gone, nil, nil, "not confirmed by a live read: the API server answered with an error", 0},
		{"no right", nil, apierrors.NewForbidden(schema.GroupResource{}, "x", errors.New("no")), nil,
			"not confirmed by a live read: the API server answered with an error", 1},
		{"cannot be reached", nil, &url.Error{Op: "Get", Err: http.ErrServerClosed}, nil,
			"not confirmed by a live read: the API server answered with an error", 1},
		{"cache version cannot be compared", nil, nil, errors.New("versions"),
			"not confirmed by a live read: its answer could not be compared with the view", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			answer := func(_ context.Context, c call) (runtime.Object, error) {
				if c.node != "" {
					return &corev1.PodList{Items: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "p"}}}}, row.list
				}
				return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, row.get
			}
			synctest.Test(t, func(t *testing.T) {
				view := &folded{err: row.fold}
				r := newReader(t, &server{answer: answer}, view)
				if got := r.Refresh(t.Context(), "n1", graph.PersistentVolume, "", "x"); got != row.want {
					t.Errorf("why: %q, want %q", got, row.want)
				}
				r.Wait()
				if got := view.objects[graphsync.Pods]; got != row.takenLists {
					t.Errorf("took %d pods, want %d", got, row.takenLists)
				}
				time.Sleep(3 * time.Second)
			})
		})
	}
}

// A failed read is not held: the next caller reads again.
func TestFailedReadsAreNotCached(t *testing.T) {
	fails := true
	bubble(t, func(ctx context.Context, c call) (runtime.Object, error) {
		if fails {
			return nil, apierrors.NewServiceUnavailable("x")
		}
		return both(ctx, c)
	}, func(t *testing.T, _ *server, r *Reader) {
		if why := secret(t.Context(), r, "n1", "x"); why == "" {
			t.Error("confirmed by a failure")
		}
		fails = false
		if why := secret(t.Context(), r, "n1", "x"); why != "" {
			t.Error(why)
		}
	})
}
