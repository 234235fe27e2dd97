// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/metrics"
)

const (
	widgetGVR = `{"group":"example.com","version":"v2","resource":"widgets"}`
	widgetGVK = `{"group":"example.com","version":"v2","kind":"Widget"}`
)

func isWidget(r schema.GroupResource) bool {
	return r == schema.GroupResource{Group: "example.com", Resource: "widgets"}
}

// widgetReview is a review of a widget, changed by edits.
func widgetReview(object string, edits ...func(*fields)) string {
	return reviewOf(func(f *fields) {
		f.resource, f.kind, f.object = widgetGVR, widgetGVK, object
		for _, edit := range edits {
			edit(f)
		}
	})
}

// Objects without a Go type are decoded if Config.Untyped selects them, in any version. The same
// checks apply to them as to typed objects.
func TestUntypedObjects(t *testing.T) {
	const widget = `{"kind":"Widget","apiVersion":"example.com/v2","metadata":{"name":"w"},"spec":{"node":"me","n":1}}`
	decoded := map[string]any{
		"kind": "Widget", "apiVersion": "example.com/v2", "metadata": map[string]any{"name": "w"},
		"spec": map[string]any{"node": "me", "n": int64(1)},
	}
	for _, tc := range []struct {
		name, review string
		want         runtime.Object
		// refused is the reason why the reviewer is not called.
		refused string
	}{
		{name: "one that is wanted", review: widgetReview(widget), want: &unstructured.Unstructured{Object: decoded}},
		{name: "one that nobody wants",
			review: widgetReview(widget, func(f *fields) { f.resource = strings.Replace(widgetGVR, "widgets", "gadgets", 1) })},
		{name: "one of another group",
			review: widgetReview(widget,
				func(f *fields) { f.resource = strings.Replace(widgetGVR, "example.com", "example.org", 1) })},
		{name: "one of another kind", review: widgetReview(strings.Replace(widget, "Widget", "Gadget", 1)),
			refused: "object is a example.com/v2, Kind=Gadget, want example.com/v2, Kind=Widget"},
		{name: "one of no kind", review: widgetReview(`{}`),
			refused: "object is a /, Kind=, want example.com/v2, Kind=Widget"},
		{name: "one with a field twice", review: widgetReview(strings.Replace(widget, `"n":1`, `"node":"other"`, 1)),
			refused: `decoding object: duplicate field "spec.node"`},
		{name: "a text", review: widgetReview(`"x"`), refused: "decoding object: it has a value of a wrong type"},
		{name: "a list", review: widgetReview(`[]`), refused: "decoding object: it has a value of a wrong type"},
		{name: "none", review: widgetReview(`null`), refused: "object is missing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := allowing()
			config := testConfig(r)
			config.Untyped = isWidget
			got := replyTo(t, New(config), tc.review)
			if tc.refused != "" {
				if got.Response.Allowed || len(r.asked) > 0 || got.Response.Status.Code != http.StatusBadRequest ||
					got.Response.Status.Message != tc.refused {
					t.Errorf("asked %d times, answered %+v", len(r.asked), got.Response.Status)
				}
				return
			}
			if len(r.asked) != 1 {
				t.Fatalf("asked %d times: %+v", len(r.asked), got.Response.Status)
			}
			if diff := cmp.Diff(tc.want, r.asked[0].GetObject()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Two handlers of one process have separate metrics.
func TestEntriesAreCountedApart(t *testing.T) {
	for entry, want := range map[string]map[string]string{"": {}, "node-scope": {"entry": "node-scope"}} {
		config := testConfig(allowing())
		config.Registry, config.Entry = metrics.NewKubeRegistry(), entry
		replyTo(t, New(config), reviewOf(func(*fields) {}))
		families, err := config.Registry.Gather()
		if err != nil || len(families) == 0 {
			t.Fatalf("%d families, %v", len(families), err)
		}
		for _, family := range families {
			for _, m := range family.GetMetric() {
				labels := map[string]string{}
				for _, label := range m.GetLabel() {
					if label.GetName() == "entry" {
						labels["entry"] = label.GetValue()
					}
				}
				if diff := cmp.Diff(want, labels); diff != "" {
					t.Errorf("%s (-want +got)\n%s", family.GetName(), diff)
				}
			}
		}
	}
}
