// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/cache"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var _ = tell(Story{
	ID: "T22", Title: "Reviews with huge selectors evict all others from a cache",
	Source: "kubernetes#141457",
	Effect: "The API server caches the answers of an authorization webhook, and does not count selectors when it " +
		"measures a review. A node that lists its pods with a thousand requirements, again and again with other ones, " +
		"fills the cache. Every other request then waits for the webhook.",
	Stops: "The API server caches no answer of Bulkhead. Bulkhead denies a review with more than a thousand " +
		"requirements without reading it to its end.",
	Attempts: []Attempt{{
		Name: "listing its pods with a thousand requirements",
		Effect: "a copy of the API server's cache, in the spec, has no everyday answer any more " +
			"(components/conformance/sarcache proves it with the API server's own authorizer)",
		By: kubelet, Rule: "NA-LIMIT",
		Attack: sends(func(r *Run) Request {
			return List(api.Pods).Where(withRequirements("spec.nodeName="+r.Attacker(), tooMany))
		}),
		Show:   showPoisoned,
		TwinIs: "one requirement", TwinRule: "NA-POD-2",
		Twin: sends(func(r *Run) Request {
			return List(api.Pods).Where(withRequirements("spec.nodeName="+r.Attacker(), 1))
		}),
	}},
	Also: []string{"e2e/attacks/cache_test.go", "components/conformance/sarcache/cache_test.go",
		"e2e/nodeauthorizer/answercache_test.go"},
})

const (
	// cacheSize is the number of answers that the API server keeps for each webhook.
	cacheSize = 8192
	// cacheTime is how long it keeps an answer that allows, by default.
	cacheTime = 5 * time.Minute
)

// showPoisoned shows what such requests do to the cache of the API server, with its type of cache and
// its key (k8s.io/apiserver plugin/pkg/authorizer/webhook/webhook.go). The profile in-tree has no
// webhook, and Bulkhead's has no cache. So the cache is filled here. components/conformance/sarcache
// does the same with the API server's own authorizer.
func showPoisoned(_ context.Context, r *Run, answer Answer) {
	GinkgoHelper()
	answers := cache.NewLRUExpireCache(cacheSize)
	keyOf := func(request Request) string {
		review, err := ReviewOf(suite.AsNode(r.Attacker()), request)
		Expect(err).NotTo(HaveOccurred())
		return string(must(json.Marshal(review.Spec)))
	}
	everyday := keyOf(List(api.Pods).Where("spec.nodeName=" + r.Attacker()))
	answers.Add(everyday, true, cacheTime)
	_, cached := answers.Get(everyday)
	Expect(cached).To(BeTrue())
	huge := keyOf(answer.Request)
	for i := range cacheSize {
		// Another name in one requirement is another key. The cache here has only the differences.
		answers.Add(fmt.Sprintf("the same with metadata.name!=%d", i), true, cacheTime)
	}
	_, cached = answers.Get(everyday)
	Expect(cached).To(BeFalse(), "the everyday answer is still cached")
	r.Say("After %d such requests, an everyday review is not in the cache any more. The keys have %d MiB.", cacheSize,
		len(huge)*cacheSize>>20)
}
