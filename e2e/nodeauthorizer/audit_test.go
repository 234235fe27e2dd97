// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// audited is a request that an optional rule would deny. off is the rule that allows it while the
// optional rule only audits.
type audited struct {
	off         rules.ID
	makeRequest RequestFunc
}

var auditedRequests = map[rules.ID]audited{
	"NA-ENDPOINTS-1": {"NA-UNI-ENDPOINTS", endpoints},
	"NA-CSR-1":       {uniformRequests, otherNodesRequest},
	"NA-SA-3":        {"NA-SA-1", unusableAccount},
	"NA-REVOKE-1":    {"NA-UNI-SERVICES", plainly(List(api.Services))},
	"NA-PVC-3":       {"NA-PVC-1", foreignClaim(named(Get(api.PersistentVolumeClaims)))},
	"NA-NODE-4":      {"NA-SECRET-1", neverRegistered},
	"NA-POD-6":       {"NA-SECRET-1", longOver},
	"NA-SECRET-3":    {"NA-SECRET-2", used(own, aSecret, fixtures.WithSecret, selected(List(api.Secrets)))},
	"NA-CM-3":        {"NA-CM-2", used(own, aConfigMap, fixtures.WithConfigMap, selected(List(api.ConfigMaps)))},
}

// shortGrace is a short grace for ended pods, so that the spec does not wait long.
const shortGrace = 2 * time.Second

// longOver is a request for the secret of a pod whose grace has passed.
func longOver(ctx context.Context, e *Env) Request {
	secret := fixtures.Secret(e.Namespace(ctx), itsSecretName)
	e.Put(ctx, secret)
	end(ctx, e.Pod(ctx, e.Own, fixtures.WithSecret(secret.Name)))
	time.Sleep(2 * shortGrace)
	return Get(api.Secrets).In(secret.Namespace).Named(secret.Name)
}

const auditedRefusals = "bulkhead_audited_refusals_total"

// All rules beyond upstream are in audit mode, as an operator runs them in the first weeks.
var _ = Describe("an optional rule that audits", Serial, Ordered, Label(Disruptive, OnHost, OnHardened, Slow), func() {
	BeforeAll(func(ctx SpecContext) {
		installed := must(suite.ReadInstallation(ctx))
		if installed.Profile == InTree {
			Skip("bulkhead was not installed by its installer on " + suite.ControlPlane)
		}
		DeferCleanup(func(ctx context.Context) { suite.OnControlPlane(ctx, installed.Undoing().Command()) })
		suite.OnControlPlane(ctx, installed.Auditing(shortGrace).Command())
	})

	for _, id := range slices.Sorted(maps.Keys(auditedRequests)) {
		request := auditedRequests[id]
		It("allows and counts what "+string(id)+" would refuse", AllowsBy(id, request.off), func(ctx SpecContext) {
			env := suite.Env()
			node := suite.AsNode(env.Own)
			if id == "NA-REVOKE-1" {
				node = withRevokedCredential(ctx, env)
			}
			asked := request.makeRequest(ctx, env)
			since, before := time.Now(), must(countOf(ctx, id, asked.Verb))

			code, message, err := node.Send(ctx, asked)
			Expect(err).NotTo(HaveOccurred())
			Expect(code).To(Equal(http.StatusOK), message)
			Expect(countOf(ctx, id, asked.Verb)).To(Equal(before+1), "one request, counted once")
			Eventually(ctx, linesAbout(since, string(id), env.Own, asked.Name)).
				WithTimeout(Soon).WithPolling(time.Second).Should(HaveLen(1), "lines of the log that name rule, node and object")
			Expect(suite.Do(ctx, node, asked)).To(AllowedBy(suite.Settings.Profile, request.off))
		})
	}

	// Where NA-ENDPOINTS-1 is enforced, no request for endpoints is allowed.
	It("allows a node to get endpoints by name", Allows("NA-UNI-ENDPOINTS"), func(ctx SpecContext) {
		env := suite.Env()
		Expect(suite.Do(ctx, suite.AsNode(env.Own), endpoints(ctx, env))).
			To(AllowedBy(suite.Settings.Profile, "NA-UNI-ENDPOINTS"))
	})
})

// countOf counts one verb only: the cluster's own kubelets watch secrets all the time.
func countOf(ctx context.Context, id rules.ID, verb string) (float64, error) {
	return suite.ComponentMetric(ctx, auditedRefusals, `rule="`+string(id)+`",verb="`+verb+`"`)
}

// linesAbout returns the lines of node-authorizer's log that contain all of the words.
func linesAbout(since time.Time, words ...string) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		log, err := suite.ComponentLog(ctx, since)
		var lines []string
		for line := range strings.Lines(log) {
			if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		return lines, err
	}
}

// TestEveryOptionalRuleIsAudited needs no cluster. It checks that a spec covers each optional rule.
func TestEveryOptionalRuleIsAudited(t *testing.T) {
	var optional []rules.ID
	for _, rule := range nodeauthorizer.Rules {
		if rule.Optional {
			optional = append(optional, rule.ID)
		}
	}
	slices.Sort(optional)
	if diff := cmp.Diff(optional, slices.Sorted(maps.Keys(auditedRequests))); diff != "" {
		t.Errorf("optional rules and the requests that are audited (-rules +requests):\n%s", diff)
	}
}
