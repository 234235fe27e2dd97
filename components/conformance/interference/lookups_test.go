// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package interference_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeaddress"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
)

// lookups are the objects of one cluster, as node-restriction looks them up. Each look-up is
// recorded, with the number of objects that its result has.
type lookups struct {
	objects []metav1.Object
	byKey   map[string]metav1.Object

	mu   sync.Mutex
	made []string
}

var (
	_ noderestriction.Cluster    = &lookups{}
	_ noderestriction.Authorizer = &lookups{}
)

func newLookups(objects []metav1.Object) *lookups {
	l := &lookups{objects: objects, byKey: make(map[string]metav1.Object, len(objects))}
	for _, o := range objects {
		l.byKey[keyOf(o)] = o
	}
	return l
}

func (l *lookups) record(found int, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made = append(l.made, fmt.Sprintf(format, args...)+fmt.Sprintf(": %d objects", found))
}

// take returns the look-ups since the last take. Those of one request may be concurrent.
func (l *lookups) take() string {
	slices.Sort(l.made)
	text := strings.Join(l.made, "; ")
	l.made = l.made[:0]
	return text
}

// get looks up one object. Whether it exists is not part of the record: the answer may depend on it.
func get[P metav1.Object](l *lookups, resource, namespace, name string) (none P, err error) {
	l.record(1, "get %s %s/%s", resource, namespace, name)
	if o, known := l.byKey[fmt.Sprintf("%T/%s/%s", none, namespace, name)]; known {
		return o.(P), nil
	}
	return none, apierrors.NewNotFound(schema.GroupResource{Resource: resource}, name)
}

func (l *lookups) Node(_ context.Context, name string) (*corev1.Node, error) {
	return get[*corev1.Node](l, "nodes", "", name)
}

func (l *lookups) Pod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	return get[*corev1.Pod](l, "pods", namespace, name)
}

func (l *lookups) Namespace(_ context.Context, name string) (*corev1.Namespace, error) {
	return get[*corev1.Namespace](l, "namespaces", "", name)
}

func (l *lookups) ServiceAccount(_ context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	return get[*corev1.ServiceAccount](l, "serviceaccounts", namespace, name)
}

func (l *lookups) PersistentVolumeClaim(_ context.Context, namespace, name string) (*corev1.PersistentVolumeClaim,
	error) {
	return get[*corev1.PersistentVolumeClaim](l, "persistentvolumeclaims", namespace, name)
}

func (l *lookups) PersistentVolume(_ context.Context, name string) (*corev1.PersistentVolume, error) {
	return get[*corev1.PersistentVolume](l, "persistentvolumes", "", name)
}

func (l *lookups) CSIDriver(_ context.Context, name string) (*storagev1.CSIDriver, error) {
	return get[*storagev1.CSIDriver](l, "csidrivers", "", name)
}

func (l *lookups) PodsOn(_ context.Context, node string) (on []*corev1.Pod, _ error) {
	for _, o := range l.objects {
		if pod, is := o.(*corev1.Pod); is && pod.Spec.NodeName == node {
			on = append(on, pod)
		}
	}
	l.record(len(on), "pods on %s", node)
	return on, nil
}

func (l *lookups) BoundTo(ctx context.Context, namespace, name string, uid types.UID) (string, error) {
	pod, err := l.Pod(ctx, namespace, name)
	if err != nil || pod.UID != uid {
		return "", apierrors.NewNotFound(corev1.Resource("pods"), name)
	}
	return pod.Spec.NodeName, nil
}

func (l *lookups) Count(_ context.Context, what noderestriction.Counted, node string, limit int) (int, error) {
	count := 0
	for _, o := range l.objects {
		switch o := o.(type) {
		case *corev1.Pod:
			_, isMirror := o.Annotations[corev1.MirrorPodAnnotationKey]
			if what == noderestriction.MirrorPods && isMirror && o.Spec.NodeName == node {
				count++
			}
		case *resourcev1.ResourceSlice:
			if what == noderestriction.ResourceSlices && o.Spec.NodeName != nil && *o.Spec.NodeName == node {
				count++
			}
		}
	}
	l.record(min(count, limit), "count %d of %s", what, node)
	return min(count, limit), nil
}

func (l *lookups) PoolUser(_ context.Context, driver, pool, but string) (string, error) {
	l.record(1, "user of the pool %s %s but %s", driver, pool, but)
	for _, o := range l.objects {
		slice, is := o.(*resourcev1.ResourceSlice)
		switch {
		case !is || slice.Spec.Driver != driver || slice.Spec.Pool.Name != pool:
		case slice.Spec.NodeName == nil:
			return noderestriction.NoNode, nil
		case *slice.Spec.NodeName != but:
			return *slice.Spec.NodeName, nil
		}
	}
	return "", nil
}

func (l *lookups) SigningRequests(node string, of noderestriction.Signers, limit int, adds bool) int {
	l.record(1, "signing requests of %s for %v: %d %v", node, of, limit, adds)
	return 0
}

// owner returns the first Node for which is returns true.
func (l *lookups) owner(but string, is func(*corev1.Node) bool) (string, error) {
	for _, o := range l.objects {
		if node, isNode := o.(*corev1.Node); isNode && node.Name != but && is(node) {
			return node.Name, nil
		}
	}
	return "", nil
}

func (l *lookups) AddressOwner(_ context.Context, address, but string) (string, error) {
	l.record(1, "owner of the address %s", address)
	return l.owner(but, func(node *corev1.Node) bool {
		return slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool {
			return nodeaddress.Canonical(a.Address) == address
		})
	})
}

func (l *lookups) ProviderIDOwner(_ context.Context, id, but string) (string, error) {
	l.record(1, "owner of the providerID %s", id)
	return l.owner(but, func(node *corev1.Node) bool { return node.Spec.ProviderID == id })
}

func (l *lookups) ServiceWith(_ context.Context, ip string) (string, error) {
	l.record(1, "service with %s", ip)
	return "", nil
}

func (l *lookups) APIServer(context.Context) ([]string, error) {
	l.record(1, "addresses of the API server")
	return []string{"192.0.2.1"}, nil
}

func (l *lookups) LastReported(_ context.Context, node string) (noderestriction.Reported, error) {
	l.record(1, "last report of %s", node)
	return noderestriction.Reported{}, nil
}

func (l *lookups) LastJoined(_ context.Context, node string) (time.Time, error) {
	l.record(1, "last join of %s", node)
	return time.Time{}, nil
}

func (l *lookups) History(_ context.Context, node string) (noderestriction.NodeHistory, error) {
	l.record(1, "history of %s", node)
	return noderestriction.NodeHistory{}, nil
}

// Allowed grants what a fixed property of the right says.
func (l *lookups) Allowed(_ context.Context, who user.Info, right noderestriction.Right) (bool, error) {
	l.record(1, "right of %s: %v", who.GetName(), right)
	return len(right.Name+right.Resource)%3 == 0, nil
}
