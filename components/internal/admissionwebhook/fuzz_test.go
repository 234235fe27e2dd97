// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/json"
)

func addSeeds(f *testing.F) {
	good := reviewOf(nil)
	for _, body := range []string{
		good, good + good, ``, `{}`, `null`, `[]`,
		`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":null}`,
		strings.Replace(good, "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1),
		reviewOf(func(f *fields) { f.user = asAdmin }),
		reviewOf(func(f *fields) { f.user = `{"username":"system:node:x","username":"admin"}` }),
		reviewOf(func(f *fields) { f.user = `{"Username":"admin","username":"system:node:x\u0000"}` }),
		reviewOf(func(f *fields) { f.user = `{}` }),
		reviewOf(func(f *fields) { f.user = "{\"username\":\"system:node:x\xff\"}" }),
		reviewOf(func(f *fields) { f.object = `null` }),
		reviewOf(func(f *fields) { f.operation, f.old = `"UPDATE"`, podB }),
		reviewOf(func(f *fields) { f.operation, f.old, f.object = `"DELETE"`, podB, `null` }),
		reviewOf(func(f *fields) { f.operation, f.resource = `"CONNECT"`, nodeGVR }),
		reviewOf(func(f *fields) { f.kind = strings.Replace(podGVK, "Pod", "Node", 1) }),
		reviewOf(func(f *fields) { f.object = `{"kind":"Node","apiVersion":"v1"}` }),
		reviewOf(func(f *fields) { f.object = podWith(`"ownerReferences":[{},null,{"uid":"1"}]`) }),
		reviewOf(func(f *fields) { f.object = podWith(`"annotations":` + nested(50)) }),
		reviewOf(func(f *fields) { f.resource = strings.Replace(podGVR, "v1", "v2", 1) }),
		reviewOf(func(f *fields) { f.subresource, f.uid = `"eviction"`, `"\n"` }),
	} {
		f.Add([]byte(body))
	}
}

// FuzzDecodeReview checks that the API's own types decode every accepted review to the same values.
func FuzzDecodeReview(f *testing.F) {
	addSeeds(f)
	f.Add([]byte(reviewOf(func(f *fields) {
		f.resource, f.kind, f.object = widgetGVR, widgetGVK,
			`{"kind":"Widget","apiVersion":"example.com/v2","metadata":{"labels":{"a":"b"}},"spec":{"n":[1.5,null]}}`
	})))
	targets := newTargets(isWidget)
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := decodeReview(body)
		if (q == nil) != (err != nil) {
			t.Fatalf("request %v with error %v", q, err)
		}
		uidIn(body)
		if err != nil {
			return
		}
		var api admissionv1.AdmissionReview
		if err := json.UnmarshalCaseSensitivePreserveInts(body, &api); err != nil || api.Request == nil {
			// The API's types may differ in fields that this package does not read.
			return
		}
		if diff := cmp.Diff(asSent(api.Request), asRead(q)); diff != "" {
			t.Errorf("another request was read (-body +read)\n%s", diff)
		}
		a, err := targets.attributesOf(q)
		if err == nil && a.GetObject() != nil && q.Object == nil {
			t.Errorf("an object without one in the review")
		}
	})
}

// FuzzHandler checks two properties. A node's write is admitted only if the reviewer allows it. The
// attributes that the reviewer sees are those in the body.
func FuzzHandler(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		yes, no := allowing(), refusing()
		willing, unwilling := New(testConfig(yes)), New(testConfig(no))
		w := post(willing, string(body))
		if again := post(unwilling, string(body)); again.Code != w.Code || len(yes.asked) != len(no.asked) ||
			len(no.asked) > 1 {
			t.Fatalf("status %d and %d, asked %d and %d times", w.Code, again.Code, len(yes.asked), len(no.asked))
		}
		asked := len(no.asked) == 1
		expectIdle(t, willing)
		if w.Code == http.StatusBadRequest {
			return
		}
		granted, refused := replyTo(t, willing, string(body)).Response, replyTo(t, unwilling, string(body)).Response
		q, err := decodeReview(body)
		if err != nil {
			if granted.Allowed || refused.Allowed {
				t.Errorf("allowed %v and %v what cannot be decoded: %v", granted.Allowed, refused.Allowed, err)
			}
			return
		}
		_, isNode := nodeName(q.user())
		if want := !isNode; refused.Allowed != want {
			t.Errorf("allowed %v against the reviewer, for a node: %v", refused.Allowed, isNode)
		}
		if want := !isNode || asked; granted.Allowed != want {
			t.Errorf("allowed %v, for a node: %v, reviewer asked: %v", granted.Allowed, isNode, asked)
		}
		if !refused.Allowed && (refused.Status == nil || refused.Status.Code < 400) {
			t.Errorf("refused with %+v", refused.Status)
		}
		if granted.UID != q.UID || refused.UID != q.UID {
			t.Errorf("uid %q and %q, want %q", granted.UID, refused.UID, q.UID)
		}
	})
}

// sent is the part of a request that a rule may read, without the objects. TestObjectsByResource
// covers the objects.
type sent struct {
	UID, User, Name, Namespace, Sub string
	Groups                          []string
	Group, Version, Resource, Kind  string
	Operation                       string
	DryRun                          bool
}

func asSent(r *admissionv1.AdmissionRequest) sent {
	return sent{
		UID: string(r.UID), User: r.UserInfo.Username, Groups: r.UserInfo.Groups, Name: r.Name, Namespace: r.Namespace,
		Sub:   r.SubResource,
		Group: r.Resource.Group, Version: r.Resource.Version, Resource: r.Resource.Resource, Kind: r.Kind.Kind,
		Operation: string(r.Operation), DryRun: r.DryRun != nil && *r.DryRun,
	}
}

func asRead(q *request) sent {
	a := admission.NewAttributesRecord(nil, nil, struct{ Group, Version, Kind string }(q.Kind), q.Namespace, q.Name,
		struct{ Group, Version, Resource string }(q.Resource), q.SubResource, q.Operation, nil, q.DryRun, q.user())
	return sent{
		UID: string(q.UID), User: a.GetUserInfo().GetName(), Groups: a.GetUserInfo().GetGroups(), Name: a.GetName(),
		Namespace: a.GetNamespace(),
		Sub:       a.GetSubresource(), Group: a.GetResource().Group, Version: a.GetResource().Version,
		Resource: a.GetResource().Resource,
		Kind:     a.GetKind().Kind, Operation: string(a.GetOperation()), DryRun: a.IsDryRun(),
	}
}
