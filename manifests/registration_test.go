// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

var registrations = []string{RegistrationHardened, RegistrationParity}

// webhookOf returns the only webhook of a registration.
func webhookOf(t *testing.T, name string) admissionregistrationv1.ValidatingWebhook {
	t.Helper()
	config := decode[*admissionregistrationv1.ValidatingWebhookConfiguration](t, name)
	if len(config.Webhooks) != 1 {
		t.Fatalf("%s has %d webhooks", name, len(config.Webhooks))
	}
	return config.Webhooks[0]
}

func TestRegistrationFailsClosedAfterTwoSeconds(t *testing.T) {
	for _, name := range registrations {
		w := webhookOf(t, name)
		got := []string{string(*w.FailurePolicy), string(*w.MatchPolicy), string(*w.SideEffects), *w.ClientConfig.URL,
			strings.Join(w.AdmissionReviewVersions, ",")}
		want := []string{"Fail", "Equivalent", "None", "https://127.0.0.1:10463/review", "v1"}
		if diff := cmp.Diff(want, got); diff != "" || *w.TimeoutSeconds != 2 {
			t.Errorf("%s: timeout %d s; (-want +got)\n%s", name, *w.TimeoutSeconds, diff)
		}
		for _, selector := range []string{w.NamespaceSelector.String(), w.ObjectSelector.String()} {
			if selector != "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{},}" {
				t.Errorf("%s: a node could choose labels: %s", name, selector)
			}
		}
	}
}

// writes returns the requests that a registration covers, as "group/resource OPERATION".
func writes(t *testing.T, name string) []string {
	t.Helper()
	var all []string
	for _, rule := range webhookOf(t, name).Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, operation := range rule.Operations {
					all = append(all, group+"/"+resource+" "+string(operation))
				}
			}
		}
		if joined := strings.Join(slices.Concat(rule.APIGroups, rule.APIVersions, rule.Resources),
			","); strings.Contains(joined, "*") || *rule.Scope == admissionregistrationv1.AllScopes {
			t.Errorf("%s has a rule for what nobody has named: %s, scope %s", name, joined, *rule.Scope)
		}
	}
	slices.Sort(all)
	return all
}

func TestRegisteredResources(t *testing.T) {
	hardened := writes(t, RegistrationHardened)
	want := []string{
		"/events CREATE", "/events DELETE", "/events UPDATE",
		"/nodes CREATE", "/nodes DELETE", "/nodes UPDATE", "/nodes/status UPDATE",
		"/persistentvolumeclaims CREATE", "/persistentvolumeclaims DELETE", "/persistentvolumeclaims UPDATE",
		"/persistentvolumeclaims/status UPDATE",
		"/pods CREATE", "/pods DELETE", "/pods UPDATE",
		"/pods/binding CREATE", "/pods/ephemeralcontainers UPDATE", "/pods/eviction CREATE", "/pods/resize UPDATE",
		"/pods/status UPDATE",
		"/serviceaccounts CREATE", "/serviceaccounts DELETE", "/serviceaccounts UPDATE",
		"/serviceaccounts/token CREATE",
		"certificates.k8s.io/certificatesigningrequests CREATE",
		"certificates.k8s.io/podcertificaterequests CREATE", "certificates.k8s.io/podcertificaterequests DELETE",
		"certificates.k8s.io/podcertificaterequests UPDATE",
		"certificates.k8s.io/podcertificaterequests/status UPDATE",
		"events.k8s.io/events CREATE", "events.k8s.io/events DELETE", "events.k8s.io/events UPDATE",
		"resource.k8s.io/resourceslices CREATE", "resource.k8s.io/resourceslices DELETE",
		"resource.k8s.io/resourceslices UPDATE",
	}
	if diff := cmp.Diff(want, hardened); diff != "" {
		t.Errorf("hardened (-want +got)\n%s", diff)
	}
	// A heartbeat must not depend on node-restriction if the in-tree plugin checks it.
	more := slices.DeleteFunc(writes(t, RegistrationParity),
		func(write string) bool { return slices.Contains(hardened, write) })
	heartbeats := []string{
		"coordination.k8s.io/leases CREATE", "coordination.k8s.io/leases DELETE", "coordination.k8s.io/leases UPDATE",
		"storage.k8s.io/csinodes CREATE", "storage.k8s.io/csinodes DELETE", "storage.k8s.io/csinodes UPDATE",
		"storage.k8s.io/csinodes/status UPDATE",
	}
	if diff := cmp.Diff(heartbeats, more); diff != "" {
		t.Errorf("parity besides (-want +got)\n%s", diff)
	}
}

