// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// Run is one spec of a story: the objects that the acts share, and the narration.
type Run struct {
	*Env
	// Protected is true if the rule applies to the attacker.
	Protected bool
	// Prepare sets what the other functions of the attempt need.
	Pod   *corev1.Pod
	Node  *corev1.Node
	Name  string
	Names map[string]string
	// Who is the attacker.
	Who *Identity
	// sent is the last request to the API server.
	sent Request
	// Port is a kubelet's port, and reply the last answer from it. If caller is not nil, the connections
	// to the port leave from this pod.
	Port   *Port
	caller *corev1.Pod
	reply  Reply
}

// Attacker returns the name of the node that the attacker controls.
func (r *Run) Attacker() string { return suite.Worker }

// Victim returns the name of another node with a kubelet.
func (r *Run) Victim() string { return suite.ControlPlane }

// Labels of two of the specs of an attempt. The third one, the attack against the rule, has none:
// `make test` runs it in every profile, and each of these in one.
const (
	unprotected = "unprotected"
	twin        = "twin"
)

// specs makes the three specs of an attempt.
func (a Attempt) specs(s Story) {
	refusal, twinRule := Denies(a.Rule), a.TwinRule
	if known, ok := rule(a.Rule); ok && known.Extension {
		refusal = DeniesBeyond(a.Rule, Behind)
	}
	if a.DeniedBy != "" {
		refusal = append(refusal, DeniesBy(a.Rule, a.DeniedBy)...)
	}
	if twinRule == "" {
		twinRule = a.Rule
	}
	Describe(a.Name, a.Labels, func() {
		It("succeeds without protection: "+a.Effect, Label(unprotected), Unprotected(a.Rule), func(ctx SpecContext) {
			r := a.begin(ctx, s, "Without protection", false)
			a.succeeds(ctx, r, a.By.Unprotected(ctx, r, a.Rights))
		})
		It("is denied", refusal, func(ctx SpecContext) {
			r := a.begin(ctx, s, "With the profile "+string(suite.Settings.Profile), true)
			who := a.By.Real(ctx, r, a.Rights)
			if inForce(ctx, a.Rule) {
				a.denied(ctx, r, who)
				return
			}
			r.Say("%s is not in force in the profile %s.", a.Rule, suite.Settings.Profile)
			a.succeeds(ctx, r, who)
		})
		It("is allowed as its legitimate twin: "+a.TwinIs, Label(twin), AllowsBy(a.Rule, twinRule), func(ctx SpecContext) {
			r := a.begin(ctx, s, "The legitimate twin: "+a.TwinIs, true)
			a.allowed(ctx, r, a.By.Real(ctx, r, a.Rights), twinRule)
		})
	})
}

// begin prepares a run. It fails the spec if the story lacks a part.
func (a Attempt) begin(ctx SpecContext, s Story, part string, protected bool) *Run {
	GinkgoHelper()
	Expect(s.missing()).To(BeEmpty(), "%s is not complete", s.ID)
	r := &Run{Env: suite.Env(), Protected: protected, Names: map[string]string{}}
	narrate("\n%s %s: %s\n── %s\n", s.ID, s.Title, a.Name, part)
	if a.Prepare != nil {
		a.Prepare(ctx, r)
	}
	return r
}

// succeeds expects that the attack succeeds, and its effect.
func (a Attempt) succeeds(ctx SpecContext, r *Run, who *Identity) {
	GinkgoHelper()
	r.Who = who
	var answer Answer
	suite.ExpectAdmitted(ctx, func() Answer {
		answer = a.Attack(ctx, r, who)
		return answer
	})
	a.Show(ctx, r, answer)
	r.Say("The attack succeeded: %s.", a.Effect)
}

// denied expects that the rule denies the attack, and the record in the audit log.
func (a Attempt) denied(ctx SpecContext, r *Run, who *Identity) {
	GinkgoHelper()
	begun := time.Now()
	switch {
	case a.Stopped != nil:
		a.Stopped(ctx, r, a.Attack(ctx, r, who))
		return
	case atKubelet(a.Rule):
		a.Attack(ctx, r, who)
		line := suite.ExpectDenied(ctx, r.reply, http.StatusForbidden, a.Rule)
		r.Say("kubelet-auth-proxy's audit log: decision=%s rule=%s user=%s", line.Decision, line.Rule, line.User)
		return
	case atAdmission(a.Rule):
		var answer Answer
		suite.ExpectRefusal(ctx, func() Answer {
			answer = a.Attack(ctx, r, who)
			return answer
		}, Refusal{By: a.Rule, Text: a.Text})
		expectAuditedRefusal(ctx, r, who, begun, answer.Message)
		return
	}
	r.expectDenied(ctx, who, begun, a.Rule, a.Text, func() Answer { return a.Attack(ctx, r, who) })
}

