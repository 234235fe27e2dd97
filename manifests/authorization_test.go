// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/load"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	"k8s.io/client-go/tools/clientcmd"
)

var profiles = map[string][]apiserver.AuthorizerType{
	AuthorizationHardened: {"Webhook", "Node", "RBAC"},
	AuthorizationParity:   {"Webhook", "RBAC"},
}

func loadAuthorization(t *testing.T, name string) *apiserver.AuthorizationConfiguration {
	t.Helper()
	configuration, err := load.LoadFromData(read(t, name))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return configuration
}

// kube-apiserver does not start if its loader rejects the file.
func TestAPIServerLoadsTheAuthorizationConfiguration(t *testing.T) {
	known, repeatable := sets.New("Webhook", "Node", "RBAC"), sets.New("Webhook")
	for name, want := range profiles {
		t.Run(name, func(t *testing.T) {
			configuration := loadAuthorization(t, name)
			// The validation needs an existing kubeconfig. In production it is on the host.
			onHost := filepath.Join(t.TempDir(), "kubeconfig")
			if err := os.WriteFile(onHost, read(t, NodeAuthorizerKubeconfig), 0o600); err != nil {
				t.Fatal(err)
			}
			configuration.Authorizers[0].Webhook.ConnectionInfo.KubeConfigFile = &onHost
			for _, err := range validation.ValidateAuthorizationConfiguration(authorizationcel.NewDefaultCompiler(), nil,
				configuration, known, repeatable) {
				t.Error(err)
			}
			var got []apiserver.AuthorizerType
			for _, a := range configuration.Authorizers {
				got = append(got, a.Type)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("order (-want +got)\n%s", diff)
			}
			webhook := configuration.Authorizers[0].Webhook
			if webhook.CacheAuthorizedRequests || webhook.CacheUnauthorizedRequests {
				t.Error("a cache is on: an allow would outlive the pod that earned it")
			}
			if webhook.FailurePolicy != "NoOpinion" || webhook.Timeout.Duration.String() != "3s" {
				t.Errorf("failurePolicy %s, timeout %s", webhook.FailurePolicy, webhook.Timeout.Duration)
			}
		})
	}
}

func TestMatchCondition(t *testing.T) {
	pods := &authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods"}
	spec := func(user string, groups ...string) authorizationv1.SubjectAccessReviewSpec {
		return authorizationv1.SubjectAccessReviewSpec{User: user, Groups: groups, ResourceAttributes: pods}
	}
	path := spec("system:node:a", "system:nodes")
	path.ResourceAttributes, path.NonResourceAttributes = nil,
		&authorizationv1.NonResourceAttributes{Verb: "get", Path: "/"}
	for _, tt := range []struct {
		name string
		spec authorizationv1.SubjectAccessReviewSpec
		want bool
	}{
		{"a node matches", spec("system:node:a", "system:nodes", "system:authenticated"), true},
		{"a node without a name matches", spec("system:node:", "system:nodes"), true},
		{"a node's request for a non-resource path matches", path, true},
		{"node-authorizer's own user does not match",
			spec("bulkhead:node-authorizer", "bulkhead:components", "system:authenticated"), false},
		{"node-authorizer's own user in the group system:nodes does not match",
			spec("bulkhead:node-authorizer", "system:nodes"), false},
		{"a node user outside the group system:nodes does not match", spec("system:node:a", "system:authenticated"), false},
		{"a user in the group without the prefix does not match", spec("kubelet", "system:nodes"), false},
		{"a prefix in upper case does not match", spec("System:node:a", "system:nodes"), false},
		{"a node user without groups does not match", spec("system:node:a"), false},
		{"an empty user name does not match", spec(""), false},
		{"an empty review does not match", authorizationv1.SubjectAccessReviewSpec{}, false},
	} {
		for name := range profiles {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				conditions := loadAuthorization(t, name).Authorizers[0].Webhook.MatchConditions
				matcher, errs := validation.ValidateAndCompileMatchConditions(authorizationcel.NewDefaultCompiler(), conditions)
				if err := errs.ToAggregate(); err != nil {
					t.Fatal(err)
				}
				got, err := matcher.Eval(t.Context(), &authorizationv1.SubjectAccessReview{Spec: tt.spec})
				if err != nil || got != tt.want {
					t.Errorf("matches %v with error %v, want %v", got, err, tt.want)
				}
			})
		}
	}
}

func TestKubeconfigHasTheAddressAndCertificates(t *testing.T) {
	config, err := clientcmd.Load(read(t, NodeAuthorizerKubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	context := config.Contexts[config.CurrentContext]
	cluster, who := config.Clusters[context.Cluster], config.AuthInfos[context.AuthInfo]
	const dir = "/etc/kubernetes/bulkhead/apiserver/"
	got := []string{cluster.Server, cluster.CertificateAuthority, who.ClientCertificate, who.ClientKey}
	want := []string{"https://127.0.0.1:10461/authorize", dir + "node-authorizer-ca.crt",
		dir + "node-authorizer-client.crt", dir + "node-authorizer-client.key"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for name := range profiles {
		file := *loadAuthorization(t, name).Authorizers[0].Webhook.ConnectionInfo.KubeConfigFile
		if file != strings.Replace(NodeAuthorizerKubeconfig, "node-authorizer/apiserver/", dir, 1) {
			t.Errorf("%s names %s", name, file)
		}
	}
}
