// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serving returns a sender and a credential for a local test server.
func serving(t *testing.T, answers http.HandlerFunc) (sender, *credential) {
	t.Helper()
	server := httptest.NewServer(answers)
	t.Cleanup(server.Close)
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return sender{admin: reader{server.Client(), server.URL}},
		&credential{Name: "somebody", client: client, host: server.URL}
}

func TestTryWaits(t *testing.T) {
	var asked atomic.Int32
	s, who := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	if got := s.try(t.Context(), who, newAttempt(byAPI, "get", "pods", own, "/pods")); got.Verdict != succeeded ||
		asked.Load() != 3 {
		t.Errorf("%v after %d tries", got, asked.Load())
	}
}

func TestTryGivesUp(t *testing.T) {
	var asked atomic.Int32
	s, who := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind":"Status","message":"busy [NA-LIMIT]"}`)
	})
	if got := s.try(t.Context(), who, newAttempt(byAPI, "get", "pods", own, "/pods")); got.Verdict != undecided ||
		got.Message != "busy [NA-LIMIT]" || asked.Load() != tries {
		t.Errorf("%v after %d tries", got, asked.Load())
	}
}

func TestDenialIsNotRetried(t *testing.T) {
	var asked atomic.Int32
	s, who := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusForbidden)
	})
	if got := s.try(t.Context(), who, newAttempt(byAPI, "get", "pods", own, "/pods")); got.Verdict != refused ||
		asked.Load() != 1 {
		t.Errorf("%v after %d tries", got, asked.Load())
	}
}

func TestTryRetriesAfterConflict(t *testing.T) {
	var sent []string
	s, who := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"metadata":{"resourceVersion":"2"}}`)
			return
		}
		body, _ := io.ReadAll(r.Body)
		sent = append(sent, string(body))
		if r.URL.Query().Get(dryRun) != "All" || !strings.Contains(string(body), `"resourceVersion":"2"`) {
			w.WriteHeader(http.StatusConflict)
		}
	})
	a := newAttempt(byAPI, "update", "nodes", own, "/nodes/n1").sending(plainJSON,
		map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"resourceVersion": "1"}})
	a.Fresh = "/nodes/n1"
	if got := s.try(t.Context(), who, a); got.Verdict != succeeded || len(sent) != 2 ||
		!strings.Contains(sent[1], `"kind":"Node"`) {
		t.Errorf("%v, sent %q", got, sent)
	}
}

func TestARedirectIsAnAnswer(t *testing.T) {
	s, who := serving(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusMovedPermanently)
	})
	if got := s.try(t.Context(), who,
		newAttempt(byPath, "get", "/logs", none, "/logs")); got.Code != http.StatusMovedPermanently {
		t.Errorf("%v", got)
	}
}

func TestCrawlAnswersAll(t *testing.T) {
	var now, most atomic.Int32
	s, who := serving(t, func(http.ResponseWriter, *http.Request) {
		n := now.Add(1)
		for before := most.Load(); n > before && !most.CompareAndSwap(before, n); before = most.Load() {
		}
		time.Sleep(time.Millisecond)
		now.Add(-1)
	})
	again := *who
	all := ofPaths()
	answers := s.crawl(t.Context(), []*credential{who, &again}, all)
	by := map[*credential]int{}
	for _, a := range answers {
		by[a.Credential]++
	}
	if by[who] != len(all) || by[&again] != len(all) || most.Load() > atOnce {
		t.Errorf("%d and %d of %d, %d at once", by[who], by[&again], len(all), most.Load())
	}
}

func TestCrawlEnds(t *testing.T) {
	s, who := serving(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begun := time.Now()
	for _, a := range s.crawl(ctx, []*credential{who}, ofPaths()) {
		if a.Verdict != undecided {
			t.Errorf("%v", a)
		}
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("the crawl continued for %s", took)
	}
}
