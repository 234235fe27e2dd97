// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/e2e-framework/klient/k8s"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// pair is the node under test and what it has in both clusters: a scoped pod that is bound to it, and
// the pod's secret. The node has no kubelet, so only this spec makes requests as the node and as the
// pod.
type pair struct {
	env         *Env
	node, agent *Identity
	pod         *corev1.Pod
	secret      string
	// namespace is the namespace of unrelated objects. created are those that exist now.
	namespace string
	created   []k8s.Object
	// lastVisit is the end of the last visit.
	lastVisit time.Time
}

// newPair makes the node, with a certificate of the cluster, and the pod, with a token that is bound to
// it. If node scope is not installed, agent is nil.
func newPair(ctx context.Context) *pair {
	GinkgoHelper()
	env := suite.Env()
	p := &pair{env: env, namespace: env.Namespace(ctx), secret: env.NewName("own")}
	env.Node(ctx, env.Own)
	p.pod = fixtures.Pod(stage.Namespace, env.NewName("agent"), env.Own, fixtures.As(scoped),
		fixtures.WithSecret(p.secret))
	env.Put(ctx, fixtures.Secret(stage.Namespace, p.secret), p.pod)
	DeferCleanup(p.remove)
	var err error
	p.node, err = suite.Certified(ctx, env.Own)
	Expect(err).NotTo(HaveOccurred())
	if nodeScopeInstalled(ctx) {
		p.agent = p.newAgent(ctx)
	}
	p.settle(ctx)
	return p
}

// newAgent returns the pod with its token. RBAC gives it more rights than its node has.
func (p *pair) newAgent(ctx context.Context) *Identity {
	GinkgoHelper()
	token, err := suite.Client.CoreV1().ServiceAccounts(stage.Namespace).CreateToken(ctx, scoped,
		&authenticationv1.TokenRequest{Spec: fixtures.TokenRequest(p.pod).Spec}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	bearer, err := suite.ReadToken(ctx, token.Status.Token)
	Expect(err).NotTo(HaveOccurred())
	verbs := []string{"get", "list", "create", "update", "patch", "delete"}
	p.env.Grant(ctx, bearer.User, right("", verbs, "secrets", "configmaps", "serviceaccounts", "serviceaccounts/token",
		"pods", "nodes", "events"), right("coordination.k8s.io", verbs, "leases"))
	return suite.AsBearer(bearer)
}

// settle waits until all requests about objects of the node succeed, and makes all requests once. The
// first requests of a node may need lookups that later requests do not need.
func (p *pair) settle(ctx context.Context) {
	GinkgoHelper()
	requests := p.requests(newGenerator(0, 0, p.namespace, p.env.Other, "-"+p.env.Own))
	Eventually(ctx, func() (rejected []answered, err error) {
		for _, r := range requests {
			if r.denied {
				continue
			}
			code, message, err := r.who.Send(ctx, r.Request)
			if err != nil {
				return nil, err
			}
			if code >= http.StatusBadRequest {
				rejected = append(rejected, answered{Request: r.String(), Code: code, Message: message})
			}
		}
		return rejected, nil
	}).WithTimeout(Soon).WithPolling(200 * time.Millisecond).Should(BeEmpty())
	p.visit(ctx, requests)
}

// create creates copies of the objects. It retries: an object that an earlier try has deleted may still
// be there.
func (p *pair) create(ctx context.Context, groups []unrelatedGroup) {
	GinkgoHelper()
	for _, object := range slices.Concat(groups...) {
		object := object.DeepCopyObject().(k8s.Object)
		p.created = append(p.created, object)
		Eventually(ctx, func() error { return p.env.Objects.Create(ctx, object) }).WithTimeout(Soon).
			WithPolling(100*time.Millisecond).Should(Succeed(), "creating %s", unrelatedGroup{object})
	}
}

// remove deletes what create has created, the last object first.
func (p *pair) remove(ctx context.Context) {
	GinkgoHelper()
	for len(p.created) > 0 {
		last := len(p.created) - 1
		p.env.Remove(ctx, p.created[last])
		p.created = p.created[:last]
	}
}

// betweenVisits is longer than node-authorizer remembers that a live read has found nothing (250 ms),
// so that it reads again in each visit.
const betweenVisits = 400 * time.Millisecond

// visit makes the requests one after the other. If an answer says that a lookup got no answer in time,
// all requests are repeated.
func (p *pair) visit(ctx context.Context, requests []comparedRequest) *comparedVisit {
	GinkgoHelper()
	const tries = 5
	for range tries {
		time.Sleep(time.Until(p.lastVisit.Add(betweenVisits)))
		v := &comparedVisit{from: time.Now()}
		for _, r := range requests {
			id := uuid.NewUUID()
			code, message, err := r.who.Send(ctx, r.WithAuditID(id))
			Expect(err).NotTo(HaveOccurred())
			v.ids = append(v.ids, id)
			v.answers = append(v.answers, answered{Request: r.who.User + ": " + r.String(), Code: code, Message: message})
		}
		v.to = time.Now()
		p.lastVisit = v.to
		if !slices.ContainsFunc(v.answers, isUnanswered) {
			return v
		}
		AddReportEntry("a lookup did not succeed", slices.DeleteFunc(v.answers,
			func(a answered) bool { return !isUnanswered(a) }))
	}
	Fail("in each try, a lookup did not succeed")
	return nil
}

func isUnanswered(a answered) bool {
	return Unanswered(a.Message) || strings.Contains(a.Message, unconfirmed)
}
