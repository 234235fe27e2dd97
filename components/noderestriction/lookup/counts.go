// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"errors"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
)

const (
	// MaxCounted is the number of objects after which a count fails.
	MaxCounted = 5000
	// pageSize limits the memory of a list, because a node may have made each object as large as
	// possible.
	pageSize = 100
	// maxLists limits how many lists run at the same time.
	maxLists = 8
)

var errTooMany = fmt.Errorf("more than %d objects to count", MaxCounted)

// countable is a kind of object that supports the field selector spec.nodeName. Source:
// pkg/apis/{core,resource,certificates}/v1/conversion.go.
type countable struct {
	// kind is the name in metrics.
	kind     string
	resource schema.GroupResource
	// versions are the API versions that an API server may serve, the newest first.
	versions []string
	// counts reports whether an object counts. If it is nil, all objects count.
	counts func(*metav1.PartialObjectMetadata) bool
}

var countables = map[noderestriction.Counted]countable{
	noderestriction.MirrorPods: {
		kind: "mirrorpods", resource: corev1.Resource("pods"), versions: []string{"v1"},
		counts: func(pod *metav1.PartialObjectMetadata) bool {
			_, isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
			return isMirror
		},
	},
	noderestriction.ResourceSlices: {
		kind: "resourceslices", resource: resourcev1.Resource("resourceslices"),
		versions: []string{"v1", "v1beta2", "v1beta1"},
	},
	noderestriction.PodCertificateRequests: {
		kind: "podcertificaterequests", resource: certificatesv1.Resource("podcertificaterequests"),
		versions: []string{"v1", "v1beta1"},
	},
}

// Count implements [noderestriction.Cluster]. It counts only stored objects. Requests that are
// decided at the same time see the same count.
func (v *Cluster) Count(ctx context.Context, what noderestriction.Counted, node string, limit int) (int, error) {
	counted, ok := countables[what]
	if !ok || limit < 1 {
		return 0, fmt.Errorf("cannot count kind %d up to %d", what, limit)
	}
	asked := question{kind: counted.kind, name: node, limit: limit}
	return look(ctx, v, asked, func(ctx context.Context) (int, error) {
		return v.countIn(ctx, counted, node, limit)
	})
}

// countIn uses the newest version that is served. If none is served, it returns an error and not 0:
// objects may exist in a version that it does not know.
func (v *Cluster) countIn(ctx context.Context, counted countable, node string, limit int) (int, error) {
	if err := v.lists.Acquire(ctx, 1); err != nil {
		return 0, err
	}
	defer v.lists.Release(1)
	for _, version := range counted.versions {
		n, err := v.countPages(ctx, counted, version, node, limit)
		if !apierrors.IsNotFound(err) {
			return n, err
		}
	}
	return 0, fmt.Errorf("the API server has no %s of version %v", counted.resource, counted.versions)
}

func (v *Cluster) countPages(ctx context.Context, counted countable, version, node string, limit int) (n int,
	err error) {
	options := metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(),
		Limit:         pageSize,
	}
	if counted.counts == nil {
		options.Limit = int64(min(limit, pageSize))
	}
	resource := counted.resource.WithVersion(version)
	for seen := 0; seen < MaxCounted; {
		page, err := v.metadata.Resource(resource).List(ctx, options)
		if err != nil {
			return 0, err
		}
		for i := range page.Items {
			if counted.counts == nil || counted.counts(&page.Items[i]) {
				n++
			}
		}
		if n >= limit || page.Continue == "" {
			return min(n, limit), nil
		}
		seen += int(options.Limit)
		options.Continue = page.Continue
	}
	return 0, errTooMany
}

// withoutStatus removes the API status from the error of a list or a review. A 404 there means that
// the API is not served, and not that an object does not exist.
func withoutStatus(err error) error { return errors.New(err.Error()) }
