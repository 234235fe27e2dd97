// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// component is a component that a host runs from a static pod manifest.
type component struct {
	manifest string
	// process is a command that succeeds while it runs, ready one that succeeds when it is ready.
	process, ready string
}

var (
	authorizer  = component{ComponentManifest, "pgrep -x node-authorizer", ComponentReady}
	restriction = component{RestrictionManifest, RestrictionProcess, RestrictionReady}
	scopeSync   = component{"/etc/kubernetes/manifests/bulkhead-scope-sync.yaml", "pgrep -x scope-sync",
		"pgrep -x scope-sync"}
)

// aside is the path of the manifest while the component is removed.
func (c component) aside() string { return "/etc/kubernetes/e2e-" + path.Base(c.manifest) }

// kill ends a component at once. The component stays down until the end of the container whose
// BeforeAll calls this.
func (c component) kill(ctx context.Context) {
	GinkgoHelper()
	DeferCleanup(c.bringBack)
	suite.OnControlPlane(ctx,
		fmt.Sprintf("test -e %[2]s || mv %[1]s %[2]s; kill -9 $(%[3]s) || true", c.manifest, c.aside(), c.process))
	suite.EventuallyOnControlPlane(ctx, time.Minute, "! "+c.process+" && sleep 2 && ! "+c.process)
}

// bringBack starts the component again. It is idempotent.
func (c component) bringBack(ctx context.Context) {
	GinkgoHelper()
	suite.OnControlPlane(ctx, fmt.Sprintf("test ! -e %[2]s || mv %[2]s %[1]s", c.manifest, c.aside()))
	awaitScopeWebhook(ctx, ServerSwitch, c.ready)
}

// hang stops a component with SIGSTOP until the end of the container.
func (c component) hang(ctx context.Context) {
	GinkgoHelper()
	DeferCleanup(c.wake)
	suite.OnControlPlane(ctx, "kill -STOP $("+c.process+")")
}

func (c component) wake(ctx context.Context) {
	GinkgoHelper()
	suite.OnControlPlane(ctx, "kill -CONT $("+c.process+") || true")
	awaitScopeWebhook(ctx, ServerSwitch, c.ready)
}

// awaitScopeWebhook waits until the API server can call node scope again, as [Suite.AwaitWebhook]
// does for nodes. The entries for node scope have their own clients, and each client may lose one
// call.
func awaitScopeWebhook(ctx context.Context, within time.Duration, ready string) {
	GinkgoHelper()
	suite.AwaitWebhook(ctx, within, ready)
	for _, request := range []Request{List(api.Services).In("default"), Patch(api.Nodes).Named(own())} {
		if code, text, err := podOf(agent)().Send(ctx, request); err != nil || code >= http.StatusInternalServerError {
			Measured("the first "+request.String()+" of an agent after an outage", fmt.Sprint(code, " ", text, " ", err))
		}
	}
}

// expectUndecided expects that the request fails because node scope cannot be called. The API
// server then returns an error, and never allows the request.
func expectUndecided(ctx context.Context, who *Identity, request Request) {
	GinkgoHelper()
	answer, err := suite.Do(ctx, who, request)
	Expect(err).NotTo(HaveOccurred())
	Expect(answer.Allowed).To(BeFalse(), "%s: %s", request, answer.Reason)
	Expect(answer.Code).To(Equal(http.StatusInternalServerError), answer.Message)
}

// median returns the median of these durations, because a busy machine may delay some requests. If
// requests wait for node-authorizer, all of them are slow.
func median(all []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(all))[len(all)/2]
}

// repeatFor repeats the request for the given time. It returns the duration of each request.
func repeatFor(ctx context.Context, who *Identity, request Request, lasts time.Duration) []time.Duration {
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
