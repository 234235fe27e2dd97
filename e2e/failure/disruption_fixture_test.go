// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"fmt"
	"path"
	"time"

	. "github.com/onsi/ginkgo/v2"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// disruption is one way to break a part of the cluster, and what must stay as it is.
type disruption struct {
	name string
	// broken explains what is broken and how, for the page with the results.
	broken string
	// short and long are how long it lasts. A disruption without a short form says why in onlyLong.
	short, long time.Duration
	onlyLong    string
	// unfit returns why the cluster is unfit for it. It may be nil.
	unfit func(context.Context) string

	// sized breaks the part as much as fits the time. It may be nil.
	sized func(ctx context.Context, lasts time.Duration)
	// begin breaks the part. again is called again and again until the time is over, and last at the
	// end of the time. Each may be nil.
	begin, again, last func(context.Context)
	// repair repairs the part. It is also called after a failure, so it must be idempotent, and must
	// also repair what begin has broken only half.
	repair func(context.Context)

	// unaffected are the calls that must not fail, not even once. affected are calls that must fail or
	// take long at least once: they prove that the part was broken.
	unaffected, affected []call
	// notReady returns the nodes that may lose the condition Ready. It may be nil: no node may.
	notReady func(lasts time.Duration) []string
}

// text returns what is broken, and why there is no short form.
func (d *disruption) text() string {
	if d.onlyLong == "" {
		return d.broken
	}
	return d.broken + " Not in `make test`: " + d.onlyLong + "."
}

// component is a program of Bulkhead that the control-plane host runs from a static pod manifest.
type component struct {
	name, manifest string
	// process finds its process, ready succeeds when it is ready.
	process, ready string
}

var (
	nodeAuthorizer  = component{"node-authorizer", ComponentManifest, "pgrep -x node-authorizer", ComponentReady}
	nodeRestriction = component{"node-restriction", RestrictionManifest, RestrictionProcess, RestrictionReady}
	scopeSync       = component{"scope-sync", "/etc/kubernetes/manifests/bulkhead-scope-sync.yaml",
		"pgrep -x scope-sync", "pgrep -x scope-sync"}
)

// aside is the path of the manifest while the component must not run.
func (c component) aside() string { return "/etc/kubernetes/e2e-" + path.Base(c.manifest) }

// kill ends the process. The kubelet starts it again.
func (c component) kill(ctx context.Context) {
	GinkgoHelper()
	suite.OnControlPlane(ctx, "kill -9 $("+c.process+") 2>/dev/null || true")
}

// remove ends the component at once, and prevents that the kubelet starts it again.
func (c component) remove(ctx context.Context) {
	GinkgoHelper()
	suite.OnControlPlane(ctx, fmt.Sprintf("test -e %[2]s || mv %[1]s %[2]s", c.manifest, c.aside()))
	c.kill(ctx)
	suite.EventuallyOnControlPlane(ctx, time.Minute, "! "+c.process+" && sleep 1 && ! "+c.process)
}

// restore starts the component if it was removed, and waits until it is ready. It is idempotent.
func (c component) restore(ctx context.Context) {
	GinkgoHelper()
	suite.OnControlPlane(ctx, fmt.Sprintf("test ! -e %[2]s || mv %[2]s %[1]s", c.manifest, c.aside()))
	c.await(ctx)
}

// await waits until the component is ready.
func (c component) await(ctx context.Context) {
	GinkgoHelper()
	suite.EventuallyOnControlPlane(ctx, ServerSwitch, c.ready)
}
