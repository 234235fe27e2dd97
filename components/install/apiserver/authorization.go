// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/load"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	"k8s.io/apiserver/pkg/authorization/cel"
)

// ValidateAuthorization reads an AuthorizationConfiguration as kube-apiserver does at its start.
// kube-apiserver does not start if the file is invalid, so the installer validates before it
// writes.
func ValidateAuthorization(config []byte) error {
	parsed, err := load.LoadFromData(config)
	if err != nil {
		return fmt.Errorf("loading authorization configuration: %w", err)
	}
	errs := validation.ValidateAuthorizationConfiguration(cel.NewDefaultCompiler(), nil, parsed,
		sets.New("AlwaysAllow", "AlwaysDeny", "ABAC", "Webhook", "RBAC", "Node"), sets.New("Webhook"))
	if err := errs.ToAggregate(); err != nil {
		return fmt.Errorf("validating authorization configuration: %w", err)
	}
	return validateNames(parsed)
}

// validateNames checks the rule that kube-apiserver adds to those of the library
// (pkg/kubeapiserver/authorizer/config.go, LoadAndValidateData).
func validateNames(config *apiserver.AuthorizationConfiguration) error {
	for _, a := range config.Authorizers {
		want := strings.ToLower(string(a.Type))
		if a.Type != apiserver.TypeWebhook && a.Name != want {
			return fmt.Errorf("validating authorization configuration: authorizer %s is named %q, not %q", a.Type, a.Name, want)
		}
	}
	return nil
}
