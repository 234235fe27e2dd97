// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// recheckEvery is the interval of the second proxy in these specs.
	recheckEvery = 5 * time.Second
	// revokedWithin is the time that docs/kubelet-api.md promises: the interval, plus 15 s. The 15
	// s cover a shared answer that another stream requested, and the API server's own delay.
	revokedWithin = recheckEvery + 15*time.Second
)

// streamKinds are the kinds of streams of a kubelet, with the right that each needs.
var streamKinds = []struct {
	name string
	has  rights
	call func(execPaths) Call
}{
	{"exec", may("create", "exec"), func(r execPaths) Call {
		return get(r.sleep).Upgrading("v4.channel.k8s.io")
	}},
	{"logs -f", may("get", "containerlogs"), func(r execPaths) Call { return get(r.logs + "&follow=true") }},
	{"port-forward", may("create", "portforward"),
		func(r execPaths) Call { return get(r.portForward).Upgrading("v4.channel.k8s.io") }},
	{"attach", may("create", "attach"), func(r execPaths) Call { return get(r.attach).Upgrading("v4.channel.k8s.io") }},
}

// openStream starts a stream, which is closed when the spec ends.
func openStream(ctx context.Context, port *Port, who Caller, call Call) *Connection {
	GinkgoHelper()
	open := must(port.Dial(ctx, who))
	DeferCleanup(func() { _ = open.Close() })
	must(open.Write(call.Bytes(port.Address, who)))
	answer := must(http.ReadResponse(open.Reader, nil))
	Expect(answer.StatusCode).To(BeElementOf(http.StatusOK, http.StatusSwitchingProtocols))
	return open
}

// endsWithin reads a stream to its end, and returns how long that took.
func endsWithin(open *Connection, limit time.Duration) (time.Duration, error) {
	begun := time.Now()
	if err := open.SetDeadline(begun.Add(limit)); err != nil {
		return 0, err
	}
	_, err := io.Copy(io.Discard, open.Reader)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, fmt.Errorf("the stream is open %v after the right was revoked", limit)
	}
	return time.Since(begun), nil
}

// This proxy caches answers for 5 minutes, far longer than the specs take. So if a stream ends, the
// recheck did not use the cache.
var _ = Describe("with answers cached for 5 minutes, an open stream", Ordered, ContinueOnFailure,
	Label(OnHost, OnHardened, Slow), SpecPriority(1), func() {
		var (
			port *Port
			pod  execPaths
		)

		BeforeAll(func(ctx SpecContext) {
			port = startSideProxy(ctx, SideProxy{Flags: []string{
				"--stream-recheck-interval=" + recheckEvery.String(), "--authorization-webhook-cache-authorized-ttl=5m",
				"--authentication-token-webhook-cache-ttl=5m",
			}})
			pod = newExecPaths(ctx)
		})

		for _, kind := range streamKinds {
			It("of "+kind.name+" ends when the right is revoked", Denies("KA-STREAM-1"), func(ctx SpecContext) {
				who, revokeRight := revocable(ctx, kind.has)
				open := openStream(ctx, port, who, kind.call(pod))
				revokeRight()
				must(endsWithin(open, revokedWithin))
			})
		}

		It("of exec ends when the token's account is deleted", Denies("KA-STREAM-1"), func(ctx SpecContext) {
			who := bearer(ctx, "", may("create", "exec"))
			open := openStream(ctx, port, who, streamKinds[0].call(pod))
			removeAccount(ctx, who)
			must(endsWithin(open, revokedWithin))
		})

		It("that began on a cached answer after the revocation ends as well", Denies("KA-STREAM-1"), func(ctx SpecContext) {
			who, revokeRight := revocable(ctx, may("create", "exec"))
			_ = openStream(ctx, port, who, streamKinds[0].call(pod))
			revokeRight()
			open := openStream(ctx, port, who, streamKinds[0].call(pod))
			must(endsWithin(open, revokedWithin))
		})

		It("of another user with the same right continues", Allows("KA-STREAM-1"), func(ctx SpecContext) {
			who, revokeRight := revocable(ctx, may("get", "containerlogs"))
			followed := follow(ctx, port, caller(ctx, may("get", "containerlogs")), streamKinds[1].call(pod))
			open := openStream(ctx, port, who, streamKinds[1].call(pod))
			revokeRight()
			must(endsWithin(open, revokedWithin))
			for until := time.Now().Add(2 * recheckEvery); time.Now().Before(until); {
				followed.expectLine()
			}
		})

		It("is one of ten that end within the documented time", Denies("KA-STREAM-1"), func(ctx SpecContext) {
			who, revokeRight := revocable(ctx,
				slices.Concat(may("create", "exec", "portforward", "attach"), may("get", "containerlogs")))
			var all []*Connection
			for i := range 10 {
				all = append(all, openStream(ctx, port, who, streamKinds[i%len(streamKinds)].call(pod)))
			}
			revokeRight()
			took, failures := make([]time.Duration, len(all)), make([]error, len(all))
			var group sync.WaitGroup
			for i, open := range all {
				group.Go(func() { took[i], failures[i] = endsWithin(open, revokedWithin) })
			}
			group.Wait()
			Expect(errors.Join(failures...)).NotTo(HaveOccurred())
			slices.Sort(took)
			round := func(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
			Measured("until 10 streams ended without their right, asked about every "+recheckEvery.String(),
				fmt.Sprintf("min %v, median %v, max %v; documented: %v", round(took[0]), round((took[4]+took[5])/2), round(took[9]),
					revokedWithin))
		})
	})
