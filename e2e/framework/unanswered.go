// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
)

// noAnswerTexts are in an answer if a lookup of Bulkhead got no answer from the API server in time.
// The first text is in a denial (403) of node-authorizer, the second one in an error (500) of
// node-restriction. A component that is too busy may cause this. It is not a decision by a rule,
// although the answer names one, and every client repeats such a request.
var noAnswerTexts = []string{"the API server did not answer in time", "the API server has not answered within"}

// Unanswered reports whether the text of an answer says that a lookup got no answer in time.
func Unanswered(text string) bool {
	return slices.ContainsFunc(noAnswerTexts, func(part string) bool { return strings.Contains(text, part) })
}

// unanswered reports whether the answer, or the review, says that a lookup got no answer in time.
func (a Answer) unanswered() bool {
	return Unanswered(a.Message) || !a.Allowed && Unanswered(a.Reason)
}

// lateLookups counts the answers of one request that say that a lookup got no answer in time.
type lateLookups struct {
	count int
	last  Answer
}

// in counts the answer if it is such an answer, and reports whether it is.
func (l *lateLookups) in(a Answer) bool {
	if !a.unanswered() {
		return false
	}
	l.count++
	l.last = a
	return true
}

// report adds the number to the report. Defer it, so that the report of a failure has it, too.
func (l *lateLookups) report() {
	if l.count > 0 {
		Measured("requests repeated, because a lookup got no answer in time",
			fmt.Sprintf("%d: %s as %s", l.count, l.last.Request, l.last.User))
	}
}

// answered makes a request once. It repeats the request only while a lookup gets no answer in time,
// for at most [Soon].
func answered(ctx context.Context, try func() Answer) (answer Answer) {
	ginkgo.GinkgoHelper()
	var late lateLookups
	defer late.report()
	gomega.Eventually(ctx, func() bool {
		answer = try()
		return late.in(answer)
	}).WithTimeout(Soon).WithPolling(pollInterval).Should(gomega.BeFalse(), func() string {
		return fmt.Sprintf("no lookup was answered in time: %d %s", answer.Code, answer.Message)
	})
	return answer
}