func TestMatchedUsersForPods(t *testing.T) {
	for _, name := range registrations {
		asks := matcherOf(t, webhookOf(t, name))
		for _, tc := range []struct {
			name string
			who  user.Info
			want bool
		}{
			{"a node matches",
				&user.DefaultInfo{Name: "system:node:a", Groups: []string{"system:nodes", "system:authenticated"}}, true},
			{"a node without a name matches",
				&user.DefaultInfo{Name: "system:node:", Groups: []string{"system:nodes"}}, true},
			{"a node user outside the group system:nodes does not match",
				&user.DefaultInfo{Name: "system:node:a", Groups: []string{"system:authenticated"}}, false},
			{"a user in the group without the prefix does not match",
				&user.DefaultInfo{Name: "kubelet", Groups: []string{"system:nodes"}}, false},
			{"a prefix in upper case does not match",
				&user.DefaultInfo{Name: "System:node:a", Groups: []string{"system:nodes"}}, false},
			{"node-restriction's own user does not match",
				&user.DefaultInfo{Name: "bulkhead:node-restriction", Groups: []string{"bulkhead:components"}}, false},
			{"node-restriction's own user in the group does not match",
				&user.DefaultInfo{Name: "bulkhead:node-restriction", Groups: []string{"system:nodes"}}, false},
			{"a node user without groups does not match", &user.DefaultInfo{Name: "system:node:a"}, false},
			{"an empty user does not match", &user.DefaultInfo{}, false},
			{"a bootstrap token that writes a pod does not match",
				&user.DefaultInfo{Name: "system:bootstrap:a", Groups: []string{"system:bootstrappers"}}, false},
		} {
			t.Run(name+"/"+tc.name, func(t *testing.T) {
				if got := asks(tc.who); got != tc.want {
					t.Errorf("matches %v, want %v", got, tc.want)
				}
			})
		}
	}
}

func TestBootstrappersAreReviewedForCertificates(t *testing.T) {
	for _, name := range registrations {
		asks := requestMatcherOf(t, webhookOf(t, name))
		for _, tc := range []struct {
			name string
			who  user.Info
			want bool
		}{
			{"bootstrap token: matches", &user.DefaultInfo{Name: "system:bootstrap:a",
				Groups: []string{"system:bootstrappers", "system:authenticated"}}, true},
			{"group below system:bootstrappers: matches",
				&user.DefaultInfo{Name: "joiner", Groups: []string{"x", "system:bootstrappers:kubeadm"}}, true},
			{"group system:bootstrappers2: does not match",
				&user.DefaultInfo{Name: "joiner", Groups: []string{"system:bootstrappers2"}}, false},
			{"bootstrap token without the group: does not match",
				&user.DefaultInfo{Name: "system:bootstrap:a", Groups: []string{"system:authenticated"}}, false},
			{"administrator: does not match", &user.DefaultInfo{Name: "admin", Groups: []string{"system:masters"}}, false},
			{"kube-controller-manager: does not match",
				&user.DefaultInfo{Name: "system:kube-controller-manager", Groups: []string{"system:authenticated"}}, false},
			{"node: matches", &user.DefaultInfo{Name: "system:node:a", Groups: []string{"system:nodes"}}, true},
			{"empty user: does not match", &user.DefaultInfo{}, false},
			{"empty user name in the group: matches", &user.DefaultInfo{Groups: []string{"system:bootstrappers"}}, true},
			{"1,000 other groups: does not match",
				&user.DefaultInfo{Name: "a", Groups: slices.Repeat([]string{"group"}, 1000)}, false},
		} {
			t.Run(name+"/"+tc.name, func(t *testing.T) {
				if got := asks(tc.who, "certificates.k8s.io", "certificatesigningrequests"); got != tc.want {
					t.Errorf("matches %v, want %v", got, tc.want)
				}
			})
		}
	}
}

