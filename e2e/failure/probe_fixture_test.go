// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
	"github.com/bulkhead-k8s/bulkhead/e2e/reliability"
)

const (
	// pace is the time between two calls of a probe.
	pace = 500 * time.Millisecond
	// callTimeout is longer than the API server's retries of a webhook that cannot be called.
	callTimeout = 20 * time.Second
	// slow is longer than a call takes while all works.
	slow = time.Second
	// calm is how many answers in a row must be as expected before a probe counts as recovered.
	calm = 5
	// maxDetails limits the texts that a probe keeps.
	maxDetails = 5
)

// call is a kind of call that a disruption can affect.
type call string

// The kinds of calls of the cluster's users. The last two are all kinds of requests of attackers.
const (
	kubeletReads  call = "kubelet, read"
	kubeletWrites call = "kubelet, write"
	scopedReads   call = "scoped pod, read"
	adminReads    call = "administrator, read"
	adminExec     call = "administrator, exec"
)

// everyCall are the calls that a disruption must not affect if it breaks nothing that answers.
var everyCall = []call{kubeletReads, kubeletWrites, scopedReads, adminReads, adminExec}

// probe makes one call again and again.
type probe struct {
	name string
	// attack is true for a call that must never be allowed. denied is the part of the text that the
	// denial must have while all works: a rule of Bulkhead, or nothing if the in-tree component denies
	// first.
	attack bool
	denied string
	// send makes the call. It returns the status and the text of the answer.
	send func(context.Context) (code int, text string, err error)

	mu    sync.Mutex
	calls reliability.Calls
	// row is how many answers in a row were as expected, and since when.
	row   int
	since time.Time
	// wrong are the first answers that were not as expected.
	// breaches are all answers that allowed an attack.
	wrong, breaches []string
	// refusals counts denials of a call that is not an attack.
	refusals int
}

// run makes the calls until the context ends.
func (p *probe) run(ctx context.Context) {
	for ctx.Err() == nil {
		begun := time.Now()
		limited, cancel := context.WithTimeout(ctx, callTimeout)
		code, text, err := p.send(limited)
		cancel()
		if ctx.Err() != nil {
			return
		}
		p.record(begun, code, text, err)
		select {
		case <-time.After(pace):
		case <-ctx.Done():
		}
	}
}

// record counts an answer.
func (p *probe) record(begun time.Time, code int, text string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls.Longest = max(p.calls.Longest, time.Since(begun))
	answer := fmt.Sprintf("%s after %s: %d %s", begun.Format("15:04:05.0"), time.Since(begun).Round(time.Millisecond),
		code, text)
	expected := false
	switch {
	case err != nil:
		p.calls.Failed++
		answer += err.Error()
	case !p.attack && Unanswered(text): // also with 403, but not because of a rule
		p.calls.Failed++
	case code == http.StatusForbidden || code == http.StatusUnauthorized:
		p.calls.Denied++
		expected = p.attack && strings.Contains(text, p.denied)
		if !p.attack {
			p.refusals++
		}
	case code < http.StatusBadRequest:
		p.calls.Allowed++
		expected = !p.attack
		if p.attack {
			p.breaches = append(p.breaches, answer)
		}
	default:
		p.calls.Failed++
	}
	p.note(begun, expected, answer)
}

// note updates the row of expected answers. The caller has the lock.
func (p *probe) note(begun time.Time, expected bool, answer string) {
	if !expected {
		p.row = 0
		if len(p.wrong) < maxDetails {
			p.wrong = append(p.wrong, answer)
		}
		return
	}
	if p.row == 0 {
		p.since = begun
	}
	p.row++
}

// noticed reports whether a call failed, or took longer than any does in a cluster that works.
func (p *probe) noticed() bool {
	return p.calls.Failed+p.calls.Denied > 0 || p.calls.Longest >= slow
}

// begin drops the answers until now, except breaches: an earlier spec may have restarted the API server,
// which answers some calls with errors for a moment.
func (p *probe) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls, p.wrong, p.refusals = reliability.Calls{Name: p.calls.Name, Attack: p.calls.Attack}, nil, 0
}

// forget drops the row: what follows is after the repair.
func (p *probe) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.row = 0
}

// recovered returns nil if all last answers are as expected.
func (p *probe) recovered() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.row >= calm {
		return nil
	}
	return fmt.Errorf("%s: %d answers in a row as before; %s", p.name, p.row, strings.Join(p.wrong, "; "))
}

// probes are all probes of the workload while they run.
type probes struct {
	all     []*probe
	stop    context.CancelFunc
	running sync.WaitGroup
}

// startProbes starts all probes. The caller must call end.
func startProbes(all []*probe) *probes {
	probing, stop := context.WithCancel(context.Background())
	p := &probes{all: all, stop: stop}
	for _, one := range all {
		p.running.Go(func() { one.run(probing) })
	}
	return p
}

// end stops all probes and waits for them. It is idempotent.
func (p *probes) end() {
	p.stop()
	p.running.Wait()
}

// recovered returns nil if every call is answered as before the disruption.
func (p *probes) recovered() error {
	for _, one := range p.all {
		if err := one.recovered(); err != nil {
			return err
		}
	}
	return nil
}

// begin drops the answers of all probes until now, except breaches.
func (p *probes) begin() {
	for _, one := range p.all {
		one.begin()
	}
}

// forget drops the rows of all probes.
func (p *probes) forget() {
	for _, one := range p.all {
		one.forget()
	}
}

// since returns when the last probe was answered as before.
func (p *probes) since() time.Time {
	var last time.Time
	for _, one := range p.all {
		one.mu.Lock()
		if one.since.After(last) {
			last = one.since
		}
		one.mu.Unlock()
	}
	return last
}

// longest returns how long the longest call of a kind took.
func (p *probes) longest(kind call) time.Duration {
	for _, one := range p.all {
		if one.name == string(kind) {
			return one.calls.Longest
		}
	}
	return 0
}

// refusals returns how many calls that are not attacks were denied until now.
func (p *probes) refusals() map[string]int {
	all := map[string]int{}
	for _, one := range p.all {
		one.mu.Lock()
		all[one.name] = one.refusals
		one.mu.Unlock()
	}
	return all
}

// breaches returns every answer that allowed an attack.
func (p *probes) breaches() []string {
	var all []string
	for _, one := range p.all {
		one.mu.Lock()
		for _, breach := range one.breaches {
			all = append(all, "allowed: "+one.name+": "+breach)
		}
		one.mu.Unlock()
	}
	return all
}
