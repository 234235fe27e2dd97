// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// atOnce is the number of concurrent requests. It is far below the limit of node-authorizer for one
// node, because the worker's own kubelet needs a part of that limit.
const atOnce = 16

// crawl makes each attempt with each credential. It alternates between the credentials, so that no
// user reaches its rate limit.
func (s sender) crawl(ctx context.Context, credentials []*credential, all []attempt) []answer {
	type job struct {
		at   int
		who  *credential
		what attempt
	}
	answers := make([]answer, len(credentials)*len(all))
	jobs := make(chan job)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for j := range jobs {
				answers[j.at] = s.try(ctx, j.who, j.what)
			}
		})
	}
	for i, what := range mixed(all) {
		for k, who := range credentials {
			jobs <- job{at: i*len(credentials) + k, who: who, what: what}
		}
	}
	close(jobs)
	workers.Wait()
	return answers
}

// mixed returns the attempts in a fixed random order. Attempts at one server are then far apart,
// because a kubelet accepts fewer requests at once than an API server.
func mixed(all []attempt) []attempt {
	shuffled := slices.Clone(all)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(shuffled),
		func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
	return shuffled
}

// control sends a SelfSubjectReview with each credential.
func (s sender) control(ctx context.Context, credentials []*credential) {
	ask := newAttempt(byAPI, "create", api.SelfSubjectReviews.Resource, none,
		"/apis/authentication.k8s.io/v1/selfsubjectreviews").sending(plainJSON, selfReview)
	for _, who := range credentials {
		who.Control = s.try(ctx, who, ask).Code
	}
}

// reachable returns the kubelet ports that this process can reach, and why it cannot reach the
// others.
func reachable(ctx context.Context, nodes ...string) (ports map[string]*Port, not []skipped) {
	ports = map[string]*Port{}
	for _, node := range nodes {
		port, err := suite.KubeletPort(ctx, node)
		if err == nil {
			var connection *Connection
			if connection, err = port.Dial(ctx, Anonymous()); err == nil {
				err = connection.Close()
			}
		}
		if err != nil {
			not = append(not, skipped{What: "the port of the kubelet of " + node, Why: err.Error(),
				Count: len(kubeletCalls("")) + 1})
			continue
		}
		ports[node] = port
	}
	return ports, not
}
