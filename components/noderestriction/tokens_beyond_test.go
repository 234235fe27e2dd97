// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"math"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func configured(c configuration.Configuration) func(*Config) {
	return func(config *Config) {
		config.Configuration = func() *configuration.Configuration { return &c }
	}
}

// living is a token that lives for so long.
func living(seconds int64, audiences ...string) *authenticationv1.TokenRequest {
	token := aToken(audiences...)
	token.Spec.ExpirationSeconds = &seconds
	return token
}

func TestTokensAreOfThePodsAccount(t *testing.T) {
	const says = `serviceaccounts "other" is forbidden: cannot bind token for serviceaccount "other" to pod running with different serviceaccount name. [NR-SA-5]`
	others := asksFor(aToken(), named("other"))
	cluster := mineWith(projectedToken("", 3607))
	run(t, restrict(cluster, enforce("NR-SA-5")), []row{
		{name: "the account of the pod is admitted", write: asksFor(aToken())},
		{name: "another is refused", write: others, by: "NR-SA-5", says: says},
	})
	run(t, restrict(cluster), []row{{name: "off, another is the API server's business", write: others}})
	auditedOnly(t, restrict(cluster, inMode(rules.Audit, "NR-SA-5")), others, "NR-SA-5")

	cluster.pods["default/mine"].Spec.ServiceAccountName = ""
	run(t, restrict(cluster, enforce("NR-SA-5")), []row{
		{name: "a pod without an account has no tokens", write: asksFor(aToken()), by: "NR-SA-5",
			says: `serviceaccounts "default" is forbidden: cannot bind token for serviceaccount "default" to pod running with different serviceaccount name. [NR-SA-5]`},
	})
}

// auditedOnly checks that a write is admitted and the one rule reported.
func auditedOnly(t *testing.T, r *Restriction, write admission.Attributes, by rules.ID) {
	t.Helper()
	v := r.Review(t.Context(), write)
	if !v.Allowed() || len(v.Audited()) != 1 || v.Audited()[0] != by {
		t.Errorf("refusal %v, audited %v; want none, and %s", v.Reason(), v.Audited(), by)
	}
}

func TestTokenLife(t *testing.T) {
	const tooLong = deniedToken +
		"node may not request a token for 86401 seconds: 86400 seconds are the most that the pod or the policy asks for " +
		"[NR-SA-6]"
	bounded, enforced := configured(configuration.Configuration{MaxTokenSeconds: 7200}), enforce("NR-SA-6")
	day := mineWith(projectedToken("vault", 86400), projectedToken("bank", 600))
	const shortDay = deniedToken +
		"node may not request a token for 7201 seconds: 7200 seconds are the most that the pod or the policy asks for " +
		"[NR-SA-6]"
	run(t, restrict(day, bounded, enforced), []row{
		{name: "what the pod asks for is admitted", write: asksFor(living(86400, "vault"))},
		{name: "a second more is refused", write: asksFor(living(86401, "vault")), by: "NR-SA-6", says: tooLong},
		{name: "2^32 seconds are refused", write: asksFor(living(math.MaxUint32, "vault")), by: "NR-SA-6",
			says: deniedToken + "node may not request a token for 4294967295 seconds: 86400 seconds are the most that the pod " +
				"or the policy asks for [NR-SA-6]"},
		{name: "what the policy allows is admitted", write: asksFor(living(7200, "bank"))},
		{name: "a second more is refused for an audience of a short one", write: asksFor(living(7201, "bank")), by: "NR-SA-6",
			says: shortDay},
	})
	run(t, restrict(mineWith(projectedToken("", 600), projectedToken("b", 86400)),
		configured(configuration.Configuration{MaxTokenSeconds: 60}), enforced, apiAudiences("a")), []row{
		{name: "the kubelet's default is above every bound", write: asksFor(living(3607, "a"))},
		{name: "a second more is not", write: asksFor(living(3608, "a")), by: "NR-SA-6",
			says: deniedToken + "node may not request a token for 3608 seconds: 3607 seconds are the most that the pod or the " +
				"policy asks for [NR-SA-6]"},
		{name: "no number stands for an hour",
			write: asksFor(&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
				Audiences: []string{"a"}, BoundObjectRef: aToken().Spec.BoundObjectRef,
			}})},
	})
	year := asksFor(living(31536000, "bank"))
	run(t, restrict(day, enforced), []row{{name: "without a configuration there is no bound", write: year}})
	run(t, restrict(day, configured(configuration.Configuration{}), enforced),
		[]row{{name: "nor with none in it", write: year}})
	run(t, restrict(day, bounded), []row{{name: "nor with the rule off", write: year}})
	auditedOnly(t, restrict(day, bounded, inMode(rules.Audit, "NR-SA-6")), year, "NR-SA-6")
}

// TestTokenLifeOfDrivers has the driver csi.example ask for two hours for vault, and
// for the default for gcp.
func TestTokenLifeOfDrivers(t *testing.T) {
	csi := corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example"}}
	bounded, enforced := configured(configuration.Configuration{MaxTokenSeconds: 4000}), enforce("NR-SA-6")
	run(t, restrict(stored(byClaim("c"), csi, "csi.example"), bounded, enforced), []row{
		{name: "what the driver asks for is admitted", write: asksFor(living(7200, "vault"))},
		{name: "a second more is refused", write: asksFor(living(7201, "vault")), by: "NR-SA-6",
			says: deniedToken + "node may not request a token for 7201 seconds: 7200 seconds are the most that the pod or the " +
				"policy asks for [NR-SA-6]"},
		{name: "for its other audience that is refused", write: asksFor(living(7200, "gcp")), by: "NR-SA-6",
			says: deniedToken + "node may not request a token for 7200 seconds: 4000 seconds are the most that the pod or the " +
				"policy asks for [NR-SA-6]"},
		{name: "where the policy holds", write: asksFor(living(4000, "gcp"))},
	})
	c := stored(byClaim("gone"), csi, "csi.example")
	c.pods["default/mine"].Spec.Volumes = append(c.pods["default/mine"].Spec.Volumes, projectedToken("vault", 600))
	run(t, restrict(c, bounded, enforced), []row{
		{name: "what is not known is refused", write: asksFor(living(4001, "vault")), by: "NR-SA-6",
			says: deniedToken + `cannot tell how long a token the volumes of the pod may have: persistentvolumeclaims "gone" not found [NR-SA-6]`},
		{name: "unless it does not matter", write: asksFor(living(4000, "vault"))},
	})
}

// TestTokenLifeOfSeveralAudiences holds where the gate that forbids several is off.
func TestTokenLifeOfSeveralAudiences(t *testing.T) {
	off := func(c *Config) { c.Features.ServiceAccountNodeAudienceRestriction = false }
	r := restrict(mineWith(projectedToken("", 86400)), off, configured(configuration.Configuration{MaxTokenSeconds: 60}),
		enforce("NR-SA-6"))
	run(t, r, []row{
		{name: "no volume asks for several, so the default bounds them", write: asksFor(living(3608, "a", "b")),
			by: "NR-SA-6", says: deniedToken +
				"node may not request a token for 3608 seconds: 3607 seconds are the most that the pod or the policy asks for " +
				"[NR-SA-6]"},
		{name: "and admits them", write: asksFor(living(3607, "a", "b"))},
	})
}
