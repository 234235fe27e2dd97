// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/onsi/gomega/types"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// rbacReason begins every reason of the RBAC authorizer.
const rbacReason = "RBAC:"

// outcome is a matcher of answers. judge returns nil if the answer is right.
type outcome struct {
	wanted string
	judge  func(Answer) error
	wrong  error
}

// ForbiddenBy matches a denial by the rule: status 403, with the rule's ID in the message. If text
// is not empty, the message must contain it, too. On in-tree, where there are no IDs, only the text
// counts. On any, every denial counts.
func ForbiddenBy(profile Profile, rule rules.ID, text string) types.GomegaMatcher {
	return &outcome{
		wanted: fmt.Sprintf("be denied by %s", rule),
		judge: func(a Answer) error {
			if !a.Request.reviewOnly && a.Code != http.StatusForbidden {
				return fmt.Errorf("the status is not 403")
			}
			if a.Allowed {
				return fmt.Errorf("a review of the same attributes allows it")
			}
			if profile == Any {
				return nil
			}
			return givesReason(profile, rule, text, a)
		},
	}
}

func givesReason(profile Profile, rule rules.ID, text string, a Answer) error {
	description := map[string]string{"message": a.Message, "review's reason": a.Reason}
	if a.Request.reviewOnly {
		delete(description, "message")
	}
	for where, words := range description {
		if profile != InTree && !strings.Contains(words, "["+string(rule)+"]") {
			return fmt.Errorf("the %s does not name %s", where, rule)
		}
		if !strings.Contains(words, text) {
			return fmt.Errorf("the %s does not say %q", where, text)
		}
	}
	return nil
}

// AllowedBy matches a request that succeeded, or that found nothing where this is accepted. Its
// review must name the rule. On in-tree, the allowance must not be from RBAC. On any, every
// authorizer may allow it.
func AllowedBy(profile Profile, rule rules.ID) types.GomegaMatcher {
	return &outcome{
		wanted: fmt.Sprintf("be allowed by %s", rule),
		judge: func(a Answer) error {
			switch {
			case !a.succeeded():
				return fmt.Errorf("the request did not succeed")
			case !a.Allowed:
				return fmt.Errorf("a review of the same attributes does not allow it")
			case profile == Any:
				return nil
			case rule == Behind || profile == InTree:
				return allowedByOthers(profile, rule, a.Reason)
			case a.Reason != "["+string(rule)+"]":
				return fmt.Errorf("the review does not name %s", rule)
			}
			return nil
		},
	}
}

// allowedByOthers finds out which authorizer allowed the request if it was not Bulkhead. RBAC gives
// a reason with its name. The in-tree Node authorizer gives no reason.
func allowedByOthers(profile Profile, rule rules.ID, reason string) error {
	byRBAC := strings.HasPrefix(reason, rbacReason)
	switch {
	case rule != Behind && byRBAC:
		return fmt.Errorf("RBAC allowed it, not the Node authorizer")
	case rule == Behind && !byRBAC && reason != "":
		return fmt.Errorf("no authorizer behind Bulkhead allowed it (profile %s)", profile)
	}
	return nil
}

func (a Answer) succeeded() bool {
	if a.Request.reviewOnly {
		return true
	}
	return a.Code < http.StatusBadRequest || a.Code == http.StatusNotFound && a.Request.acceptNotFound
}

// Match implements Gomega's matcher.
func (o *outcome) Match(actual any) (bool, error) {
	answer, ok := actual.(Answer)
	if !ok {
		return false, fmt.Errorf("an outcome matches an Answer, not a %T", actual)
	}
	o.wrong = o.judge(answer)
	return o.wrong == nil, nil
}

// FailureMessage describes the expected outcome, the user, and the actual answer.
func (o *outcome) FailureMessage(actual any) string {
	a, ok := actual.(Answer)
	if !ok {
		return fmt.Sprintf("%v is not an Answer", actual)
	}
	return fmt.Sprintf("expected\n    %s\n    as %s\nto %s, but %v:\n    answer: %d %s\n    review: allowed=%v, "+
		"reason %q, error %q", a.Request, a.User, o.wanted, o.wrong, a.Code, a.Message, a.Allowed, a.Reason, a.ReviewError)
}

// NegatedFailureMessage implements Gomega's matcher.
func (o *outcome) NegatedFailureMessage(actual any) string {
	return fmt.Sprintf("expected %+v not to %s", actual, o.wanted)
}
