// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"net/http"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var _ = tell(Story{
	ID: "T16", Title: "A stolen token is used elsewhere, and after its pod",
	Source: "KEP-1205; KEP-4193; plugin/pkg/auth/authorizer/node/graph.go; rbac-police token_request",
	Effect: "The attacker takes a token out of a pod and uses it anywhere, for the objects of all nodes. The kubelet's " +
		"token ends with its pod. So the attacker requests another one that no pod binds, with the DaemonSet's own " +
		"right. It survives the deletion of the pod, and a new pod of the same name.",
	Stops: "A token has the rights of the node of its pod. An account with a scope gets no token without a pod, and a " +
		"token without a pod has no rights in the scope.",
	Attempts: []Attempt{
		{
			Name:   "reading another node's secret, from outside of the cluster",
			Effect: "the secret of a pod on the other node is printed",
			By:     takenOut, Rights: readsSecrets, Rule: "NS-SCOPE-1", Text: "[NA-SECRET-1]",
			Prepare: secretsOfBoth,
			Attack:  sends(func(r *Run) Request { return secretNamed(r, r.Victim()) }), Show: showSecret,
			TwinIs: "a secret of a pod on the own node",
			Twin:   sends(func(r *Run) Request { return secretNamed(r, r.Attacker()) }),
		},
		{
			Name:   "requesting a token that no pod binds",
			Effect: "after the pod was deleted and created again, the token still reads the other node's secret",
			By:     ownPod, Rights: append(slices.Clone(readsSecrets), right("", []string{"create"}, "serviceaccounts/token")),
			Rule: "NS-ADMIT-1", Text: "[NR-SA-1]",
			Prepare: secretsOfBoth,
			Attack:  sends(func(r *Run) Request { return ownToken(r, nil) }),
			Show: func(ctx context.Context, r *Run, answer Answer) {
				token := issued(answer)
				again := replace(ctx, r.Pod)
				r.Say("The pod %s was deleted and created again: UID %s instead of %s.", again.Name, again.UID, r.Pod.UID)
				expectSecret(ctx, r, outside(ctx, token))
			},
			TwinIs: "a token that is bound to the own pod",
			Twin: sends(func(r *Run) Request {
				return ownToken(r, fixtures.TokenRequest(r.Pod).Spec.BoundObjectRef)
			}),
		},
		{
			Name:   "using a token of the account that no pod binds, as kubectl create token makes it",
			Effect: "the secret of a pod on the other node is printed",
			By:     unbound, Rights: append(slices.Clone(readsSecrets), right("apps", []string{"get"}, "deployments")),
			Rule: "NS-IDENT-2", Text: "names no pod",
			Prepare: func(ctx context.Context, r *Run) {
				secretsOfBoth(ctx, r)
				deploymentNamed(ctx, r, r.Names[r.Victim()])
			},
			Attack: sends(func(r *Run) Request { return secretNamed(r, r.Victim()) }), Show: showSecret,
			TwinIs:   "a deployment of the same name instead of the secret: the scope has no deployments",
			TwinRule: "NS-PASS-1",
			Twin: sends(func(r *Run) Request {
				return Get(api.Deployments).In(r.Namespace(context.Background())).Named(r.Names[r.Victim()])
			}),
		},
	},
	Also: []string{"e2e/nodescope/tokens_test.go"},
})

// The API server accepts the token of a deleted pod for at most ten seconds, from its cache, on every
// profile. Node scope does not.
var _ = It("T16: after a pod of the same name was created, the old token is denied and the new one is allowed",
	Attack("T16"), Denies("NS-IDENT-3"), Label(OnHardened, OnWorker), func(ctx SpecContext) {
		r := &Run{Env: suite.Env(), Protected: true, Names: map[string]string{}}
		skipWithoutNodeScope(ctx)
		secretsOfBoth(ctx, r)
		ownPod.Real(ctx, r, readsSecrets)
		own, old := secretNamed(r, r.Attacker()), r.Pod
		bearer := must(suite.ReadToken(ctx, tokenIn(ctx, old)))
		stolen := suite.AsBearer(bearer)
		Expect(r.Send(ctx, stolen, own).Code).To(Equal(http.StatusOK), "while its pod runs")
		ended := time.Now()
		again := replace(ctx, old)
		Expect(again.UID).NotTo(Equal(old.UID))
		// The API server rejects the token itself soon, without a rule. So the rule is proved with the
		// user of the token, by impersonation.
		suite.BecomesRefused(ctx, suite.AsForged(bearer), own, "NS-IDENT-3", ended)
		answer := r.Send(ctx, stolen, own)
		Expect(answer.Code).To(BeElementOf(http.StatusForbidden, http.StatusUnauthorized), answer.Message)
		if answer.Code == http.StatusForbidden {
			Expect(answer.Message).To(ContainSubstring("[NS-IDENT-3]"))
		}
		Expect(r.Send(ctx, outside(ctx, tokenIn(ctx, again)), own).Code).To(Equal(http.StatusOK))
		suite.ExpectForbidden(ctx, suite.AsForged(bearer), own, "NS-IDENT-3", "not the one")
	})

