// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func TestTokens(t *testing.T)       { run(t, tokenRows()) }
func TestTokenSecrets(t *testing.T) { run(t, tokenSecretRows()) }

// boundTo is a request for a token of an account, bound to a pod. The pod's UID is its name and
// -uid.
func boundTo(who user.Info, account, pod string,
	edits ...func(*authenticationv1.BoundObjectReference)) admission.Attributes {
	ref := &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod, UID: types.UID(pod + "-uid")}
	for _, edit := range edits {
		edit(ref)
	}
	return by(who, admission.Create, "serviceaccounts/token", &authenticationv1.TokenRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: account},
		Spec:       authenticationv1.TokenRequestSpec{BoundObjectRef: ref},
	}, nil)
}

// The account of tokenRows has a scope that does not name tokens.
func tokenRows() []row {
	mine := tokenOf("agent", "agent-me", "me")
	const refusal = `serviceaccounts "agent" is forbidden: `
	const unbound = refusal +
		`a pod on node "me" can only create tokens that are bound to a pod by name and UID (spec.boundObjectRef) [NS-TOKEN-2]`
	no := func(name string, write admission.Attributes, says string) row {
		return row{name: name, scope: "nodes", write: write, by: "NS-TOKEN-2", says: says}
	}
	withoutRef := by(mine, admission.Create, "serviceaccounts/token",
		&authenticationv1.TokenRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "agent"}}, nil)
	none := by(mine, admission.Create, "serviceaccounts/token",
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "agent"}}, nil)
	return []row{
		{name: "for its own pod", scope: "nodes", write: boundTo(mine, "agent", "agent-me")},
		{name: "for a pod of its account on its node", scope: "nodes", write: boundTo(mine, "agent", "mine")},
		{name: "for a pod of another account on its node", scope: "nodes", write: boundTo(mine, "free", "free-me")},
		{name: "for its sibling, having no scope", write: boundTo(tokenOf("free", "free-me", "me"), "agent", "agent-other")},
		no("for its sibling on another node", boundTo(mine, "agent", "agent-other"),
			refusal+`pod "agent-other", with the UID in spec.boundObjectRef, is not on node "me" [NS-TOKEN-2]`),
		no("for a pod on no node", boundTo(mine, "agent", "agent-pending"),
			refusal+`pod "agent-pending", with the UID in spec.boundObjectRef, is not on node "me" [NS-TOKEN-2]`),
		no("for a pod of its node that runs as another account", boundTo(mine, "agent", "free-me"),
			refusal+`pod "free-me" does not run as service account "agent" [NS-TOKEN-2]`),
		no("for a mirror pod", boundTo(mine, "agent", "mirror-me"),
			refusal+`pod "mirror-me" does not run as service account "agent" [NS-TOKEN-2]`),
		no("for a pod that is gone", boundTo(mine, "agent", "gone"),
			refusal+`pod "gone", with the UID in spec.boundObjectRef, is not on node "me" [NS-TOKEN-2]`),
		no("for the pod of before",
			boundTo(mine, "agent", "mine", func(r *authenticationv1.BoundObjectReference) { r.UID = "x" }),
			refusal+`pod "mine", with the UID in spec.boundObjectRef, is not on node "me" [NS-TOKEN-2]`),
		no("without a UID", boundTo(mine, "agent", "mine", func(r *authenticationv1.BoundObjectReference) { r.UID = "" }),
			unbound),
		no("without a name", boundTo(mine, "agent", "mine", func(r *authenticationv1.BoundObjectReference) { r.Name = "" }),
			unbound),
		no("for a secret", boundTo(mine, "agent", "mine",
			func(r *authenticationv1.BoundObjectReference) { r.Kind = "Secret" }), unbound),
		no("for a Node", boundTo(mine, "agent", "me", func(r *authenticationv1.BoundObjectReference) { r.Kind = "Node" }),
			unbound),
		no("for a pod of another version",
			boundTo(mine, "agent", "mine", func(r *authenticationv1.BoundObjectReference) { r.APIVersion = "v2" }), unbound),
		no("for nothing", withoutRef, unbound),
		no("with an object of another type", none, refusal+"unexpected type *v1.Pod [NS-TOKEN-2]"),
		{name: "for its own pod, its own token naming no pod", scope: "nodes",
			write: boundTo(&user.DefaultInfo{Name: mine.Name}, "agent", "agent-me"), by: "NS-IDENT-2",
			says: refusal + "the token names no pod [NS-IDENT-2]"},
		{name: "for an audience that the pod does not mount, tokens being in the scope", scope: "serviceaccounts",
			write: boundTo(mine, "agent", "free-me"), by: "NS-ADMIT-1",
			says: refusal + "system:node:me is not authorized to request tokens for audience \"\" [NR-SA-4] [NS-ADMIT-1]"},
		{name: "an account, accounts not being in its scope", scope: "nodes",
			write: write(admission.Update, "serviceaccounts", account("a", nil), account("a", nil))},
	}
}

