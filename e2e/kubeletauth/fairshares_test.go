// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// userStreams is the limit of streams for one user at the second proxy of these specs.
	userStreams = 100
	// logReads is how often the other tenant reads its log for one measurement.
	logReads = 100
	// readTimeout bounds one measurement.
	readTimeout = 2 * time.Minute
)

// tenant returns a running pod in a new namespace, which is deleted after the specs.
func tenant(ctx context.Context) *corev1.Pod {
	GinkgoHelper()
	e := suite.Env()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: e.NewName("e2e-tenant"), Labels: fixtures.AnyPod(),
	}}
	e.Put(ctx, namespace)
	e.Put(ctx, fixtures.ServiceAccount(namespace.Name, fixtures.Account))
	pod := fixtures.Pod(namespace.Name, "teller", target(), withShell(tickScript))
	e.Put(ctx, pod)
	return running(ctx, pod)
}

func logsOf(pod *corev1.Pod) Call {
	return get("/containerLogs/" + pod.Namespace + "/" + pod.Name + "/" + shell + "?tailLines=1")
}

func attachTo(pod *corev1.Pod) Call {
	return get("/attach/" + pod.Namespace + "/" + pod.Name + "/" + shell + "?output=1").Upgrading("v4.channel.k8s.io")
}

// For the kubelet's API all tenants are one user, the API server. The user of these specs has its
// rights. The streams are attach streams: a followed log needs an inotify instance of the node, and
// Linux allows 128 for each user. All specs use the same streams: after a client has closed a stream,
// the proxy counts it until it has seen that.
var _ = Describe("while one tenant uses all streams of its share,", Ordered, Label(OnHost, OnHardened, Slow),
	func() {
		var (
			port          *Port
			server        Caller
			greedy, other *corev1.Pod
			before        string
		)

		BeforeAll(func(ctx SpecContext) {
			TakeMachine(ctx)
			port = startSideProxy(ctx, SideProxy{Flags: []string{fmt.Sprintf("--max-streams-per-user=%d", userStreams)}})
			server = caller(ctx, may("get", "containerlogs"), may("create", "attach"))
			greedy, other = tenant(ctx), tenant(ctx)
			took, err := readLogs(ctx, port, server, other)
			Expect(err).NotTo(HaveOccurred())
			before = Latencies(took)
			for range userStreams / 2 {
				openStream(ctx, port, server, attachTo(greedy))
			}
		})

		It("the tenant gets no more streams than its share", Denies("KA-LIMIT-2"), func(ctx SpecContext) {
			for _, call := range []Call{attachTo(greedy), logsOf(greedy)} {
				reply := must(port.Send(ctx, server, call))
				suite.ExpectDenied(ctx, reply, http.StatusTooManyRequests, "KA-LIMIT-2")
				Expect(reply.Header.Get("Retry-After")).To(Equal("1"))
			}
			readWhileFull(ctx, port, server, other, before)
		})

		It("another tenant gets a stream", AllowsBy("KA-LIMIT-2", "KA-CLOG-1"), func(ctx SpecContext) {
			expectClaim(ctx, port, server, logsOf(other))
		})
	})

// readWhileFull reports how fast another tenant reads its log now.
func readWhileFull(ctx context.Context, port *Port, who Caller, pod *corev1.Pod, before string) {
	GinkgoHelper()
	took, err := readLogs(ctx, port, who, pod)
	Expect(err).NotTo(HaveOccurred())
	Measured(fmt.Sprintf("%d reads of another tenant's log before", logReads), before)
	Measured(fmt.Sprintf("%d reads of another tenant's log while one tenant has %d streams", logReads, userStreams/2),
		Latencies(took))
}

// readLogs reads a log repeatedly and returns the duration of each read. A status other than 200 is
// an error.
func readLogs(ctx context.Context, port *Port, who Caller, pod *corev1.Pod) ([]time.Duration, error) {
	open, err := port.Dial(ctx, who)
	if err != nil {
		return nil, err
	}
	defer open.Close()
	// The deadline applies to all reads together.
	if err := open.SetDeadline(time.Now().Add(readTimeout)); err != nil {
		return nil, err
	}
	var took []time.Duration
	var failures []string
	for range logReads {
		begun := time.Now()
		reply, err := open.Send(logsOf(pod))
		if err != nil {
			return nil, err
		}
		took = append(took, time.Since(begun))
		if reply.Code != http.StatusOK {
			failures = append(failures, reply.String())
		}
	}
	if len(failures) > 0 {
		return took, errors.New(strings.Join(failures, "\n"))
	}
	return took, nil
}
