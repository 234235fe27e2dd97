// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	admissioncel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/apis/apiserver/load"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	"k8s.io/apiserver/pkg/authentication/user"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

// full returns as many accounts as fit into a list, with namespaces and names of these lengths.
func full(namespace, name int) []scopelist.Account {
	var all []scopelist.Candidate
	for i := range scopelist.MaxAccounts {
		all = append(all, scopelist.Candidate{Account: scopelist.Account{
			Namespace: strings.Repeat("n", namespace-4) + fmt.Sprintf("%04d", i),
			Name:      strings.Repeat("a", name-4) + fmt.Sprintf("%04d", i),
		}})
	}
	list, _ := scopelist.Fit(all)
	return list
}

func userOf(a scopelist.Account) string { return "system:serviceaccount:" + a.Namespace + ":" + a.Name }

// lists are lists of accounts, by name.
var lists = map[string][]scopelist.Account{
	"no user": nil,
	"one":     {{Namespace: "ns", Name: "agent"}},
	"full":    full(30, 40),
	"long":    full(63, 253),
}

func TestAFullListIsFull(t *testing.T) {
	if n := len(lists["full"]); n != scopelist.MaxAccounts {
		t.Errorf("there are %d accounts", n)
	}
}

// The server loads the file. It calls the webhook for the listed accounts only, and the
// expression has a value for every user.
func TestAuthorization(t *testing.T) {
	for name, accounts := range lists {
		t.Run(name, func(t *testing.T) {
			kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
			if err := os.WriteFile(kubeconfig, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			template := strings.Replace(authorizationTemplate, "KUBECONFIG", kubeconfig, 1)
			file, err := scopelist.Replace(scopelist.Authorization, []byte(template), accounts)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d accounts are %d bytes", len(accounts), len(file))
			begin := time.Now()
			if err := apiserver.ValidateAuthorization(file); err != nil {
				t.Fatalf("%.200s", err)
			}
			t.Logf("loaded in %v", time.Since(begin))
			matches := sends(t, file)
			for _, user := range []string{"", "admin", "system:node:n",
				userOf(scopelist.Account{Namespace: "ns", Name: "other"})} {
				if matches(user) {
					t.Errorf("%q is asked about", user)
				}
			}
			for _, account := range accounts {
				if !matches(userOf(account)) {
					t.Fatalf("%v is not asked about", account)
				}
			}
		})
	}
}

// sends compiles the match conditions as the server does. The result reports whether the server
// calls the webhook for a user.
func sends(t *testing.T, file []byte) func(user string) bool {
	t.Helper()
	config, err := load.LoadFromData(file)
	if err != nil {
		t.Fatal(err)
	}
	matcher, errs := validation.ValidateAndCompileMatchConditions(authorizationcel.NewDefaultCompiler(),
		config.Authorizers[0].Webhook.MatchConditions)
	if err := errs.ToAggregate(); err != nil {
		t.Fatal(err)
	}
	return func(user string) bool {
		match, err := matcher.Eval(t.Context(),
			&authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user}})
		if err != nil {
			t.Fatalf("%q: %v", user, err)
		}
		return match
	}
}

func TestAdmission(t *testing.T) {
	for name, accounts := range lists {
		t.Run(name, func(t *testing.T) {
			file, err := scopelist.Replace(scopelist.Admission, admissionFile(t), accounts)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d accounts are %d bytes", len(accounts), len(file))
			begin := time.Now()
			if err := apiserver.ValidateRegistration(file); err != nil {
				t.Fatalf("%.200s", err)
			}
			t.Logf("loaded in %v", time.Since(begin))
			matches := admits(t, file)
			for _, user := range []string{"", "admin", "system:node:n",
				userOf(scopelist.Account{Namespace: "ns", Name: "other"})} {
				if matches(user) {
					t.Errorf("%q is asked about", user)
				}
			}
			for _, account := range accounts {
				if !matches(userOf(account)) {
					t.Fatalf("%v is not asked about", account)
				}
			}
		})
	}
}

// admits compiles the match conditions of an admission webhook as the server does.
func admits(t *testing.T, file []byte) func(user string) bool {
	t.Helper()
	var config admissionregistrationv1.ValidatingWebhookConfiguration
	if err := yaml.UnmarshalStrict(file, &config); err != nil {
		t.Fatal(err)
	}
	condition := matchconditions.MatchCondition(config.Webhooks[0].MatchConditions[0])
	compiler := admissioncel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	evaluator := compiler.CompileCondition([]admissioncel.ExpressionAccessor{&condition},
		admissioncel.OptionalVariableDeclarations{HasAuthorizer: true}, environment.StoredExpressions)
	matcher := matchconditions.NewMatcher(evaluator, config.Webhooks[0].FailurePolicy, "webhook", "validating",
		config.Name)
	return func(name string) bool {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}}
		attributes := admission.NewAttributesRecord(pod, nil, corev1.SchemeGroupVersion.WithKind("Pod"), "ns", "p",
			corev1.SchemeGroupVersion.WithResource("pods"), "", admission.Create, &metav1.CreateOptions{}, false,
			&user.DefaultInfo{Name: name})
		result := matcher.Match(t.Context(),
			&admission.VersionedAttributes{Attributes: attributes, VersionedObject: admission.NewLazyObject(pod),
				VersionedKind: attributes.GetKind()}, nil, nil)
		if result.Error != nil {
			t.Fatalf("%q: %v", name, result.Error)
		}
		return result.Matches
	}
}
