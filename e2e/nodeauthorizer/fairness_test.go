// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// guessers is more than the live lookups of one node in a second.
	guessers = 80
	// fairPods is the number of pods that are bound to the other node at the same time. That node
	// must not be affected.
	fairPods = 60
	fairPace = 100 * time.Millisecond
)

// guesses counts the answers to one node's requests with made-up names.
type guesses struct {
	asked                  atomic.Int64
	mu                     sync.Mutex
	allowed, wordless      []string
	refused, failed, short int
}

// noLiveLookup matches a denial that gives, in parentheses, the reason why there was no live
// lookup.
var noLiveLookup = regexp.MustCompile(`no relationship found between node '[^']*' and this object \([^)]+\)`)

func (g *guesses) count(request Request, code int, message string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case code == http.StatusForbidden && noLiveLookup.MatchString(message):
		g.short++
		g.refused++
	case code == http.StatusForbidden && strings.Contains(message, unrelated):
		g.refused++
	case code == http.StatusForbidden:
		g.refused++
		g.wordless = append(g.wordless, message)
	case code < http.StatusBadRequest || code == http.StatusNotFound:
		g.allowed = append(g.allowed, request.String())
	default:
		g.failed++
	}
}

// run requests secrets and volumes with new made-up names until stop is closed. It reads every
// answer.
func (g *guesses) run(ctx context.Context, who *Identity, stop <-chan struct{}) {
	var clients sync.WaitGroup
	for range guessers {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-ctx.Done():
					return
				default:
					g.guess(ctx, who)
				}
			}
		})
	}
	clients.Wait()
}

func (g *guesses) guess(ctx context.Context, who *Identity) {
	n := g.asked.Add(1)
	request := Get(api.PersistentVolumes).Named(fmt.Sprintf("guess-%d", n))
	if n%4 == 0 {
		request = Get(api.Secrets).In("default").Named(fmt.Sprintf("guess-%d", n))
	}
	code, message, err := who.Send(ctx, request)
	if err != nil {
		code, message = http.StatusServiceUnavailable, err.Error()
	}
	g.count(request, code, message)
}

// noAnswerInTime is in the reason of a denial that a slow API server causes. A denial because the
// other node used up the lookups has another reason. It is what the specs look for, so it is never
// a cause to repeat the load.
const noAnswerInTime = notConfirmed + ": the API server did not answer in time"

// guessBesideStorm makes the requests of the loud node during a storm of another node.
func guessBesideStorm(ctx context.Context, env *Env, loud *Identity) (*guesses, *storm) {
	GinkgoHelper()
	made, quiet := &guesses{}, prepare(ctx, env, 1, fairPods, fairPace)
	var guessing sync.WaitGroup
	stop := make(chan struct{})
	guessing.Go(func() { made.run(ctx, loud, stop) })
	quiet.run(ctx)
	close(stop)
	guessing.Wait()
	return made, quiet
}

// tooSlowToJudge reports whether a slow API server explains everything that the specs would not
// accept: denials of the quiet node, and errors instead of denials for the loud node.
func tooSlowToJudge(made *guesses, quiet *storm) bool {
	wrong := len(made.allowed) > 0 || len(made.wordless) > 0 || len(quiet.failed) > 0 ||
		suite.Settings.Profile != InTree && !quiet.deniedOnlyWith(noAnswerInTime)
	return !wrong && quiet.apiServerSlow() && (len(quiet.refused) > 0 || made.failed > 0)
}

// Serial: the spec needs the whole machine.
var _ = Describe("a node that requests invented names, with its own certificate", Serial, Ordered, Label(Slow), func() {
	var (
		made  *guesses
		quiet *storm
	)

	BeforeAll(func(ctx SpecContext) {
		TakeMachine(ctx)
		env := suite.Env()
		loud := must(suite.Certified(ctx, env.Node(ctx, env.Other).Name))
		for attempt := 1; ; attempt++ {
			made, quiet = guessBesideStorm(ctx, env, loud)
			if attempt == stormAttempts || !tooSlowToJudge(made, quiet) {
				return
			}
			Measured("repeated because the machine was too slow", fmt.Sprintf(
				"%d made-up names with %d errors; another node: %s", made.asked.Load(), made.failed, quiet))
		}
	})

	It("is denied every one of them", Denies("NA-SECRET-1"), Label("rule:NA-PV-1"), func() {
		Measured("made-up names", fmt.Sprintf("%d asked for, %d refused (%d of them without another look), %d errors",
			made.asked.Load(), made.refused, made.short, made.failed))
		Expect(made.allowed).To(BeEmpty())
		Expect(made.failed).To(BeZero())
		Expect(made.refused).To(BeEquivalentTo(made.asked.Load()))
	})

	It("gets the reason of the denial, also when its live lookups are used up", Denies("NA-PV-1"), func() {
		Expect(made.wordless).To(BeEmpty(), "refusals without upstream's words")
		if suite.Settings.Profile != InTree {
			Expect(made.short).To(BeNumerically(">", 0), "its share was never spent")
		}
	})

	It("does not cause a denial for another node", Allows("NA-SECRET-1"), Allows("NA-CM-1"), func() {
		Measured("another node at the same time", quiet.String())
		Expect(quiet.failed).To(BeEmpty())
		if suite.Settings.Profile != InTree {
			Expect(quiet.refused).To(BeEmpty())
		}
	})
})
