// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesuggest

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

// asked has the fields of a request that the tests compare.
type asked struct {
	Verb, Resource, Namespace, Name, Fields, Labels, As, Constraint, WouldRefuse string
}

func askedOf(r Request) asked {
	a := &r.Attributes
	out := asked{Verb: a.Verb, Resource: a.Resource, Namespace: a.Namespace, Name: a.Name, As: r.As,
		Constraint: r.Constraint, WouldRefuse: r.WouldRefuse}
	if a.Subresource != "" {
		out.Resource += "/" + a.Subresource
	}
	if a.APIGroup != "" {
		out.Resource += " of " + a.APIGroup
	}
	if !a.ResourceRequest {
		out.Resource = "path " + a.Path
	}
	for _, f := range a.FieldSelectorRequirements {
		out.Fields += f.Field + string(f.Operator) + f.Value
	}
	for i := range a.LabelSelectorRequirements {
		out.Labels += a.LabelSelectorRequirements[i].String()
	}
	return out
}

func TestRequests(t *testing.T) {
	as := event("/api/v1/nodes/me", "get", auditv1.ObjectReference{Resource: "nodes", APIVersion: "v1", Name: "me"})
	as.ImpersonatedUser = &authenticationv1.UserInfo{Username: "system:node:me"}
	as.AuthenticationMetadata = &auditv1.AuthenticationMetadata{ImpersonationConstraint: "impersonate:associated-node"}
	audited := event("/api/v1/nodes/me", "patch",
		auditv1.ObjectReference{Resource: "nodes", APIVersion: "v1", Name: "me", Subresource: "status"})
	audited.Annotations["node-scope.bulkhead.dev/would-refuse"] = "it is not allowed to [NS-ADMIT-1]"
	for name, tc := range map[string]struct {
		event auditv1.Event
		want  asked
	}{
		"a get": {
			event("/api/v1/namespaces/ns/pods/p?fieldSelector=spec.nodeName%3Dme", "get",
				auditv1.ObjectReference{Resource: "pods", Namespace: "ns", Name: "p", APIVersion: "v1"}),
			asked{Verb: "get", Resource: "pods", Namespace: "ns", Name: "p"},
		},
		"a list with selectors": {
			event("/api/v1/pods?fieldSelector=spec.nodeName%3Dme&labelSelector=a%3Db", "list",
				auditv1.ObjectReference{Resource: "pods", APIVersion: "v1"}),
			asked{Verb: "list", Resource: "pods", Fields: "spec.nodeName=me", Labels: "a=b"},
		},
		"a list with a selector that does not parse": {
			event("/api/v1/pods?fieldSelector=%3D%3D&labelSelector=a+b", "list",
				auditv1.ObjectReference{Resource: "pods", APIVersion: "v1"}),
			asked{Verb: "list", Resource: "pods"},
		},
		"another group": {
			event("/apis/apps/v1/daemonsets", "watch",
				auditv1.ObjectReference{APIGroup: "apps", Resource: "daemonsets", APIVersion: "v1"}),
			asked{Verb: "watch", Resource: "daemonsets of apps"},
		},
		"a path": {event("/metrics?x=y", "get", auditv1.ObjectReference{}), asked{Verb: "get", Resource: "path /metrics"}},
		"impersonation": {as, asked{
			Verb: "get", Resource: "nodes", Name: "me", As: "system:node:me", Constraint: "impersonate:associated-node",
		}},
		"audit annotations of admission": {audited,
			asked{Verb: "patch", Resource: "nodes/status", Name: "me", WouldRefuse: "it is not allowed to [NS-ADMIT-1]"}},
	} {
		t.Run(name, func(t *testing.T) {
			seen, _, err := read(t, lineOf(t, tc.event))
			if err != nil || len(seen) != 1 {
				t.Fatalf("%d requests, error %v", len(seen), err)
			}
			if diff := cmp.Diff(tc.want, askedOf(seen[0])); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := seen[0].Attributes.User.GetExtra()["authentication.kubernetes.io/node-name"]; len(got) != 1 ||
				got[0] != "me" {
				t.Errorf("node of the token: %q", got)
			}
		})
	}
}