// matcherOf returns a function that reports whether a user's write of a pod matches the webhook.
func matcherOf(t *testing.T, w admissionregistrationv1.ValidatingWebhook) func(user.Info) bool {
	t.Helper()
	asks := requestMatcherOf(t, w)
	return func(who user.Info) bool { return asks(who, "", "pods") }
}

// requestMatcherOf returns a function that reports whether a user's write of a resource matches the
// webhook.
func requestMatcherOf(t *testing.T, w admissionregistrationv1.ValidatingWebhook) func(who user.Info, group,
	resource string) bool {
	t.Helper()
	compiler := cel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	var conditions []cel.ExpressionAccessor
	for i := range w.MatchConditions {
		conditions = append(conditions, (*matchconditions.MatchCondition)(&w.MatchConditions[i]))
	}
	matcher := matchconditions.NewMatcher(
		compiler.CompileCondition(conditions, cel.OptionalVariableDeclarations{}, environment.StoredExpressions),
		w.FailurePolicy, "webhook", "validating", w.Name)
	return func(who user.Info, group, resource string) bool {
		written := schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
		attributes := admission.NewAttributesRecord(&corev1.Pod{}, nil, corev1.SchemeGroupVersion.WithKind("Pod"), "a", "b",
			written, "", admission.Create, nil, false, who)
		got := matcher.Match(t.Context(),
			&admission.VersionedAttributes{Attributes: attributes, VersionedKind: corev1.SchemeGroupVersion.WithKind("Pod"),
				VersionedObject: admission.NewLazyObject(&corev1.Pod{})}, nil, nil)
		if got.Error != nil {
			t.Errorf("%v: %v", who, got.Error)
		}
		return got.Matches
	}
}

// The user name in the kubeconfig must be the address of node-restriction. With another name,
// kube-apiserver would use the certificate for all webhooks, or for none.
func TestAPIServerCertificateIsForOneWebhook(t *testing.T) {
	config, err := clientcmd.Load(read(t, AdmissionKubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	const dir = "/etc/kubernetes/bulkhead/apiserver/"
	if len(config.AuthInfos) != 1 || config.CurrentContext != "" {
		t.Fatalf("it has the users %v and the context %q", config.AuthInfos, config.CurrentContext)
	}
	for _, name := range registrations {
		host := strings.TrimSuffix(strings.TrimPrefix(*webhookOf(t, name).ClientConfig.URL, "https://"), "/review")
		who := config.AuthInfos[host]
		if who == nil {
			t.Fatalf("it has no user %s", host)
		}
		if diff := cmp.Diff([]string{dir + "node-authorizer-client.crt", dir + "node-authorizer-client.key"},
			[]string{who.ClientCertificate, who.ClientKey}); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func TestAdmissionConfigurationHasThePaths(t *testing.T) {
	var config struct {
		Plugins []struct {
			Name          string            `json:"name"`
			Configuration map[string]string `json:"configuration"`
		} `json:"plugins"`
	}
	if err := yaml.Unmarshal(read(t, Admission), &config); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"apiVersion": "apiserver.config.k8s.io/v1", "kind": "WebhookAdmissionConfiguration",
		"kubeConfigFile":     "/etc/kubernetes/bulkhead/apiserver/admission.kubeconfig",
		"staticManifestsDir": "/etc/kubernetes/bulkhead/apiserver/static",
	}
	if len(config.Plugins) != 2 || config.Plugins[0].Name != "ValidatingAdmissionWebhook" ||
		config.Plugins[1].Name != "ValidatingAdmissionPolicy" {
		t.Fatalf("it configures %+v", config.Plugins)
	}
	if diff := cmp.Diff(want, config.Plugins[0].Configuration); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want = map[string]string{
		"apiVersion": "apiserver.config.k8s.io/v1", "kind": "ValidatingAdmissionPolicyConfiguration",
		"staticManifestsDir": "/etc/kubernetes/bulkhead/apiserver/static-policies",
	}
	if diff := cmp.Diff(want, config.Plugins[1].Configuration); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
