// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"encoding/base64"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var mayReadSecrets = []rbacv1.PolicyRule{right("", []string{"get", "list"}, "secrets")}

var _ = tell(Story{
	ID: "T3", Title: "A DaemonSet's token reads the secrets of the whole cluster",
	Source: "CVE-2023-30512 (CubeFS, cubefs/cubefs#1882); CVE-2023-30617 (kruise-daemon); hwameistor#1457; dapr#7708",
	Effect: "The ClusterRole of the DaemonSet has get and list on secrets. One stolen token prints the secrets of " +
		"all namespaces, among them tokens of administrators.",
	Stops: "With secrets in its scope, an account reads only secrets that the pods on its node use, by name.",
	Attempts: []Attempt{
		{
			Name: "listing all secrets", Effect: "the answer has the secret of another node's pod",
			By: daemon, Rights: mayReadSecrets, Rule: "NS-SCOPE-1", Text: "[NA-SECRET-2]",
			Prepare: twoSecrets,
			Attack:  sends(func(*Run) Request { return List(api.Secrets) }),
			Show:    printsSecret,
			TwinIs:  "the same list, restricted by name to a secret of a pod on its own node",
			Twin: sends(func(r *Run) Request {
				return List(api.Secrets).In(r.Names["namespace"]).Where("metadata.name=" + r.Names["own"])
			}),
		},
		{
			Name: "getting a secret of another node's pod", Effect: "the answer has the secret",
			By: daemon, Rights: mayReadSecrets, Rule: "NS-SCOPE-1", Text: "[NA-SECRET-1]",
			Prepare: twoSecrets,
			Attack:  sends(func(r *Run) Request { return Get(api.Secrets).In(r.Names["namespace"]).Named(r.Names["other"]) }),
			Show:    printsSecret,
			TwinIs:  "a secret of a pod on its own node",
			Twin:    sends(func(r *Run) Request { return Get(api.Secrets).In(r.Names["namespace"]).Named(r.Names["own"]) }),
		},
	},
})

// twoSecrets creates a secret of a pod on the attacker's node, and one of a pod on another node.
func twoSecrets(ctx context.Context, r *Run) {
	GinkgoHelper()
	r.Names["namespace"] = r.Namespace(ctx)
	for whose, node := range map[string]string{"own": r.Attacker(), "other": r.Other} {
		secret := fixtures.Secret(r.Namespace(ctx), r.NewName("secret"))
		secret.StringData = map[string]string{"word": secret.Name + "-is-secret"}
		r.Put(ctx, secret)
		r.Env.Pod(ctx, node, fixtures.WithSecret(secret.Name))
		r.Names[whose] = secret.Name
	}
}

// printsSecret expects the content of the other node's secret in the answer.
func printsSecret(_ context.Context, r *Run, answer Answer) {
	GinkgoHelper()
	word := r.Names["other"] + "-is-secret"
	Expect(string(answer.Body)).To(ContainSubstring(base64.StdEncoding.EncodeToString([]byte(word))))
	r.Say("The answer contains the secret of a pod on %s: %q.", r.Other, word)
}