// expectDenied expects that an authorizer denies the attack by the rule, and the record in the audit log.
func (r *Run) expectDenied(ctx context.Context, who *Identity, since time.Time, by rules.ID, text string,
	attack func() Answer) {
	GinkgoHelper()
	suite.ExpectDenial(suite.Reviewed(ctx, who, attack), by, text)
	expectAudited(ctx, r, who, since, by)
}

// allowed expects that the twin is allowed, and by which rule.
func (a Attempt) allowed(ctx SpecContext, r *Run, who *Identity, by rules.ID) {
	GinkgoHelper()
	if atKubelet(a.Rule) {
		answer := a.Twin(ctx, r, who)
		suite.ExpectForwarded(ctx, r.reply, answer.Code, by)
		Expect(answer.Code).To(BeNumerically("<", http.StatusBadRequest), r.reply.String())
		return
	}
	var answer Answer
	suite.ExpectAdmitted(ctx, func() Answer {
		answer = a.Twin(ctx, r, who)
		return answer
	})
	if by == Behind || atAdmission(by) || !inForce(ctx, by) {
		return
	}
	if strings.HasPrefix(string(by), "NS-") {
		if suite.Host.Missing() == "" {
			decision, err := suite.AskScoped(ctx, who, answer.Request)
			Expect(err).NotTo(HaveOccurred())
			Expect(decision.Reason).To(Equal("["+string(by)+"]"), answer.Request.String())
		}
		return
	}
	answer = suite.Reviewed(ctx, who, func() Answer { return answer })
	Expect(answer).To(AllowedBy(suite.Settings.Profile, by))
}

func atKubelet(id rules.ID) bool { return strings.HasPrefix(string(id), "KA-") && id != proxyPolicy }

// proxyPolicy is the rule of the API server's own admission policy for nodes/proxy.
const proxyPolicy rules.ID = "KA-VAP-1"

func atAdmission(id rules.ID) bool {
	return strings.HasPrefix(string(id), "NR-") || strings.HasPrefix(string(id), "NS-ADMIT-") || id == proxyPolicy
}

// inForce reports whether the rule applies on this cluster. Profiles parity and in-tree have neither
// node scope nor kubelet-auth-proxy.
func inForce(ctx context.Context, id rules.ID) bool {
	GinkgoHelper()
	profile := suite.Settings.Profile
	scoped := strings.HasPrefix(string(id), "NS-")
	if (scoped || strings.HasPrefix(string(id), "KA-")) && profile != Hardened && profile != Any {
		return false
	}
	if scoped {
		skipWithoutNodeScope(ctx)
	}
	return suite.InForce(id)
}

// Send makes a request, and prints it and its answer.
func (r *Run) Send(ctx context.Context, who *Identity, request Request) Answer {
	GinkgoHelper()
	r.sent = request
	answer, err := suite.Fetch(ctx, who, request)
	Expect(err).NotTo(HaveOccurred())
	r.Say("%s: %s", who, short(request.String()+inBrief(request.Body)))
	r.Say("→ %d %s", answer.Code, short(answer.Message))
	return answer
}

// Call makes a call to the kubelet's port, and prints it and its answer.
func (r *Run) Call(ctx context.Context, who *Identity, call Call) (Answer, *Connection) {
	GinkgoHelper()
	caller, err := who.Caller()
	Expect(err).NotTo(HaveOccurred())
	port := r.Port
	if r.caller != nil {
		port = port.From(suite.FromPodTo(r.caller, port.Address))
	}
	connection, err := port.Dial(ctx, caller)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { _ = connection.Close() })
	r.reply, err = connection.Send(call)
	Expect(err).NotTo(HaveOccurred())
	r.Say("%s, at the kubelet's port of %s: %s", who, r.Port.Node, call)
	message := ""
	if r.reply.Code >= http.StatusBadRequest {
		message = strings.TrimSpace(r.reply.Body)
	}
	r.Say("→ %d %s", r.reply.Code, short(message))
	return Answer{User: who.User, Code: r.reply.Code, Message: message, Body: []byte(r.reply.Body)}, connection
}

// callFromPod lets [Run.Call] leave from the pod of the account [plain]. On a cluster about which nothing is
// known, that pod has no shell.
func (r *Run) callFromPod() {
	if suite.Settings.Profile != Any {
		r.caller = attackersPod(plain)
	}
}

// Say prints a sentence of the story.
func (r *Run) Say(format string, args ...any) {
	narrate("   %s\n", strings.TrimRight(fmt.Sprintf(format, args...), " "))
}
