// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const hardened, parity, inTree = "hardened", "parity", "in-tree"

var (
	profiles = []string{hardened, parity, inTree}
	// failurePolicies and unknownResources are also values of flags of bulkhead install.
	failurePolicies  = []string{"Fail", "Ignore"}
	unknownResources = []string{"deny", "audit-on-newer-kubernetes"}
	// expiredLists are also values of a flag of kubelet-auth-proxy.
	expiredLists = []string{"refuse", "allow"}
	// loopbackClients are also values of flags of bulkhead install and bulkhead node install.
	loopbackClients = []string{"deny", "allow"}
	modes           = []string{rules.Off.String(), rules.Audit.String(), rules.Enforce.String()}
)

// Validate returns all invalid fields. It does not check nodePolicy, which Parse does.
func (i *Installation) Validate() field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, oneOf(field.NewPath("profile"), i.Profile, profiles)...)
	errs = append(errs, oneOf(field.NewPath("mode"), i.Mode, []string{rules.Audit.String(), rules.Enforce.String()})...)
	if i.Mode == rules.Audit.String() && i.Profile != "" && i.Profile != hardened {
		errs = append(errs, field.Invalid(field.NewPath("mode"), i.Mode, "needs profile: "+hardened))
	}
	errs = append(errs, validateImage(field.NewPath("image"), i.Image)...)
	errs = append(errs, i.validateEffect()...)
	errs = append(errs, i.validateNodeRestriction(field.NewPath("nodeRestriction"))...)
	errs = append(errs, i.Rules.validate(field.NewPath("rules"))...)
	errs = append(errs, i.Certificates.validate(field.NewPath("certificates"))...)
	errs = append(errs, i.KubeletAPI.validate(field.NewPath("kubeletAPI"))...)
	errs = append(errs, i.validateAudit(field.NewPath("kubeletAPI"))...)
	errs = append(errs, i.NodeScope.validate(field.NewPath("nodeScope"))...)
	errs = append(errs, positive(field.NewPath("timeout"), i.Timeout)...)
	errs = append(errs, positive(field.NewPath("auditFor"), i.AuditFor)...)
	if i.Profile == inTree && !reflect.DeepEqual(*i, Installation{APIVersion: i.APIVersion, Kind: i.Kind,
		Profile: i.Profile, Timeout: i.Timeout}) {
		errs = append(errs, field.Invalid(field.NewPath("profile"), i.Profile,
			"has no components: remove all fields except profile and timeout"))
	}
	return errs
}

// validateNodeRestriction allows Ignore only where in-tree NodeRestriction checks the writes of nodes
// while node-restriction is unavailable.
func (i *Installation) validateNodeRestriction(path *field.Path) field.ErrorList {
	at, policy := path.Child("failurePolicy"), i.NodeRestriction.FailurePolicy
	errs := oneOf(at, policy, failurePolicies)
	if policy == failurePolicies[1] && i.Profile != "" && i.Profile != hardened {
		errs = append(errs, field.Invalid(at, policy, "needs profile: "+hardened))
	}
	return errs
}

// validateAudit refuses a setting of kubelet-auth-proxy that denies requests also in mode audit.
func (i *Installation) validateAudit(path *field.Path) field.ErrorList {
	guards, tokens := i.KubeletAPI.Enabled, i.KubeletAPI.Authentication.Webhook.Enabled
	if i.Mode != rules.Audit.String() || guards != nil && !*guards || tokens == nil || *tokens {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("authentication", "webhook", "enabled"), false,
		"cannot be false with mode: audit: kubelet-auth-proxy would answer every token with 401. Remove the field, or set "+
			"mode: enforce")}
}

// oneOf accepts the values and an empty string, which means the default.
func oneOf(path *field.Path, value string, values []string) field.ErrorList {
	if value == "" || slices.Contains(values, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, values)}
}

func (r *Rules) validate(path *field.Path) field.ErrorList {
	errs := oneOf(path.Child("mode"), r.Mode, modes)
	errs = append(errs, oneOf(path.Child("unknownResources"), r.UnknownResources, unknownResources)...)
	optional := slices.Concat(nodeauthorizer.Rules, noderestriction.Rules, kubeletauth.Rules)
	for _, id := range slices.Sorted(maps.Keys(r.Modes)) {
		// field.Path.Key would write the ID in brackets. The file has it after a dot.
		at := path.Child("modes", id)
		// ParseModes checks the ID and the mode.
		_, problems := rules.ParseModes(optional, rules.Off, map[string]string{id: r.Modes[id]})
		for _, problem := range problems {
			errs = append(errs, field.Invalid(at, r.Modes[id], problem.Error()))
		}
	}
	return append(errs, notNegative(path.Child("terminatedPodGrace"), r.TerminatedPodGrace)...)
}

func (k *KubeletAPI) validate(path *field.Path) field.ErrorList {
	authorization := path.Child("authorization", "webhook")
	var errs field.ErrorList
	if _, err := labels.Parse(k.NodeSelector); err != nil {
		errs = append(errs, field.Invalid(path.Child("nodeSelector"), k.NodeSelector, err.Error()))
	}
	x509 := path.Child("authentication", "x509")
	return slices.Concat(errs,
		oneOf(path.Child("loopbackClients"), k.LoopbackClients, loopbackClients),
		oneOf(x509.Child("expiredRevocationLists"), k.Authentication.X509.ExpiredRevocationLists, expiredLists),
		notNegative(path.Child("authentication", "webhook", "cacheTTL"), k.Authentication.Webhook.CacheTTL),
		notNegative(authorization.Child("cacheAuthorizedTTL"), k.Authorization.Webhook.CacheAuthorizedTTL),
		notNegative(authorization.Child("cacheUnauthorizedTTL"), k.Authorization.Webhook.CacheUnauthorizedTTL),
		positive(path.Child("streamingConnectionIdleTimeout"), k.StreamingConnectionIdleTimeout))
}

func (s *NodeScope) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	at := path.Child("customResources")
	if _, err := nodescope.ParseDeclarations(strings.Join(s.CustomResources, ",")); err != nil {
		errs = append(errs, field.Invalid(at, strings.Join(s.CustomResources, ","), err.Error()))
	}
	if len(s.CustomResources) > 0 && !s.Enabled {
		errs = append(errs, field.Invalid(at, strings.Join(s.CustomResources, ","), "needs nodeScope.enabled: true"))
	}
	return errs
}

func positive(path *field.Path, d *metav1.Duration) field.ErrorList {
	if d != nil && d.Duration <= 0 {
		return field.ErrorList{field.Invalid(path, d.Duration.String(), "must be more than 0")}
	}
	return nil
}

func notNegative(path *field.Path, d *metav1.Duration) field.ErrorList {
	if d != nil && d.Duration < 0 {
		return field.ErrorList{field.Invalid(path, d.Duration.String(), "must be 0 or more")}
	}
	return nil
}
