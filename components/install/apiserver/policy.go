// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	celgo "github.com/google/cel-go/cel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/config"
	"k8s.io/apiserver/pkg/admission/plugin/policy/manifest/loader"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/utils/lru"
)

// ValidatePolicies reads the ValidatingAdmissionPolicies in a directory as kube-apiserver does at
// its start, and compiles their expressions. With an invalid policy, kube-apiserver does not start,
// or denies every request that the policy matches.
func ValidatePolicies(dir string) error {
	policies, err := loadPolicies(dir)
	if err != nil {
		return fmt.Errorf("loading admission policies: %w", err)
	}
	for _, policy := range policies {
		err := compileOnce(policy.Spec, func() error {
			_, err := compilePolicy(policy)
			return err
		})
		if err != nil {
			return fmt.Errorf("validating admission policy %s: %w", policy.Name, err)
		}
	}
	return nil
}

// compiledSpecs has the last specs, as JSON, whose expressions were compiled without an error. CEL compiles
// slowly, and an installation validates the same files several times.
var compiledSpecs = lru.New(32)

// compileOnce calls compile, unless it has lately succeeded for the same spec.
func compileOnce(spec any, compile func() error) error {
	key, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	if _, found := compiledSpecs.Get(string(key)); found {
		return nil
	}
	if err := compile(); err != nil {
		return err
	}
	compiledSpecs.Add(string(key), nil)
	return nil
}

// PolicyPlugin is the admission plugin that evaluates ValidatingAdmissionPolicies.
const PolicyPlugin = "ValidatingAdmissionPolicy"

// validatePolicyPlugin reads the plugin's part of the configuration, if it exists, and the policies
// that it names.
func validatePolicyPlugin(provider admission.ConfigProvider) error {
	reader, err := provider.ConfigFor(PolicyPlugin)
	if err != nil || reader == nil {
		return err
	}
	parsed, err := config.LoadValidatingConfig(reader)
	if err != nil {
		return fmt.Errorf("validating admission configuration: %w", err)
	}
	if parsed.StaticManifestsDir == "" {
		return nil
	}
	return ValidatePolicies(parsed.StaticManifestsDir)
}

func loadPolicies(dir string) ([]*admissionregistrationv1.ValidatingAdmissionPolicy, error) {
	policies, _, _, err := loader.LoadPolicyManifests(dir, registrations().UniversalDeserializer(),
		accept[*admissionregistrationv1.ValidatingAdmissionPolicy],
		accept[*admissionregistrationv1.ValidatingAdmissionPolicyBinding],
		func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) string { return b.Spec.PolicyName })
	return policies, err
}

func accept[T any](object runtime.Object) ([]T, error) {
	if typed, ok := object.(T); ok {
		return []T{typed}, nil
	}
	return nil, loader.ErrUnrecognizedType
}

// expression is a CEL expression of a policy, with its allowed types. For a variable, it also has
// the name.
type expression struct {
	text, name string
	types      []*celgo.Type
}

func (e expression) GetExpression() string      { return e.text }
func (e expression) GetName() string            { return e.name }
func (e expression) ReturnTypes() []*celgo.Type { return e.types }

// compiled is a policy that can be evaluated.
type compiled struct{ validations, messages cel.ConditionEvaluator }

// baseEnvironment is shared, because it is slow to create.
var baseEnvironment = sync.OnceValue(func() *environment.EnvSet {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
})

// compilePolicy compiles a policy as kube-apiserver does
// (admission/plugin/policy/validating/plugin.go). It does not support match conditions and audit
// annotations.
func compilePolicy(policy *admissionregistrationv1.ValidatingAdmissionPolicy) (compiled, error) {
	compiler, err := cel.NewCompositedCompiler(baseEnvironment())
	if err != nil {
		return compiled{}, err
	}
	withAuthorizer := cel.OptionalVariableDeclarations{HasAuthorizer: true}
	var errs []error
	for _, v := range policy.Spec.Variables {
		variable := expression{v.Expression, v.Name, []*celgo.Type{celgo.AnyType, celgo.DynType}}
		if result := compiler.CompileAndStoreVariable(variable, withAuthorizer,
			environment.StoredExpressions); result.Error != nil {
			errs = append(errs, fmt.Errorf("variable %s: %w", v.Name, result.Error))
		}
	}
	var validations, messages []cel.ExpressionAccessor
	for _, v := range policy.Spec.Validations {
		validations = append(validations, expression{text: v.Expression, types: []*celgo.Type{celgo.BoolType}})
		if v.MessageExpression != "" {
			messages = append(messages, expression{text: v.MessageExpression, types: []*celgo.Type{celgo.StringType}})
		}
	}
	c := compiled{
		validations: compiler.CompileCondition(validations, withAuthorizer, environment.StoredExpressions),
		messages:    compiler.CompileCondition(messages, cel.OptionalVariableDeclarations{}, environment.StoredExpressions),
	}
	errs = append(append(errs, c.validations.CompilationErrors()...), c.messages.CompilationErrors()...)
	return c, errors.Join(errs...)
}