func TestStats(t *testing.T) {
	pods := auditv1.ObjectReference{Resource: "pods", APIVersion: "v1"}
	at := func(minute int, e auditv1.Event) auditv1.Event {
		e.RequestReceivedTimestamp = metav1.NewMicroTime(time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC))
		return e
	}
	staged := func(id string, stage auditv1.Stage) auditv1.Event {
		e := at(5, event("/api/v1/pods?watch=true", "watch", pods))
		e.AuditID, e.Stage = types.UID(id), stage
		return e
	}
	forbidden, unauthorized, other := at(1, event("/api/v1/pods", "list", pods)),
		at(1, event("/api/v1/pods", "list", pods)), at(1, event("/api/v1/pods", "list", pods))
	forbidden.Annotations["authorization.k8s.io/decision"] = "forbid"
	unauthorized.ResponseStatus = &metav1.Status{Code: 403}
	other.User.Username = "system:serviceaccount:ns:agent-2"
	received := at(1, event("/api/v1/pods", "list", pods))
	received.Stage = auditv1.StageRequestReceived
	var log strings.Builder
	for _, e := range []auditv1.Event{
		at(4, event("/api/v1/pods", "list", pods)), forbidden, unauthorized, other, received,
		at(3, event("/api/v1/pods", "list", pods)),
		staged("1", auditv1.StageResponseStarted), staged("1", auditv1.StageResponseComplete),
		staged("2", auditv1.StageResponseStarted), staged("3", auditv1.StageResponseComplete),
	} {
		log.WriteString(lineOf(t, e))
	}
	log.WriteString("\nnot json\n{\"user\":{\"username\":\"system:serviceaccount:ns:agent\"}}\n")
	seen, stats, err := read(t, log.String())
	want := LogStats{Requests: 5, Refused: 2, Unreadable: 2, First: time.Date(2026, 1, 2, 3, 3, 0, 0, time.UTC),
		Last: time.Date(2026, 1, 2, 3, 5, 0, 0, time.UTC)}
	stats.First, stats.Last = stats.First.UTC(), stats.Last.UTC()
	if diff := cmp.Diff(want, stats); diff != "" || err != nil || len(seen) != 5 {
		t.Errorf("%d seen, error %v, stats (-want +got):\n%s", len(seen), err, diff)
	}
}

func TestInvalidLogsAreRejected(t *testing.T) {
	for name, tc := range map[string]struct {
		log  string
		want error
	}{
		"nothing":     {"", nil},
		"another log": {"I0102 03:04:05 1 server.go:1] started\nsystem:serviceaccount:ns:agent\n", errNoLog},
		"half a line": {`{"kind":"Event","apiVersion":"audit.k8s.io/v1",` +
			`"user":{"username":"system:serviceaccount:ns:agent"`, errNoLog},
		"a line too long": {strings.Repeat("x", maxLine+1) + "\n", errNoLog},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := read(t, tc.log); !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
		})
	}
}

func TestALongLineIsPassedOver(t *testing.T) {
	good := lineOf(t, event("/api/v1/pods", "list", auditv1.ObjectReference{Resource: "pods", APIVersion: "v1"}))
	seen, stats, err := read(t, strings.Repeat("x", maxLine+1<<17)+"\n"+good)
	if err != nil || len(seen) != 1 || stats.Unreadable != 1 {
		t.Errorf("%d seen, %d unreadable, error %v", len(seen), stats.Unreadable, err)
	}
	long := strings.Replace(good, `"level"`, `"x":"`+strings.Repeat("x", 1<<17)+`","level"`, 1)
	if seen, _, err = read(t, long); err != nil || len(seen) != 1 {
		t.Errorf("a line of 128 KiB: %d seen, error %v", len(seen), err)
	}
}

func TestABrokenReadIsAnError(t *testing.T) {
	broken := errors.New("broken")
	err := NewLog(agent).Read(iotest.ErrReader(broken), func(Request) { t.Error("something was read") })
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

func FuzzLog(f *testing.F) {
	f.Add([]byte(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete",` +
		`"requestURI":"/api/v1/pods?fieldSelector=a","verb":"list",` +
		`"user":{"username":"system:serviceaccount:ns:agent",` +
		`"extra":{"authentication.kubernetes.io/node-name":["me"]}},"objectRef":{"resource":"pods"}}`))
	f.Add([]byte("\n\n{}\nnull\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		s := newSuggester()
		l := NewLog(agent)
		seen := 0
		_ = l.Read(strings.NewReader(string(log)), func(r Request) {
			seen++
			if r.Attributes.User.GetName() != l.user {
				t.Errorf("a request of %q", r.Attributes.User.GetName())
			}
			s.See(t.Context(), r)
		})
		if l.Stats().Requests != seen {
			t.Errorf("%d counted, %d seen", l.Stats().Requests, seen)
		}
		// Suggest fails only if the value would be too long.
		got, err := s.Suggest(t.Context())
		if err != nil && len(got.Annotation) <= nodescope.MaxValueLength && strings.Count(got.Annotation, ",") < 100 {
			t.Errorf("%q: %v", got.Annotation, err)
		}
	})
}