func tokenSecretRows() []row {
	secret := func(of corev1.SecretType) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}, Type: of}
	}
	const (
		never   = `secrets "s" is forbidden: an account with a node scope cannot write secrets of type `
		refusal = never + "kubernetes.io/service-account-token [NS-TOKEN-3]"
		joining = never + "bootstrap.kubernetes.io/token [NS-TOKEN-3]"
	)
	ofToken, opaque := secret(corev1.SecretTypeServiceAccountToken), secret(corev1.SecretTypeOpaque)
	bootstrap := secret(corev1.SecretTypeBootstrapToken)
	return []row{
		{name: "a new secret", scope: "nodes", write: write(admission.Create, "secrets", opaque, nil)},
		{name: "a new secret for a token", scope: "nodes", write: write(admission.Create, "secrets", ofToken, nil),
			by: "NS-TOKEN-3", says: refusal},
		{name: "a new secret for a token, everything being in the scope", scope: "*",
			write: write(admission.Create, "secrets", ofToken, nil), by: "NS-TOKEN-3", says: refusal},
		{name: "a changed secret", scope: "nodes", write: write(admission.Update, "secrets", opaque, opaque)},
		{name: "a changed secret with a token", scope: "nodes", write: write(admission.Update, "secrets", ofToken, ofToken),
			by: "NS-TOKEN-3", says: refusal},
		{name: "a new bootstrap token", scope: "nodes", write: write(admission.Create, "secrets", bootstrap, nil),
			by: "NS-TOKEN-3", says: joining},
		{name: "a bootstrap token of before", scope: "nodes", write: write(admission.Update, "secrets", opaque, bootstrap),
			by: "NS-TOKEN-3", says: joining},
		{name: "a secret that had a token", scope: "nodes", write: write(admission.Update, "secrets", opaque, ofToken),
			by: "NS-TOKEN-3", says: refusal},
		{name: "no more of a secret with a token", scope: "nodes", write: write(admission.Delete, "secrets", nil, ofToken)},
		{name: "a new secret for a token, having no scope",
			write: by(tokenOf("free", "free-me", "me"), admission.Create, "secrets", ofToken, nil)},
		{name: "a secret with a nil object",
			scope: "nodes", write: write(admission.Create, "secrets", nil, nil), by: "NS-TOKEN-3",
			says: "secrets is forbidden: unexpected type <nil> [NS-TOKEN-3]"},
	}
}

// If NodeRestriction denies the node, the pod is denied too. The scope does not name pod
// certificate requests.
func TestPodCertificatesAreOfOwnNode(t *testing.T) {
	of := func(node string) admission.Attributes {
		return write(admission.Create, "podcertificaterequests", &certificatesv1.PodCertificateRequest{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r"},
			Spec: certificatesv1.PodCertificateRequestSpec{NodeName: types.NodeName(node),
				NodeUID: types.UID(node + "-uid"), PodName: "theirs", PodUID: "theirs-uid", ServiceAccountName: "agent"},
		}, nil)
	}
	v := world(t, "nodes", "").Review(t.Context(), of("other"))
	if v.Rule != "NS-TOKEN-2" {
		t.Errorf("a certificate of a pod on another node: %s %v", v.Rule, v.Reason())
	}
}

// NS-TOKEN-2 denies also when the rules of NodeRestriction about tokens are disabled.
func TestTokensInTheScopeAreBoundToo(t *testing.T) {
	features := noderestriction.DefaultFeatures()
	features.ServiceAccountNodeAudienceRestriction = false
	r := world(t, "serviceaccounts", "", func(c *Config) {
		c.Nodes = noderestriction.New(noderestriction.Config{
			Cluster: aCluster(), Features: features, Modes: noderestriction.Modes(rules.Off),
		})
	})
	mine := tokenOf("agent", "agent-me", "me")
	if v := r.Review(t.Context(), boundTo(mine, "agent", "mine")); !v.Allowed() {
		t.Errorf("for a pod of its account: %v", v.Reason())
	}
	if v := r.Review(t.Context(), boundTo(mine, "agent", "free-me")); v.Rule != "NS-TOKEN-2" {
		t.Errorf("for a pod that runs as another account: %s %v", v.Rule, v.Reason())
	}
}

// A pod that cannot be read is not treated as a pod that does not exist.
func TestTokenOfAPodThatCannotBeRead(t *testing.T) {
	away := errors.New("the API server does not answer")
	r := world(t, "nodes", "", func(c *Config) { c.Pods = failingFor{c.Pods, "mine", away} })
	v := r.Review(t.Context(), boundTo(tokenOf("agent", "agent-me", "me"), "agent", "mine"))
	if v.Rule != "NS-UNREADY" {
		t.Errorf("got %s %v", v.Rule, v.Reason())
	}
}

type failingFor struct {
	Pods
	name string
	err  error
}

func (f failingFor) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	if name == f.name {
		return nil, f.err
	}
	return f.Pods.Pod(ctx, namespace, name)
}
