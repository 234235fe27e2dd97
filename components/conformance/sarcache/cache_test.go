// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package sarcache shows that the API server's cache of a webhook's answers can be filled with
// reviews that have huge selectors (kubernetes#141457). The API server caches no answer of Bulkhead.
package sarcache

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	"k8s.io/apiserver/plugin/pkg/authorizer/webhook"
	"k8s.io/apiserver/plugin/pkg/authorizer/webhook/metrics"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// cacheSize is the number of answers that the API server keeps for each webhook.
	cacheSize = 8192
	// counted is the size from which the API server does not cache an answer. It does not count
	// selectors.
	counted = 10000
)

func TestHugeSelectorsEvictEverydayAnswers(t *testing.T) {
	var asked atomic.Int64
	cached := cachingAuthorizer(t, &asked)
	ask := func(selector string) int64 {
		t.Helper()
		before := asked.Load()
		decision, _, err := cached.Authorize(t.Context(), listOfPods(t, selector))
		if err != nil || decision != authorizer.DecisionAllow {
			t.Fatalf("decision %v, %v", decision, err)
		}
		return asked.Load() - before
	}
	const everyday = "spec.nodeName=worker-1"
	if first, second := ask(everyday), ask(everyday); first != 1 || second != 0 {
		t.Fatalf("the everyday review was made %d and %d times, want 1 and 0: it is cached", first, second)
	}
	huge := strings.Repeat("x", counted)
	for i := range cacheSize {
		ask(fmt.Sprintf("metadata.name=%s-%d", huge, i))
	}
	if again := ask(fmt.Sprintf("metadata.name=%s-%d", huge, cacheSize-1)); again != 0 {
		t.Error("a huge review is not cached any more: kubernetes#141457 is repaired, and attack T22 can say so")
	}
	if again := ask(everyday); again != 1 {
		t.Error("the everyday review is still cached")
	}
}

// cachingAuthorizer returns the API server's webhook authorizer with its default times. The webhook
// allows everything and counts.
func cachingAuthorizer(t *testing.T, asked *atomic.Int64) *webhook.WebhookAuthorizer {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		asked.Add(1)
		var review authorizationv1.SubjectAccessReview
		if err := json.NewDecoder(request.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Spec, review.Status.Allowed = authorizationv1.SubjectAccessReviewSpec{}, true
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	const allowed, denied = 5 * time.Minute, 30 * time.Second
	made, err := webhook.NewFromInterface(client.AuthorizationV1(), allowed, denied, wait.Backoff{Steps: 1},
		authorizer.DecisionDeny, metrics.NoopAuthorizerMetrics{}, authorizationcel.NewDefaultCompiler())
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// listOfPods are the attributes of a list of pods with a field selector.
func listOfPods(t *testing.T, selector string) authorizer.Attributes {
	t.Helper()
	parsed, err := fields.ParseSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: "system:node:worker-1", Groups: []string{user.NodesGroup}}, Verb: "list",
		APIVersion: "v1", Resource: "pods", ResourceRequest: true, FieldSelectorRequirements: parsed.Requirements(),
	}
}
