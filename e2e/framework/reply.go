// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// Decisions in the audit log of kubelet-auth-proxy.
const (
	decidedAllow = "allow"
	decidedDeny  = "deny"
	undecided    = "error"
)

// String describes the call and its result.
func (r Reply) String() string {
	user := r.Caller.User
	if user == "" {
		user = "no credentials"
	}
	return fmt.Sprintf("%s\n    at %s of node %s, as %s\nanswer: %d %s", r.Call, r.Port.Address, r.Port.Node, user, r.Code,
		shortened(r.Body))
}

// ExpectDenied expects that kubelet-auth-proxy denied the call. It compares the status, and the
// rule's ID at the end of the text and in the audit line. Where the kubelet itself answered, only
// the status counts. It returns the audit line if there is access to the host.
func (s *Suite) ExpectDenied(ctx context.Context, reply Reply, code int, by rules.ID) KubeletLine {
	ginkgo.GinkgoHelper()
	observe(reply.observed(reply.Code < http.StatusBadRequest))
	gomega.Expect(reply.Code).To(gomega.Equal(code), reply.String())
	if code == http.StatusForbidden && reply.Call.Method != http.MethodHead {
		gomega.Expect(reply.Body).To(gomega.HavePrefix("Forbidden (user="+reply.Caller.User+", verb="), reply.String())
	}
	if !reply.Port.Guarded {
		return KubeletLine{}
	}
	if reply.Call.Method != http.MethodHead {
		gomega.Expect(strings.TrimSpace(reply.Body)).To(gomega.HaveSuffix("["+string(by)+"]"), reply.String())
	}
	line := s.audited(ctx, reply)
	wanted := decidedDeny
	if code == http.StatusInternalServerError {
		wanted = undecided
	}
	s.expectLine(line, KubeletLine{Decision: wanted, Rule: string(by), Status: code}, reply)
	return line
}

// ExpectForwarded expects that the rule allowed the call. It compares the status of the kubelet's
// answer and the audit line, which names the user and the rule. Where the kubelet itself answered,
// only the status counts.
func (s *Suite) ExpectForwarded(ctx context.Context, reply Reply, code int, by rules.ID) KubeletLine {
	ginkgo.GinkgoHelper()
	gomega.Expect(reply.Code).To(gomega.Equal(code), reply.String())
	// The kubelet itself may answer an allowed request with any status.
	observe(reply.observed(true))
	if !reply.Port.Guarded {
		return KubeletLine{}
	}
	gomega.Expect(reply.Body).NotTo(gomega.MatchRegexp(`\[KA-[A-Z]+-[0-9]+\]\s*$`), reply.String())
	line := s.audited(ctx, reply)
	s.expectLine(line, KubeletLine{Decision: decidedAllow, Rule: string(by), Status: code, User: reply.Caller.User}, reply)
	return line
}

func (s *Suite) expectLine(got, wanted KubeletLine, reply Reply) {
	ginkgo.GinkgoHelper()
	if s.Host.Missing() != "" {
		return
	}
	description := fmt.Sprintf("%s\naudit line: %+v", reply, got)
	gomega.Expect(got.Decision).To(gomega.Equal(wanted.Decision), description)
	gomega.Expect(got.Rule).To(gomega.Equal(wanted.Rule), description)
	// The first line of a stream is written before there is an answer.
	if got.Stage != "begin" {
		gomega.Expect(got.Status).To(gomega.Equal(wanted.Status), description)
	}
	gomega.Expect(got.Node).To(gomega.Equal(reply.Port.Node), description)
	if wanted.User != "" {
		gomega.Expect(got.User).To(gomega.Equal(wanted.User), description)
	}
}

// audited waits for the first line of the proxy's audit log about the reply. The proxy writes lines
// asynchronously, and the container runtime copies them later.
func (s *Suite) audited(ctx context.Context, reply Reply) (line KubeletLine) {
	ginkgo.GinkgoHelper()
	if why := s.Host.Missing(); why != "" {
		ginkgo.GinkgoWriter.Println("the audit log of kubelet-auth-proxy was not looked at:", why)
		return line
	}
	gomega.Eventually(ctx, func() (int, error) {
		lines, err := s.KubeletAudited(ctx, reply)
		if reply.Code != http.StatusSwitchingProtocols {
			// A request may have a line from when it was allowed, before its last line.
			lines = slices.DeleteFunc(lines, func(one KubeletLine) bool { return one.Stage == "begin" })
		}
		if len(lines) > 0 {
			line = lines[0]
		}
		return len(lines), err
	}).WithTimeout(Soon).WithPolling(100*time.Millisecond).Should(gomega.BeNumerically(">", 0), "the audit line of %s",
		reply)
	return line
}