// deploymentNamed creates a deployment without pods.
func deploymentNamed(ctx context.Context, r *Run, name string) {
	GinkgoHelper()
	selected := map[string]string{"app": name}
	template := fixtures.Pod("", "", "")
	r.Put(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace(ctx), Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](0), Selector: &metav1.LabelSelector{MatchLabels: selected},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selected}, Spec: template.Spec},
		},
	})
}

// takenOut is the attacker who has copied the token of a pod of the stage.
var takenOut = ofAccount("the token of a DaemonSet's pod on the worker, used from outside of the cluster", copied)

func copied(ctx context.Context, r *Run, account string, rights []rbacv1.PolicyRule) *Identity {
	GinkgoHelper()
	granted(ctx, r, account, rights)
	r.Say("The attacker has copied the token out of pod %s.", account)
	return outside(ctx, tokenIn(ctx, attackersPod(account)))
}

// unbound is the attacker who has found a token that an administrator has created for an account.
var unbound = ofAccount("a token of a DaemonSet's account that names no pod", unboundOf)

func unboundOf(ctx context.Context, r *Run, account string, rights []rbacv1.PolicyRule) *Identity {
	GinkgoHelper()
	granted(ctx, r, account, rights)
	made := must(suite.Client.CoreV1().ServiceAccounts(stage.Namespace).CreateToken(ctx, account,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{}))
	r.Say("The attacker has a token of account %s that names no pod.", account)
	return outside(ctx, made.Status.Token)
}

// ownPod is the attacker in a DaemonSet's pod that no other spec uses: [Run.Pod].
var ownPod = ofAccount("the token of a DaemonSet's pod on the worker, from inside the pod", inOwnPod)

func inOwnPod(ctx context.Context, r *Run, account string, rights []rbacv1.PolicyRule) *Identity {
	GinkgoHelper()
	granted(ctx, r, account, rights)
	r.Pod = startPod(ctx, r.NewName(account), account)
	r.Say("The attacker is in pod %s on %s, of account %s.", r.Pod.Name, r.Attacker(), account)
	who := outside(ctx, tokenIn(ctx, r.Pod))
	if suite.Settings.Profile == Any {
		return who
	}
	return who.From(suite.FromPod(r.Pod))
}

// startPod starts a pod of an account of the stage on the worker.
func startPod(ctx context.Context, name, account string) *corev1.Pod {
	GinkgoHelper()
	pod := attackersPod(account)
	pod.Name = name
	suite.Env().Put(ctx, pod)
	return running(ctx, pod)
}

// ownToken requests a token of the account of [Run.Pod].
func ownToken(r *Run, bound *authenticationv1.BoundObjectReference) Request {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: bound}}
	return Create(api.ServiceAccounts).In(r.Pod.Namespace).Named(r.Pod.Spec.ServiceAccountName).Sub("token").
		With(request).Stored()
}

// replace deletes a pod of [startPod], and starts another pod with its name and account.
func replace(ctx context.Context, pod *corev1.Pod) *corev1.Pod {
	GinkgoHelper()
	removeInPeace(ctx, pod)
	return startPod(ctx, pod.Name, pod.Spec.ServiceAccountName)
}

// removeInPeace deletes a pod and waits until its kubelet has finished with it. Before that, a write
// of the kubelet could delete the next pod of that name.
func removeInPeace(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	pods := suite.Client.CoreV1().Pods(pod.Namespace)
	Expect(pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](1)})).To(Succeed())
	Eventually(ctx, func() bool {
		_, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}).WithTimeout(2 * PodStart).WithPolling(200 * time.Millisecond).Should(BeTrue())
}
