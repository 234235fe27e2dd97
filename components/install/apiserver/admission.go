// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/manifest"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/config"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	apiserverinstall "k8s.io/apiserver/pkg/apis/apiserver/install"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
)

// webhookPlugin is the admission plugin that calls validating webhooks such as node-restriction.
const webhookPlugin = "ValidatingAdmissionWebhook"

// ValidateAdmission reads an AdmissionConfiguration and the files that it names, as kube-apiserver
// does at its start. The files must exist. It also checks that kube-apiserver would show a client
// certificate to the webhook at target.
func ValidateAdmission(file, target string) error {
	provider, err := admission.ReadAdmissionConfiguration([]string{webhookPlugin, PolicyPlugin}, file, configurations())
	if err != nil {
		return fmt.Errorf("loading admission configuration: %w", err)
	}
	reader, err := provider.ConfigFor(webhookPlugin)
	if err != nil {
		return fmt.Errorf("loading admission configuration: %w", err)
	}
	parsed, err := config.LoadConfig(reader)
	if err != nil {
		return fmt.Errorf("validating admission configuration: %w", err)
	}
	if err := validatePolicyPlugin(provider); err != nil {
		return err
	}
	kubeconfig, err := clientcmd.LoadFromFile(parsed.KubeConfigFile)
	if err != nil {
		return fmt.Errorf("validating admission configuration: %w", err)
	}
	// kube-apiserver selects the user by the webhook's host and port (apiserver
	// pkg/util/webhook/authentication.go, clientConfig).
	if user := kubeconfig.AuthInfos[target]; user == nil || user.ClientCertificate == "" || user.ClientKey == "" {
		return fmt.Errorf("validating admission configuration: %s names no client certificate for %s", parsed.KubeConfigFile,
			target)
	}
	return nil
}

// configurations has the types of the configuration of kube-apiserver.
var configurations = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	apiserverinstall.Install(scheme)
	return scheme
})

// ValidateRegistration reads a ValidatingWebhookConfiguration as kube-apiserver reads it from disk.
// kube-apiserver does not start if the file is invalid.
func ValidateRegistration(registration []byte) error {
	object, _, err := registrations().UniversalDeserializer().Decode(registration, nil, nil)
	if err != nil {
		return fmt.Errorf("loading the webhook's registration: %w", err)
	}
	config, ok := object.(*admissionregistrationv1.ValidatingWebhookConfiguration)
	if !ok {
		return fmt.Errorf("loading the webhook's registration: it is a %T", object)
	}
	errs := []error{manifest.ValidateManifestName(config.Name, "registration", map[string]string{})}
	for i := range config.Webhooks {
		errs = append(errs, validateWebhook(&config.Webhooks[i]))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("validating the webhook's registration: %w", err)
	}
	return nil
}

// ManifestsHash returns the hash by which kube-apiserver identifies the registrations in a
// directory. It is empty if the directory does not exist.
func ManifestsHash(dir string) (string, error) {
	_, hash, err := manifest.LoadFiles(dir)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return hash, err
}

var registrations = sync.OnceValue(func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	if err := admissionregistrationv1.AddToScheme(scheme); err != nil {
		panic(err) // the library would have two types with the same name
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict)
})

// compiler is shared, because it is slow to create.
var compiler = sync.OnceValue(func() cel.ConditionCompiler {
	return cel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
})

func validateWebhook(w *admissionregistrationv1.ValidatingWebhook) error {
	var errs []error
	if _, err := certutil.ParseCertsPEM(w.ClientConfig.CABundle); err != nil {
		errs = append(errs, fmt.Errorf("webhook %s: caBundle: %w", w.Name, err))
	}
	if u, err := url.Parse(ptr.Deref(w.ClientConfig.URL, "")); err != nil || u.Scheme != "https" ||
		w.ClientConfig.Service != nil {
		errs = append(errs, fmt.Errorf("webhook %s: it has to have an https URL, and no service", w.Name))
	}
	if w.SideEffects == nil || *w.SideEffects != admissionregistrationv1.SideEffectClassNone ||
		len(w.AdmissionReviewVersions) == 0 {
		errs = append(errs, fmt.Errorf(
			"webhook %s: sideEffects has to be None, and admissionReviewVersions to name a version", w.Name))
	}
	err := compileOnce(w.MatchConditions, func() error { return compileConditions(w.Name, w.MatchConditions) })
	return errors.Join(append(errs, err)...)
}

func compileConditions(webhook string, all []admissionregistrationv1.MatchCondition) error {
	var conditions []cel.ExpressionAccessor
	for i := range all {
		conditions = append(conditions, (*matchconditions.MatchCondition)(&all[i]))
	}
	evaluator := compiler().CompileCondition(conditions, cel.OptionalVariableDeclarations{HasAuthorizer: true},
		environment.StoredExpressions)
	var errs []error
	for _, err := range evaluator.CompilationErrors() {
		errs = append(errs, fmt.Errorf("webhook %s: matchConditions: %w", webhook, err))
	}
	return errors.Join(errs...)
}
