// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusterstatus

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestCertificates(t *testing.T) {
	for _, tc := range []struct {
		name   string
		output string
		want   []string
	}{
		{"valid", certificates(t, now.Add(time.Second), ""), nil},
		{"expired", certificates(t, now, ""),
			[]string{"FAIL|cp2|certificate node-authorizer-client expired at 2026-03-01T12:00:00Z"}},
		{"due for renewal", certificates(t, now.Add(time.Hour), "it has 1h left"),
			[]string{"WARN|cp2|certificate node-authorizer-client is due for renewal: it has 1h left"}},
		{"absent", certificates(t, time.Time{}, "it does not exist"),
			[]string{"FAIL|cp2|certificate node-authorizer-client cannot be used: it does not exist"}},
		{"no certificate", "[]", []string{"WARN|cp2|certificates unknown: `bulkhead certs status` has printed no"}},
		{"truncated", `[{"name":`, []string{"WARN|cp2|certificates unknown: cannot read the output"}},
		{"not JSON", "exec format error", []string{"WARN|cp2|certificates unknown: cannot read the output"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newTestCluster(t)
			c.certificates["bulkhead-certs-cp2"] = tc.output
			report := c.collect(t)
			expectProblems(t, report, tc.want...)
			if got := report.Hosts[0].FirstEnd(); !got.Equal(now.AddDate(0, 2, 0)) {
				t.Errorf("the certificate of the other host ends at %v", got)
			}
		})
	}
}

func TestCertificatesOfAHostWithoutThePod(t *testing.T) {
	c := newTestCluster(t)
	delete(c.pods, "bulkhead-certs-cp2")
	expectProblems(t, c.collect(t), "FAIL|cp2|the API has no mirror pod of certs",
		"WARN|cp2|certificates unknown: the API has no mirror pod of certs")
}

func TestCertificatesLeftOut(t *testing.T) {
	c := newTestCluster(t)
	delete(c.certificates, "bulkhead-certs-cp2")
	o := c.options()
	o.Exec = nil
	report, err := Collect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	expectProblems(t, report)
	expectProblems(t, c.collect(t), "WARN|cp2|certificates unknown: container not found")
}

// TestHostThatDoesNotAnswer: one dead host delays the report once by HostTimeout, also if the
// connection does not end with its context. The other hosts are known.
func TestHostThatDoesNotAnswer(t *testing.T) {
	c := newTestCluster(t)
	o := c.options()
	o.HostTimeout = 50 * time.Millisecond
	end := make(chan struct{})
	defer close(end)
	o.Exec = func(ctx context.Context, pod, container string, command []string) ([]byte, error) {
		if pod == "bulkhead-certs-cp2" {
			<-end
			return nil, errors.New("too late")
		}
		return c.exec(ctx, pod, container, command)
	}
	report, err := Collect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	expectProblems(t, report, "WARN|cp2|certificates unknown: no answer within 50ms")
	if report.Hosts[0].FirstEnd().IsZero() {
		t.Error("the certificates of the other host are not known")
	}
}

// After Ctrl-C, Collect returns an error. It does not report that the hosts do not answer.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := newTestCluster(t).options()
	o.Exec = func(ctx context.Context, _, _ string, _ []string) ([]byte, error) {
		cancel()
		return nil, ctx.Err()
	}
	if report, err := Collect(ctx, o); report != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("report %v, error %v", report, err)
	}
}

// TestHostsAreReadAtTheSameTime: each host answers only after the other host was asked.
func TestHostsAreReadAtTheSameTime(t *testing.T) {
	c := newTestCluster(t)
	o := c.options()
	var asked sync.WaitGroup
	asked.Add(2)
	o.Exec = func(ctx context.Context, pod, container string, command []string) ([]byte, error) {
		asked.Done()
		asked.Wait()
		return c.exec(ctx, pod, container, command)
	}
	report, err := Collect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	expectProblems(t, report)
}

func TestCertsStatusCommand(t *testing.T) {
	pod := newTestCluster(t).pods["bulkhead-certs-cp1"]
	want := "/bulkhead certs status --output=json --state-dir=/etc/kubernetes/bulkhead " +
		"--kubernetes-pki=/etc/kubernetes/pki --cert-validity=2160h --cert-renew-before=720h"
	if got := strings.Join(certsStatus(pod), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	pod.Spec.Containers[0].Name = "other"
	if got := certsStatus(pod); !slices.Equal(got, []string{"/bulkhead", "certs", "status", "--output=json"}) {
		t.Errorf("without the container: %v", got)
	}
}
