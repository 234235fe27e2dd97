// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
)

// noAnswer is in an answer if a lookup of Bulkhead got no answer from the API server in time, or the API server
// got no answer from a webhook in time. The first text is in a denial (403) of node-authorizer, the second one in an
// error (500) of node-restriction, the other two in an error (500) of the API server, or of a review. A component
// that is too busy may cause this. It is not a decision by a rule, although the answer may name one, and every client
// repeats such a request. A component that never answers fails the spec.
var noAnswer = regexp.MustCompile(`the API server did not answer in time|the API server has not answered within|` +
	`\?timeout=\d+s": context deadline exceeded|` +
	`failed to call webhook: unexpected error when reading response body\. .*context deadline exceeded`)

// byNodeAuthorizer is in the message of a denial by the in-tree Node authorizer.
const byNodeAuthorizer = ": node: "

// Unanswered reports whether the text of an answer says that a lookup, or a webhook, got or gave no answer in time.
func Unanswered(text string) bool { return noAnswer.MatchString(text) }

// unanswered reports whether a lookup, or a webhook, gave no answer in time to the request or to its review. If
// node-authorizer gives no answer to the request, the in-tree Node authorizer decides, and the message does not say
// why. The rule in the answer to the review shows that node-authorizer decides when it answers.
func (a Answer) unanswered() bool {
	return Unanswered(a.Message) || Unanswered(a.ReviewError) || !a.Allowed && Unanswered(a.Reason) ||
		strings.Contains(a.Message, byNodeAuthorizer) && strings.Contains(a.Reason, "[NA-")
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
