// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"context"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// credential is a credential that an attacker could steal.
type credential struct {
	// Name is the name in the reviewed list: kubelet, or an account.
	Name string
	// From is where it was found.
	From string
	// Foreign is the reason why the API server may not accept it. If Foreign is empty, the control
	// attempt must succeed. Otherwise a broken credential would look like one without rights.
	Foreign string
	// Control is the status of the API server's answer to a SelfSubjectReview.
	Control int

	who    *Identity
	caller Caller
	client *http.Client
	host   string
}

// known reports whether the API server authenticates the credential.
func (c *credential) known() bool { return c.Control == http.StatusCreated }

// open makes the clients that use a credential.
func open(name, from, why string, who *Identity) *credential {
	GinkgoHelper()
	c := &credential{Name: name, From: from, Foreign: why, who: who}
	var err error
	c.caller, err = who.Caller()
	Expect(err).NotTo(HaveOccurred())
	c.client, c.host, err = who.HTTP()
	Expect(err).NotTo(HaveOccurred())
	// Return a redirect as the answer.
	c.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

const (
	kubeletName = "kubelet"
	// joiner is the name of all bootstrap tokens.
	joiner = "bootstrap token"
)

// joinerUser is the user name of a bootstrap token.
func joinerUser(token string) string { return "system:bootstrap:" + token[:6] }

// findCredentials returns all credentials on the disk of the worker, and the token that the scraper
// sends to the worker's kubelet.
func findCredentials(ctx context.Context, s stage) ([]*credential, []skipped) {
	GinkgoHelper()
	files := filesOn(ctx, suite.Worker)
	tokens, joining := readTokens(files)
	all, not := ofTokensOnDisk(ctx, s, tokens)
	for _, t := range joining {
		not = append(not, skipped{What: "bootstrap token in " + t.Path,
			Why: "the one that this crawl made has the same groups", Count: 1})
	}
	certified, others := ofPairs(readPairs(files))
	scraperToken := tokenOf(ctx, suite.ControlPlane, s.pods[scraper])
	all = slices.Concat(certified, all, []*credential{
		open("stage/"+scraper, "shown to "+suite.Worker+":10250 by pod "+scraper, "",
			suite.AsBearer(Bearer{Token: scraperToken, User: s.user(scraper)})),
		open(joiner, "made for this crawl, as `kubeadm token create` makes it", "",
			suite.AsBearer(Bearer{Token: s.bootstrap, User: joinerUser(s.bootstrap)})),
	})
	return all, append(not, others...)
}

// ofTokensOnDisk skips and reports two kinds of tokens. The first are tokens of deleted pods, whose
// directories remain for a short time. The second are tokens of pods outside of the stage and of
// kube-system: the reviewed list cannot know the rights of other pods.
func ofTokensOnDisk(ctx context.Context, s stage, tokens []token) (all []*credential, not []skipped) {
	GinkgoHelper()
	pods, err := suite.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	live := map[string]bool{}
	for _, pod := range pods.Items {
		live[string(pod.UID)] = pod.DeletionTimestamp == nil
	}
	servers := serverAudiences(ctx, s)
	for _, t := range tokens {
		if uid := t.Kubernetes.Pod.UID; uid != "" && !live[uid] {
			not = append(not, skipped{What: "token of " + t.account() + " in " + t.Path, Why: "its pod is deleted", Count: 1})
			continue
		}
		if ns := t.Kubernetes.Namespace; ns != s.namespace && ns != metav1.NamespaceSystem {
			not = append(not, skipped{
				What: "token of " + t.account() + " in " + t.Path,
				Why:  "its namespace is neither the stage's nor " + metav1.NamespaceSystem, Count: 1,
			})
			continue
		}
		name := strings.Replace(t.account(), s.namespace+"/", "stage/", 1)
		why := ""
		if !slices.ContainsFunc(t.Audiences, func(audience string) bool { return slices.Contains(servers, audience) }) {
			why = "it is for " + strings.Join(t.Audiences, ", ")
			name += " (another audience)"
		}
		user := "system:serviceaccount:" + strings.Replace(t.account(), "/", ":", 1)
		all = append(all, open(name, t.Path+" (pod "+t.Kubernetes.Pod.Name+")", why,
			suite.AsBearer(Bearer{Token: t.Value, User: user})))
	}
	return all, not
}

// serverAudiences returns the audiences of a token that is requested without audiences.
func serverAudiences(ctx context.Context, s stage) []string {
	GinkgoHelper()
	request, err := suite.Client.CoreV1().ServiceAccounts(s.namespace).CreateToken(ctx, idle,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	c, ok := readClaims(request.Status.Token)
	Expect(ok).To(BeTrue(), "the API server's token cannot be read")
	return c.Audiences
}

// ofPairs returns the client certificates, and an administrator's certificate signed by each CA key
// that was found.
func ofPairs(pairs []pair) (all []*credential, not []skipped) {
	GinkgoHelper()
	kept, not := newest(pairs)
	add := func(name, why string, p pair) {
		certificate, key, err := p.PEM()
		Expect(err).NotTo(HaveOccurred())
		all = append(all, open(name, p.Path, why, suite.AsCertificate(p.Certificate.Subject.CommonName, certificate, key)))
	}
	for _, p := range kept {
		switch name := p.Certificate.Subject.CommonName; {
		case p.Certificate.IsCA:
			admin, err := forged(p)
			Expect(err).NotTo(HaveOccurred())
			add("forged by "+name, "an administrator's certificate, signed by an authority that only this node's kubelet trusts",
				admin)
		case !p.isClient():
			not = append(not, skipped{What: p.Path + " (" + name + ")",
				Why: "a serving certificate, which is not valid for clients", Count: 1})
		case name == "system:node:"+suite.Worker:
			add(kubeletName, "", p)
		default:
			add(name, "not issued for the API server", p)
		}
	}
	return all, not
}
