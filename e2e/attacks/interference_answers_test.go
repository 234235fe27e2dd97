// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// comparedVisit has the answers to the requests of a round, and the work that they caused.
type comparedVisit struct {
	// from and to are the time of the visit.
	from, to time.Time
	answers  []answered
	// ids are the audit IDs of the requests.
	ids []types.UID
	// calls are the calls of Bulkhead's components to the API server that name the node or a name of
	// the round. SubjectAccessReviews name them in the body only, which the audit log does not have.
	calls []string
}

// bulkheadUsers are the components that decide about requests to the API server.
var bulkheadUsers = []string{"bulkhead:node-authorizer", "bulkhead:node-restriction"}

// readAuditLog adds the audit annotations and the calls to the visits.
func (p *pair) readAuditLog(ctx context.Context, names []string, visits ...*comparedVisit) {
	GinkgoHelper()
	users := append([]string{p.node.User}, bulkheadUsers...)
	if p.agent != nil {
		users = append(users, p.agent.User)
	}
	Eventually(ctx, func() error {
		events, err := suite.Audited(ctx, visits[0].from.Add(-auditSlack), users...)
		for _, v := range visits {
			err = cmp.Or(err, annotate(v.answers, v.ids, events))
			v.takeCalls(events, append(names, p.env.Own))
		}
		return err
	}).WithTimeout(Soon).WithPolling(200 * time.Millisecond).Should(Succeed())
}

// auditSlack bounds the difference between the clocks of the host and of this process. Twice as much
// is less than betweenVisits.
const auditSlack = betweenVisits / 4

// takeCalls takes the calls of Bulkhead's components that arrived during the visit. A call ends before the
// request that caused it, so the log has it before the request.
func (v *comparedVisit) takeCalls(events []auditv1.Event, about []string) {
	v.calls = nil
	for _, e := range events {
		at, inURI := e.RequestReceivedTimestamp.Time, func(name string) bool { return strings.Contains(e.RequestURI, name) }
		if e.Stage == auditv1.StageResponseComplete && slices.Contains(bulkheadUsers, e.User.Username) &&
			at.After(v.from.Add(-auditSlack)) && at.Before(v.to.Add(auditSlack)) && slices.ContainsFunc(about, inURI) {
			v.calls = append(v.calls, e.User.Username+" "+e.Verb+" "+e.RequestURI)
		}
	}
	slices.Sort(v.calls)
}

// expectDecided expects that what should be denied is denied, by a rule if an authorizer denies it, that
// the other requests succeed, and that denials of the node need live reads. Otherwise the comparison would
// show nothing. At admission, the in-tree plugin is first, and its texts have no ID.
func (v *comparedVisit) expectDecided(requests []comparedRequest) {
	GinkgoHelper()
	for i, a := range v.answers {
		if requests[i].denied {
			Expect(a.Code).To(Equal(http.StatusForbidden), "%+v", a)
			if a.Annotations["authorization.k8s.io/decision"] == "forbid" {
				Expect(a.Message).To(MatchRegexp(`\[N[AS]-[A-Z]+-[A-Z0-9]+\]`), "%+v", a)
			}
		} else {
			Expect(a.Code).To(BeNumerically("<", http.StatusBadRequest), "%+v", a)
		}
	}
	Expect(v.calls).NotTo(BeEmpty(), "calls of node-authorizer to the API server")
}

// differences describes each request with different answers, and a difference in the calls.
func (v *comparedVisit) differences(with *comparedVisit) []string {
	var all []string
	for i, a := range v.answers {
		if b := with.answers[i]; !reflect.DeepEqual(a, b) {
			all = append(all, fmt.Sprintf("%s\n  without the objects: %d %q %v\n  with the objects:    %d %q %v", a.Request,
				a.Code, a.Message, a.Annotations, b.Code, b.Message, b.Annotations))
		}
	}
	if !slices.Equal(v.calls, with.calls) {
		const indent = "\n    "
		all = append(all, "calls of Bulkhead's components\n  without the objects:"+indent+strings.Join(v.calls, indent)+
			"\n  with the objects:"+indent+strings.Join(with.calls, indent))
	}
	return all
}
