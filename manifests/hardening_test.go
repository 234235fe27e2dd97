// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// The file enforces baseline everywhere but in kube-system. The names of its fields are those of the
// plugin: kube-apiserver does not start with others.
func TestPodSecurityDefaults(t *testing.T) {
	raw, err := os.ReadFile("hardening/host/pod-security/admission.yaml")
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	config := &apiserver.AdmissionConfiguration{}
	if err := runtime.DecodeInto(serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder(), raw,
		config); err != nil {
		t.Fatal(err)
	}
	if len(config.Plugins) != 1 || config.Plugins[0].Name != "PodSecurity" {
		t.Fatalf("plugins: %+v", config.Plugins)
	}
	var got map[string]any
	if err := json.Unmarshal(config.Plugins[0].Configuration.Raw, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "pod-security.admission.config.k8s.io/v1", "kind": "PodSecurityConfiguration",
		"defaults": map[string]any{"enforce": "baseline", "enforce-version": "latest", "warn": "baseline",
			"warn-version": "latest", "audit": "baseline", "audit-version": "latest"},
		"exemptions": map[string]any{"namespaces": []any{"kube-system"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The file limits anonymous requests, authenticates nobody else, and is valid for kube-apiserver.
func TestAnonymousRequestsAreLimited(t *testing.T) {
	raw, err := os.ReadFile("hardening/host/authentication.yaml")
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	config := &apiserver.AuthenticationConfiguration{}
	if err := runtime.DecodeInto(serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder(), raw,
		config); err != nil {
		t.Fatal(err)
	}
	compiler := authenticationcel.NewCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if errs := validation.ValidateAuthenticationConfiguration(compiler, config, nil); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
	var paths []string
	for _, condition := range config.Anonymous.Conditions {
		paths = append(paths, condition.Path)
	}
	want := []string{"/livez", "/readyz", "/healthz", "/api/v1/namespaces/kube-public/configmaps/cluster-info"}
	if !slices.Equal(paths, want) || !config.Anonymous.Enabled || len(config.JWT) > 0 {
		t.Errorf("anonymous: %+v, JWT: %v", config.Anonymous, config.JWT)
	}
}
