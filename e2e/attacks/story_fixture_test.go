// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// Story is one attack of the catalogue. It makes the specs, docs/attacks.md and the output of
// `make attack`.
type Story struct {
	// ID is the number, such as T8. The file of the story is t08_test.go.
	ID    string
	Title string
	// Source is the CVE, the issue or the publication. Several are separated by semicolons.
	Source string
	// Effect is what the attacker gets without Bulkhead, and Stops what prevents it. Both are
	// sentences.
	Effect, Stops string
	Attempts      []Attempt
	// Also are files with more specs of the attack, from the root of the repository.
	Also []string
}

// Attempt is one way to carry out an attack. Each becomes three specs: the attack without
// protection, the same attack against the rule, and the legitimate twin.
type Attempt struct {
	// Name is the attack, and Effect what it does if it succeeds.
	Name, Effect string
	// By is the credential that the attacker has. Rights are what RBAC grants it. A kubelet needs none
	// of them: they are then what nodes had by RBAC beside the ClusterRole system:node of today.
	By     Credential
	Rights []rbacv1.PolicyRule
	// Rule denies the attack. Text is a part of the message: upstream's text, if it has the rule.
	Rule rules.ID
	Text string
	// TwinIs is the twin, and how it differs from the attack. TwinRule allows it. It
	// is needed if an authorizer decides, and empty means Rule.
	TwinIs   string
	TwinRule rules.ID
	// Prepare makes what the attacker finds. It may be nil.
	Prepare func(context.Context, *Run)
	// Attack and Twin make the request that decides. Show proves the effect of an attack that
	// succeeded.
	Attack, Twin Act
	Show         func(context.Context, *Run, Answer)
	// Stopped compares the answer where the rule does not deny the request, but changes the answer. It
	// is nil for all other rules.
	Stopped func(context.Context, *Run, Answer)
	// Labels are other labels of the three specs.
	Labels Labels
}

// Act makes a request as the attacker and returns the answer.
type Act func(context.Context, *Run, *Identity) Answer

// sends is an act of one request.
func sends(request func(*Run) Request) Act {
	return func(ctx context.Context, r *Run, who *Identity) Answer { return r.Send(ctx, who, request(r)) }
}

// stories are all stories, in the order of the files.
var stories []Story

// tell registers a story and makes its specs.
func tell(s Story) bool {
	stories = append(stories, s)
	return Describe(s.Title, Attack(s.ID), Label(OnWorker), func() {
		for _, a := range s.Attempts {
			a.specs(s)
		}
	})
}

// file returns the name of the file of the story.
func (s Story) file() string {
	number, _ := strconv.Atoi(strings.TrimPrefix(s.ID, "T"))
	return fmt.Sprintf("t%02d_test.go", number)
}

// missing returns what the story lacks. A story that lacks something proves nothing.
func (s Story) missing() (all []string) {
	demand := func(ok bool, what string) {
		if !ok {
			all = append(all, what)
		}
	}
	demand(s.Title != "" && s.Source != "" && s.Effect != "" && s.Stops != "", "a title, a source, an effect, what stops it")
	demand(len(s.Attempts) > 0, "an attempt")
	for _, a := range s.Attempts {
		name := fmt.Sprintf("%q: ", a.Name)
		demand(a.Name != "" && a.Rule != "", name+"a name and a rule")
		demand(a.By.Words != "" && a.By.Real != nil, name+"a credential")
		demand(a.Attack != nil, name+"an attack")
		demand(a.By.Unprotected != nil && a.Show != nil && a.Effect != "", name+"an unprotected success with its effect")
		demand(a.Twin != nil && a.TwinIs != "", name+"a twin")
	}
	return all
}

// rule returns the rule of that ID.
func rule(id rules.ID) (rules.Rule, bool) {
	for _, rule := range all {
		if rule.ID == id {
			return rule, true
		}
	}
	return rules.Rule{}, false
}
