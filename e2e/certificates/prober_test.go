// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package certificates_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// pace is the request interval of an idle kubelet.
const pace = time.Second

// prober makes three requests each second: one that Bulkhead's rules allow, one that they deny, and
// a write. It records every wrong answer.
type prober struct {
	node *Identity
	// name is the node's.
	name string

	stop context.CancelFunc
	done chan struct{}

	mu    sync.Mutex
	asked int
	wrong []string
	// cut is the number of calls to Bulkhead that kube-apiserver broke off, see [cutOff].
	cut int
	// late is the number of answers that say that a lookup got no answer in time, because the machine is
	// busy. A renewal that breaks a connection has another text.
	late int
}

func startProber(name string) *prober {
	ctx, stop := context.WithCancel(context.Background())
	p := &prober{node: suite.AsNode(name), name: name, stop: stop, done: make(chan struct{})}
	go p.run(ctx)
	return p
}

func (p *prober) run(ctx context.Context) {
	defer close(p.done)
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for {
		p.ask(ctx, List(api.Services).In("default"), AllowedBy(suite.Settings.Profile, "NA-UNI-SERVICES"))
		p.ask(ctx, List(api.Deployments).In("default"), ForbiddenBy(suite.Settings.Profile, "NA-DEFAULT", ""))
		p.ask(ctx, Create(api.Nodes).With(fixtures.Node(p.name)), Written())
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// matcher is the part of Gomega's matchers that the prober uses.
type matcher interface {
	Match(any) (bool, error)
	FailureMessage(any) string
}

func (p *prober) ask(ctx context.Context, r Request, right matcher) {
	answer, err := suite.Try(ctx, p.node, r)
	if ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if err != nil {
		p.wrong = append(p.wrong, fmt.Sprintf("%s: %v", time.Now().Format(time.RFC3339), err))
		return
	}
	ok, err := right.Match(answer)
	switch {
	case ok && err == nil:
	case answer.Code >= http.StatusBadRequest && Unanswered(answer.Message):
		p.late++
	case cutOff(answer):
		p.cut++
	default:
		p.wrong = append(p.wrong, fmt.Sprintf("%s: %v%s", time.Now().Format(time.RFC3339), err, right.FailureMessage(answer)))
	}
}

// cutOff reports whether kube-apiserver has closed its connection to a component during a call. It
// does so when it finds a renewed client certificate. A call to node-restriction fails then. After a
// call to node-authorizer, in-tree Node and RBAC decide, so no rule of Bulkhead is named. Source:
// k8s.io/client-go transport/cert_rotation.go.
func cutOff(a Answer) bool {
	switch {
	case a.Code == http.StatusInternalServerError:
		return strings.Contains(a.Message, "use of closed network connection")
	case a.Code == http.StatusForbidden && !strings.Contains(a.Message, "[NA-"):
		// A denial by node-restriction names its rule, and is wrong here.
		return !strings.Contains(a.Message, "[NR-")
	default:
		return !strings.Contains(a.Reason, "[NA-")
	}
}

// end stops the prober. It returns the number of requests, of those whose call was cut off, of those
// whose lookup got no answer in time, and the wrong answers.
func (p *prober) end() (asked, cut, late int, wrong []string) {
	p.stop()
	<-p.done
	return p.asked, p.cut, p.late, p.wrong
}

// seen returns the wrong answers so far.
func (p *prober) seen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.wrong...)
}
