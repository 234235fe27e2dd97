// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package customread

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

var (
	widgets = nodescope.Resource{Group: "example.com", Resource: "widgets"}
	byField = nodescope.Declaration{Resource: widgets, Field: "spec.node"}
	byLabel = nodescope.Declaration{Resource: widgets, Label: "example.com/node"}
)

// readerOf returns a Reader of a server with these objects, by path.
func readerOf(t *testing.T, objects map[string]string) *Reader {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, ok := objects[req.URL.Path]
		switch {
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		case body == "":
			w.WriteHeader(http.StatusForbidden)
		default:
			if got := req.Header.Get("Accept"); got != "application/json" {
				t.Errorf("asks for %s", got)
			}
			_, _ = w.Write([]byte(body))
		}
	}))
	t.Cleanup(server.Close)
	return clientOf(t, server.URL)
}

func clientOf(t *testing.T, host string) *Reader {
	t.Helper()
	clientset, err := kubernetes.NewForConfig(&rest.Config{Host: host, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return New(clientset.CoreV1().RESTClient())
}

const in = "/apis/example.com/v1/namespaces/ns/widgets/"

func widget(name, rest string) string {
	return `{"metadata":{"namespace":"ns","name":"` + name + `"}` + rest + `}`
}

func TestNodeOf(t *testing.T) {
	r := readerOf(t, map[string]string{
		in + "mine": widget("mine", `,"spec":{"node":"me"}`),
		in + "twice": widget("twice",
			`,"status":{"node":"other"},"spec":{"node":"me","deeper":{"node":"other"}}`),
		in + "number":    widget("number", `,"spec":{"node":7}`),
		in + "list":      widget("list", `,"spec":["me"]`),
		in + "null":      widget("null", `,"spec":null`),
		in + "bare":      widget("bare", ``),
		in + "labelled":  `{"metadata":{"namespace":"ns","name":"labelled","labels":{"example.com/node":"me"}}}`,
		in + "other":     widget("mine", `,"spec":{"node":"me"}`),
		in + "elsewhere": `{"metadata":{"namespace":"x","name":"elsewhere"},"spec":{"node":"me"}}`,
		in + "html":      "<html>",
		in + "forbidden": "",
		in + "large": widget("large",
			`,"spec":{"node":"me"},"x":"`+strings.Repeat("x", maxObject)+`"`),
		"/apis/example.com/v1/widgets/global": `{"metadata":{"name":"global"},"spec":{"node":"me"}}`,
	})
	for _, tc := range []struct {
		name string
		at   nodescope.Declaration
		want string
		ok   bool
	}{
		{"mine", byField, "me", true},
		{"mine", byLabel, "", true},
		{"twice", byField, "me", true},
		{"number", byField, "", true},
		{"list", byField, "", true},
		{"null", byField, "", true},
		{"bare", byField, "", true},
		{"bare", byLabel, "", true},
		{"labelled", byLabel, "me", true},
		{"labelled", byField, "", true},
		{"absent", byField, "", true},
		{"other", byField, "", false},
		{"elsewhere", byField, "", false},
		{"html", byField, "", false},
		{"forbidden", byField, "", false},
		{"large", byField, "", false},
	} {
		got, err := r.NodeOf(t.Context(), "me", tc.at, "v1", "ns", tc.name)
		if got != tc.want || (err == nil) != tc.ok {
			t.Errorf("%s: got %q, %v", tc.name, got, err)
		}
	}
	if _, err := r.NodeOf(t.Context(), "me", byField, "v1", "ns", "large"); !errors.Is(err, errLarge) {
		t.Errorf("a large object: %v", err)
	}
	if got, err := r.NodeOf(t.Context(), "me", byField, "v1", "", "global"); got != "me" || err != nil {
		t.Errorf("without a namespace: %q, %v", got, err)
	}
}

// The author of a review must not be able to change the path.
func TestInvalidObjectNamesAreNotRequested(t *testing.T) {
	r := clientOf(t, "http://127.0.0.1:1")
	for _, parts := range [][3]string{
		{"", "ns", "x"}, {"*", "ns", "x"}, {"v1", "ns", ""}, {"v1", "..", "x"}, {"v1", "ns", "."}, {"v1", "ns", "a/b"},
		{"v1", "ns/secrets", "x"}, {"v1", "ns", "%2e%2e"}, {"../v1", "ns", "x"}, {"v1", "ns", "*"},
	} {
		if _, err := r.NodeOf(t.Context(), "me", byField, parts[0], parts[1], parts[2]); err == nil ||
			!strings.Contains(err.Error(), "is no part of an object's address") {
			t.Errorf("%q: %v", parts, err)
		}
	}
}

// A node that sends too many requests does not use the slots of other nodes.
func TestSharesOfNodes(t *testing.T) {
	begun := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/slow") {
			begun <- struct{}{}
			<-req.Context().Done()
		}
		_, _ = w.Write([]byte(widget("quick", `,"spec":{"node":"me"}`)))
	}))
	defer server.Close()
	r := clientOf(t, server.URL)
	r.timeout = time.Hour // the test ends the reads
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range shares.InFlightPerNode {
		group.Go(func() { _, _ = r.NodeOf(ctx, "greedy", byField, "v1", "ns", "slow") })
	}
	for range shares.InFlightPerNode {
		<-begun
	}
	if _, err := r.NodeOf(ctx, "greedy", byField, "v1", "ns", "quick"); !errors.Is(err, errBusy) {
		t.Errorf("beyond its share: %v", err)
	}
	if node, err := r.NodeOf(ctx, "other", byField, "v1", "ns", "quick"); node != "me" || err != nil {
		t.Errorf("another node: %q, %v", node, err)
	}
	cancel()
	group.Wait()
}
