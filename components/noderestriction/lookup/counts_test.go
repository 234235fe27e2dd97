// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
)

// list returns an api that has the items and returns them in pages of the requested size.
func list(path string, items ...string) *api {
	return &api{answer: func(asked string) string {
		address, err := url.Parse(strings.Fields(asked)[1])
		if err != nil || address.Path != path {
			return "404"
		}
		limit, _ := strconv.Atoi(address.Query().Get("limit"))
		from, _ := strconv.Atoi(address.Query().Get("continue"))
		to, next := from+limit, ""
		if to < len(items) {
			next = strconv.Itoa(to)
		} else {
			to = len(items)
		}
		return fmt.Sprintf(`{"kind":"CertificateSigningRequestList","apiVersion":"certificates.k8s.io/v1",`+
			`"metadata":{"continue":%q},"items":[%s]}`, next, strings.Join(items[from:to], ","))
	}}
}

// many returns n items of each form, one form after the other.
func many(n int, forms ...string) []string {
	var all []string
	for _, form := range forms {
		for range n {
			all = append(all, form)
		}
	}
	return all
}

const (
	anyItem = `{"metadata":{"name":"x"}}`
	mirror  = `{"metadata":{"name":"x","annotations":{"kubernetes.io/config.mirror":""}}}`
)

func TestCount(t *testing.T) {
	const (
		pods     = "/api/v1/pods"
		slices   = "/apis/resource.k8s.io/v1/resourceslices"
		requests = "/apis/certificates.k8s.io/v1/podcertificaterequests"
	)
	for _, tt := range []struct {
		name  string
		api   *api
		what  noderestriction.Counted
		limit int
		want  int
		asked []string
	}{
		{"of pods only mirror pods count", list(pods, many(3, anyItem, mirror)...), noderestriction.MirrorPods, 10, 3,
			[]string{pods + "?fieldSelector=spec.nodeName%3Dme&limit=100"}},
		{"all pages are read", list(pods, many(120, anyItem, mirror)...), noderestriction.MirrorPods, 1000, 120,
			[]string{pods + "?fieldSelector=spec.nodeName%3Dme&limit=100",
				pods + "?continue=100&fieldSelector=spec.nodeName%3Dme&limit=100",
				pods + "?continue=200&fieldSelector=spec.nodeName%3Dme&limit=100"}},
		{"no more is read than matters", list(pods, many(120, mirror, anyItem)...), noderestriction.MirrorPods, 50, 50,
			[]string{pods + "?fieldSelector=spec.nodeName%3Dme&limit=100"}},
		{"no objects", list(pods), noderestriction.MirrorPods, 50, 0,
			[]string{pods + "?fieldSelector=spec.nodeName%3Dme&limit=100"}},
		{"slices all count", list(slices, many(7, anyItem)...), noderestriction.ResourceSlices, 10, 7,
			[]string{slices + "?fieldSelector=spec.nodeName%3Dme&limit=10"}},
		{"no more slices are read than asked for", list(slices, many(11, anyItem)...), noderestriction.ResourceSlices, 10, 10,
			[]string{slices + "?fieldSelector=spec.nodeName%3Dme&limit=10"}},
		{"pod certificate requests all count", list(requests, many(2, anyItem)...), noderestriction.PodCertificateRequests, 2,
			2, []string{requests + "?fieldSelector=spec.nodeName%3Dme&limit=2"}},
		{"an older version of an API is asked", list("/apis/resource.k8s.io/v1beta1/resourceslices", many(2, anyItem)...),
			noderestriction.ResourceSlices, 10, 2, []string{
				slices + "?fieldSelector=spec.nodeName%3Dme&limit=10",
				"/apis/resource.k8s.io/v1beta2/resourceslices?fieldSelector=spec.nodeName%3Dme&limit=10",
				"/apis/resource.k8s.io/v1beta1/resourceslices?fieldSelector=spec.nodeName%3Dme&limit=10",
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tt.api)
			got, err := w.Count(t.Context(), tt.what, "me", tt.limit)
			if got != tt.want || err != nil {
				t.Errorf("%d, %v, want %d", got, err, tt.want)
			}
			var want []string
			for _, asked := range tt.asked {
				want = append(want, "GET "+asked)
			}
			if diff := cmp.Diff(want, w.api.requests()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A count that is not known must never be a small number. It must not be a 404 either, because the
// object is not what is missing.
func TestFailedCounts(t *testing.T) {
	for _, tt := range []struct {
		name  string
		api   *api
		what  noderestriction.Counted
		limit int
		want  string
	}{
		{"an API that is not served", answers("404"), noderestriction.ResourceSlices, 5,
			"cannot look up resourceslices: the API server has no resourceslices.resource.k8s.io " +
				"of version [v1 v1beta2 v1beta1]"},
		{"forbidden", answers("403"), noderestriction.MirrorPods, 5,
			"cannot look up the mirror pods of the node: the server says 403"},
		{"too many pods", list("/api/v1/pods", many(MaxCounted+1, anyItem)...), noderestriction.MirrorPods, 5,
			"cannot look up the mirror pods of the node: more than 5000 objects to count"},
		{"another kind", answers(anyItem), noderestriction.Counted(99), 5, "cannot count kind 99 up to 5"},
		{"limit of 0", answers(anyItem), noderestriction.MirrorPods, 0, "cannot count kind 0 up to 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tt.api)
			got, err := w.Count(t.Context(), tt.what, "me", tt.limit)
			if got != 0 || err == nil || err.Error() != tt.want {
				t.Errorf("%d, %v, want %s", got, err, tt.want)
			}
			if apierrors.IsNotFound(err) {
				t.Error("a 404")
			}
		})
	}
}

// A node name with the syntax of a field selector is escaped.
func TestNodeNameIsEscapedInSelectors(t *testing.T) {
	w := newWorld(t, list("/api/v1/pods"))
	if _, err := w.Count(t.Context(), noderestriction.MirrorPods, "me,metadata.name=x", 5); err != nil {
		t.Fatal(err)
	}
	want := []string{`GET /api/v1/pods?fieldSelector=spec.nodeName%3Dme%5C%2Cmetadata.name%5C%3Dx&limit=100`}
	if diff := cmp.Diff(want, w.api.requests()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
