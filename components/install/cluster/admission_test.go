// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReportStatusIsTheNodesAndWithoutEffect(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer int
		ok     bool
	}{
		{"an answer is good", http.StatusOK, true},
		{"missing node: no report", http.StatusNotFound, true},
		{"a refusal is an error", http.StatusForbidden, false},
		{"a webhook that cannot be called is an error", http.StatusInternalServerError, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var (
				seen *http.Request
				body []byte
			)
			client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				seen = r
				body, _ = io.ReadAll(r.Body)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tc.answer)
			})
			if err := client.ReportStatus(t.Context(), "cp-0"); (err == nil) != tc.ok {
				t.Errorf("error is %v", err)
			}
			got := []string{seen.Method, seen.URL.Path, seen.URL.Query().Get("dryRun"), seen.Header.Get("Content-Type"),
				seen.Header.Get("Impersonate-User"), string(body)}
			want := []string{http.MethodPatch, "/api/v1/nodes/cp-0/status", "All", "application/strategic-merge-patch+json",
				"system:node:cp-0", reportedStatus}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff([]string{"system:nodes", "system:authenticated"},
				seen.Header.Values("Impersonate-Group")); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
		})
	}
}

const namespaceJSON = `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system",
"annotations":{"a/ours":"1","b/shared":"2","c/theirs":"3"},"managedFields":[
{"manager":"bulkhead","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1",
"fieldsV1":{"f:metadata":{"f:annotations":{"f:a/ours":{},"f:b/shared":{}}}}},
{"manager":"bulkhead","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1",
"fieldsV1":{"f:metadata":{"f:annotations":{"f:c/theirs":{}}}}},
{"manager":"kubectl","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1",
"fieldsV1":{"f:metadata":{"f:annotations":{"f:b/shared":{}}}}}]}}`

func TestAnnotationOwnershipFollowsTheFieldManager(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(namespaceJSON))
	})
	all, ours, err := client.Annotations(t.Context(), "kube-system")
	if diff := cmp.Diff([]string{"a/ours", "b/shared"}, ours); diff != "" || err != nil || len(all) != 3 {
		t.Errorf("%v, error %v; -want +got:\n%s", all, err, diff)
	}
}

func TestSetAnnotationsForcesNothing(t *testing.T) {
	var (
		seen *http.Request
		body []byte
	)
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(namespaceJSON))
	})
	for _, tc := range []struct {
		annotations map[string]string
		body        string
	}{
		{map[string]string{"a": "b"},
			`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","annotations":{"a":"b"}}}`},
		{nil, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system"}}`},
	} {
		if err := client.SetAnnotations(t.Context(), "kube-system", tc.annotations); err != nil {
			t.Fatal(err)
		}
		if seen.Method != http.MethodPatch || seen.URL.Query().Get("fieldManager") != "bulkhead" ||
			seen.URL.Query().Get("force") == "true" || string(body) != tc.body {
			t.Errorf("%s %s\n%s", seen.Method, seen.URL, body)
		}
	}
}

func TestVersion(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"gitVersion":"v1.37.1"}`)) })
	if got, err := client.Version(t.Context()); got != "v1.37.1" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
