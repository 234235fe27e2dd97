// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
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
	// DeniedBy is the rule that the answer names, if Rule denies no request. It is empty if the answer names Rule.
	DeniedBy rules.ID
	// TwinIs is the twin, and how it differs from the attack. TwinRule allows it. It
	// is needed if an authorizer decides, and empty means Rule.
	TwinIs   string
	TwinRule rules.ID
	// TwinAlso says, in one sentence, why the twin differs from the attack in more than one field. It is
	// empty if it differs in one: then the spec compares the two requests (see [differences]).
	TwinAlso string
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

// byOtherAccount is the twin of [byUnscoped].
const byOtherAccount = "the same request of an account without a node scope (as a dry run)"

// byUnscoped sends a request as the account [plain], from its pod on the attacker's node. Only the account's
// annotation differs from the attacker's account. RBAC decides, so the rule of the twin is [Behind].
func byUnscoped(rights []rbacv1.PolicyRule, request func(*Run) Request) Act {
	return func(ctx context.Context, r *Run, _ *Identity) Answer {
		GinkgoHelper()
		if r.Who == nil {
			r.Say("The account %s has the same rights and no node scope.", plain)
			r.Who = granted(ctx, r, plain, rights)
		}
		return r.Send(ctx, r.Who, request(r))
	}
}

// stories are all stories, in the order of the files. After each twin, TwinIs has the sentence in TwinAlso.
var stories []Story

// tell registers a story and makes its specs.
func tell(s Story) bool {
	s.Attempts = slices.Clone(s.Attempts)
	listed := s
	listed.Attempts = make([]Attempt, len(s.Attempts))
	for i := range s.Attempts {
		a := &s.Attempts[i]
		listed.Attempts[i] = *a
		if a.TwinAlso != "" {
			listed.Attempts[i].TwinIs += ". " + a.TwinAlso
		}
		a.Twin = a.compared()
	}
	stories = append(stories, listed)
	return Describe(s.Title, Attack(s.ID), Label(OnWorker), func() {
		for _, a := range s.Attempts {
			a.specs(s)
		}
	})
}

// compared returns the twin. After a success, it compares the request with that of the attack, and fails the
// spec if they differ in more than one part. It compares no twin with a sentence in TwinAlso, and no call to a
// kubelet.
func (a Attempt) compared() Act {
	if a.Twin == nil || a.Attack == nil || a.TwinAlso != "" || atKubelet(a.Rule) {
		return a.Twin
	}
	return func(ctx context.Context, r *Run, who *Identity) Answer {
		GinkgoHelper()
		answer := a.Twin(ctx, r, who)
		if answer.Code >= http.StatusBadRequest {
			return answer
		}
		parts := differences(a.request(ctx, r), answer.Request)
		if answer.User != who.User {
			parts = append(parts, "user")
		}
		Expect(len(parts)).To(BeNumerically("<=", 1), "the twin differs from the attack in: %s. Let it differ in one "+
			"part, or say in TwinAlso why it differs in more", strings.Join(parts, ", "))
		return answer
	}
}

// request returns the request of the attack. A user without any right sends it, so it has no effect.
func (a Attempt) request(ctx context.Context, r *Run) Request {
	GinkgoHelper()
	attempt := *r
	attempt.Protected, attempt.Names, attempt.sent = false, maps.Clone(r.Names), Request{}
	r.Say("The attack is sent by a user without rights, to compare the twin's request with it:")
	a.Attack(ctx, &attempt, suite.AsStranger(r.NewName("e2e-without-rights")))
	Expect(attempt.sent).NotTo(BeZero(), "the attack sent no request")
	return attempt.sent
}

// differences returns the parts in which two requests differ. The namespace and the name of an object are one
// part: the other node's object has another name, and can have another namespace. A patch is one part. Of an
// object that is created, each field at the top is one. A dry run does not count as a difference.
func differences(attack, twin Request) (parts []string) {
	differs := func(part string, differ bool) {
		if differ {
			parts = append(parts, part)
		}
	}
	object, selector := selection(attack)
	twinObject, twinSelector := selection(twin)
	differs("verb", attack.Verb != twin.Verb)
	differs("resource", attack.Resource.GroupResource() != twin.Resource.GroupResource())
	differs("subresource", attack.Subresource != twin.Subresource)
	differs("path", attack.Path != twin.Path)
	differs("object", object != twinObject)
	differs("selector", selector != twinSelector || attack.Label != twin.Label)
	body, twinBody := comparableBody(attack), comparableBody(twin)
	if attack.Verb == "patch" && twin.Verb == "patch" {
		differs("body", !reflect.DeepEqual(body, twinBody))
		return parts
	}
	keys := maps.Clone(body)
	maps.Copy(keys, twinBody)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		differs(key+" in the body", !reflect.DeepEqual(body[key], twinBody[key]))
	}
	return parts
}

// selection returns the namespace and the name of a request's object, and the other requirements of its field
// selector. A selector for metadata.name is the name, as for authorizers.
func selection(r Request) (object [2]string, selector string) {
	var others []string
	for requirement := range strings.SplitSeq(r.Selector, ",") {
		if name, ok := strings.CutPrefix(requirement, "metadata.name="); ok && r.Name == "" {
			r.Name = name
			continue
		}
		others = append(others, requirement)
	}
	return [2]string{r.Namespace, r.Name}, strings.Join(others, ",")
}

// timestamp is a time in a body.
var timestamp = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[0-9:.]+Z"`)

// comparableBody returns the body of a request without its times, without names of its object, and without the dry
// run of an eviction.
func comparableBody(r Request) fields {
	if r.Body == nil {
		return fields{}
	}
	text, err := json.Marshal(r.Body)
	if err != nil {
		return fields{"": err.Error()}
	}
	body := fields{}
	same := timestamp.ReplaceAllString(string(text), `"time"`)
	if r.Name != "" {
		same = strings.ReplaceAll(same, strconv.Quote(r.Name), `"name"`)
	}
	if err := json.Unmarshal([]byte(same), &body); err != nil {
		return fields{"": same}
	}
	if of, ok := body["metadata"].(fields); ok {
		delete(of, "name")
		delete(of, "namespace")
	}
	delete(body, "deleteOptions")
	return body
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
	demand(s.Title != "" && s.Source != "" && s.Effect != "" && s.Stops != "",
		"a title, a source, an effect, what stops it")
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
