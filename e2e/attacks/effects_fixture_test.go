// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// word is the content of every secret that [fixtures.Secret] creates.
const word = "hush"

// secretsOfBoth creates a secret and a pod that mounts it on each of the two nodes.
func secretsOfBoth(ctx context.Context, r *Run) {
	GinkgoHelper()
	for _, node := range []string{r.Victim(), r.Attacker()} {
		r.Names[node] = r.NewName("secret")
		r.Put(ctx, fixtures.Secret(r.Namespace(ctx), r.Names[node]))
		r.Env.Pod(ctx, node, fixtures.WithSecret(r.Names[node]))
	}
}

// secretNamed gets the secret of a pod on a node that [secretsOfBoth] created.
func secretNamed(r *Run, node string) Request {
	return getSecret(r.Namespace(context.Background()), r.Names[node])
}

// showSecret expects that the answer is a secret, and prints it.
func showSecret(_ context.Context, r *Run, answer Answer) {
	GinkgoHelper()
	var secret struct{ Data map[string]string }
	Expect(json.Unmarshal(answer.Body, &secret)).To(Succeed())
	text, err := base64.StdEncoding.DecodeString(secret.Data["word"])
	Expect(err).NotTo(HaveOccurred())
	Expect(string(text)).To(Equal(word))
	r.Say("The secret is %q.", text)
}

// expectSecret reads a secret of the victim's node as who.
func expectSecret(ctx context.Context, r *Run, who *Identity) {
	GinkgoHelper()
	answer := r.Send(ctx, who, secretNamed(r, r.Victim()))
	Expect(answer.Code).To(Equal(200), answer.Message)
	showSecret(ctx, r, answer)
}

// outside returns the owner of a token, who uses it from outside of the cluster.
func outside(ctx context.Context, token string) *Identity {
	GinkgoHelper()
	bearer, err := suite.ReadToken(ctx, token)
	Expect(err).NotTo(HaveOccurred())
	return suite.AsBearer(bearer)
}

// mintedBy returns the owner of the token in an answer.
func mintedBy(ctx context.Context, answer Answer) *Identity {
	GinkgoHelper()
	return outside(ctx, issued(answer))
}

// issued returns the token in an answer.
func issued(answer Answer) string {
	GinkgoHelper()
	var made authenticationv1.TokenRequest
	Expect(json.Unmarshal(answer.Body, &made)).To(Succeed())
	return made.Status.Token
}

// tokenFor requests a token that is bound to the pod, in a dry run.
func tokenFor(pod *corev1.Pod, audiences ...string) Request {
	request := fixtures.TokenRequest(pod)
	request.Spec.Audiences = audiences
	return Create(api.ServiceAccounts).In(pod.Namespace).Named(pod.Spec.ServiceAccountName).Sub("token").
		With(request)
}

// must returns the value. It fails the spec on an error that only a mistake in the spec could cause.
func must[T any](value T, err error) T {
	ExpectWithOffset(1, err).NotTo(HaveOccurred())
	return value
}

// onWorkersDisk finds the token of a pod among the volumes of all pods on the worker's disk, as root
// there does, and uses it there.
func onWorkersDisk(ctx context.Context, r *Run, pod *corev1.Pod) *Identity {
	GinkgoHelper()
	tokens, err := suite.Host.Run(ctx, r.Attacker(), printTokens+"\n")
	Expect(err).NotTo(HaveOccurred())
	r.Say("The attacker is root on %s and reads all tokens on its disk.", r.Attacker())
	return outside(ctx, pickToken(ctx, tokens, pod)).From(suite.FromHost(r.Attacker()))
}

// printTokens prints the tokens of all pods, one a line. The path avoids the link beside ..data: see
// fs.protected_symlinks.
const printTokens = "for file in /var/lib/kubelet/pods/*/volumes/kubernetes.io~projected/*/..data/token; do " +
	"cat $file; echo; done"

// pickToken returns a token of a pod that the API server accepts. Tokens of pods that were deleted
// shortly before are still on the disk. Other specs start and delete pods of the same account, so the
// name of the pod is compared, too.
func pickToken(ctx context.Context, tokens string, pod *corev1.Pod) string {
	GinkgoHelper()
	user := "system:serviceaccount:" + pod.Namespace + ":" + pod.Spec.ServiceAccountName
	for token := range strings.Lines(tokens) {
		token = strings.TrimSpace(token)
		if of := claimsOf(token); of.Subject != user || of.Bound.Pod.Name != pod.Name {
			continue
		}
		if _, err := suite.ReadToken(ctx, token); err == nil {
			return token
		}
	}
	Fail("cannot find a valid token of " + user + " in pod " + pod.Name)
	return ""
}

// claims are the user of a token and the pod that the token is bound to.
type claims struct {
	Subject string `json:"sub"`
	Bound   struct {
		Pod struct {
			Name string `json:"name"`
		} `json:"pod"`
	} `json:"kubernetes.io"`
}

// claimsOf returns the claims of a token without a check of its signature. They are empty if the text
// is not a token.
func claimsOf(token string) (of claims) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return claims{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(payload, &of) != nil {
		return claims{}
	}
	return of
}
