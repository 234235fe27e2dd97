// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// component is one that a host runs by a manifest.
type component struct {
	manifest string
	// process succeeds while it runs, ready when it can be asked.
	process, ready string
}

var (
	authorizer  = component{ComponentManifest, "pgrep -x node-authorizer", ComponentReady}
	restriction = component{RestrictionManifest, RestrictionProcess, RestrictionReady}
	scopeSync   = component{"/etc/kubernetes/manifests/bulkhead-scope-sync.yaml", "pgrep -x scope-sync",
		"pgrep -x scope-sync"}
)

// aside is where the manifest of a component waits while that is away.
func (c component) aside() string { return "/etc/kubernetes/e2e-" + path.Base(c.manifest) }

// kill ends a component at once, and keeps it away until the container of the BeforeAll
// that calls is over.
func (c component) kill(ctx context.Context) {
	GinkgoHelper()
	DeferCleanup(c.bringBack)
	suite.OnControlPlane(ctx,
		fmt.Sprintf("test -e %[2]s || mv %[1]s %[2]s; kill -9 $(%[3]s) || true", c.manifest, c.aside(), c.process))
	suite.EventuallyOnControlPlane(ctx, time.Minute, "! "+c.process+" && sleep 2 && ! "+c.process)
}

// bringBack ends its absence, also if it is over.
func (c component) bringBack(ctx context.Context) {
	GinkgoHelper()
	suite.OnControlPlane(ctx, fmt.Sprintf("test ! -e %[2]s || mv %[2]s %[1]s", c.manifest, c.aside()))
	hears(ctx, ServerSwitch, c.ready)
}

// hang stops a component without ending it, until the container is over.
func (c component) hang(ctx context.Context) {
	GinkgoHelper()
	DeferCleanup(c.wake)
	suite.OnControlPlane(ctx, "kill -STOP $("+c.process+")")
}

func (c component) wake(ctx context.Context) {
	GinkgoHelper()
	suite.OnControlPlane(ctx, "kill -CONT $("+c.process+") || true")
	hears(ctx, ServerSwitch, c.ready)
}

// hears waits until the API server can be answered again by node scope, as [Suite.Hears]
// does for nodes: these entries have clients of their own, of which each may lose a call.
func hears(ctx context.Context, within time.Duration, ready string) {
	GinkgoHelper()
	suite.Hears(ctx, within, ready)
	for _, request := range []Request{List(api.Services).In("default"), Patch(api.Nodes).Named(own())} {
		if code, text, err := podOf(agent)().Send(ctx, request); err != nil || code >= http.StatusInternalServerError {
			Measured("the first "+request.String()+" of an agent after an outage", fmt.Sprint(code, " ", text, " ", err))
		}
	}
}

// expectUndecided wants the request to be refused because nobody could be asked: that is
// an error of the API server, and never an allowance.
func expectUndecided(ctx context.Context, who *Identity, request Request) {
	GinkgoHelper()
	answer, err := suite.Do(ctx, who, request)
	Expect(err).NotTo(HaveOccurred())
	Expect(answer.Allowed).To(BeFalse(), "%s: %s", request, answer.Reason)
	Expect(answer.Code).To(Equal(http.StatusInternalServerError), answer.Message)
}

// calm makes the request again and again for so long, and returns how long each took.
func calm(ctx context.Context, who *Identity, request Request, lasts time.Duration) []time.Duration {
	GinkgoHelper()
	const pace = 50 * time.Millisecond
	var took []time.Duration
	for end := time.Now().Add(lasts); time.Now().Before(end); time.Sleep(pace) {
		begun := time.Now()
		code, message, err := who.Send(ctx, request)
		Expect(err).NotTo(HaveOccurred())
		Expect(code).To(Equal(http.StatusOK), message)
		took = append(took, time.Since(begun))
	}
	return took
}
