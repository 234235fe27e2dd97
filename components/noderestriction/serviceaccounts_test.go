// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"errors"
	"math"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// fakeAuthorizer grants the rights in its list.
type fakeAuthorizer struct {
	granted []Right
	// err, if set, is returned for every question.
	err error
	// asked has the rights of the questions. by has their users.
	asked []Right
	by    []user.Info
}

func (z *fakeAuthorizer) Allowed(_ context.Context, who user.Info, right Right) (bool, error) {
	z.asked, z.by = append(z.asked, right), append(z.by, who)
	if z.err != nil {
		return false, z.err
	}
	for _, granted := range z.granted {
		if granted == right {
			return true, nil
		}
	}
	return false, nil
}

func grants(z *fakeAuthorizer) func(*Config) { return func(c *Config) { c.Authorizer = z } }

// aToken returns a request for a token of the pod default/mine, for the given audiences.
func aToken(audiences ...string) *authenticationv1.TokenRequest {
	seconds := int64(3600)
	return &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences:         audiences,
		ExpirationSeconds: &seconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: "mine",
			UID: "mine-uid"},
	}}
}

// boundTo returns a token request whose bound object differs from that of aToken.
func boundTo(edit func(*authenticationv1.BoundObjectReference)) *authenticationv1.TokenRequest {
	token := aToken()
	edit(token.Spec.BoundObjectRef)
	return token
}

// asksFor returns the request for a token of the account default/default.
func asksFor(token *authenticationv1.TokenRequest, edits ...func(*attributes)) admission.Attributes {
	return write("me", admission.Create, "serviceaccounts", "token", token, nil,
		append([]func(*attributes){in("default"), named("default")}, edits...)...)
}

// projectedToken returns a volume that projects a token for an audience.
func projectedToken(audience string, seconds int64) corev1.Volume {
	return corev1.Volume{Name: "token-" + audience,
		VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{
				{ConfigMap: &corev1.ConfigMapProjection{}},
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: audience, ExpirationSeconds: &seconds}},
			},
		}}}
}

// mineWith returns a cluster whose pod default/mine has the given volumes.
func mineWith(volumes ...corev1.Volume) *fakeCluster {
	c := aCluster()
	c.pods["default/mine"].Spec.Volumes = volumes
	return c
}

const deniedToken = `serviceaccounts "default" is forbidden: `

func TestTokensAreOfOwnPods(t *testing.T) {
	cluster := mineWith(projectedToken("", 3607))
	cluster.pods["default/theirs"].Spec.Volumes = cluster.pods["default/mine"].Spec.Volumes
	const (
		unbound = deniedToken + "node requested token not bound to a pod [NR-SA-1]"
		gone    = deniedToken +
			"the UID in the bound object reference (old-uid) does not match the UID in record. The object might have been " +
			"deleted and then recreated [NR-SA-2]"
		theirs = deniedToken + "node requested token bound to a pod scheduled on a different node [NR-SA-3]"
	)
	type ref = authenticationv1.BoundObjectReference
	nothing := aToken()
	nothing.Spec.BoundObjectRef = nil
	run(t, restrict(cluster), []row{
		{name: "token for own pod: allowed", write: asksFor(aToken())},
		{name: "token for own pod as a dry run: allowed", write: asksFor(aToken(), dry)},
		{name: "unbound token: denied", write: asksFor(nothing), by: "NR-SA-1", says: unbound},
		{name: "token bound to a secret: denied", write: asksFor(boundTo(func(r *ref) { r.Kind = "Secret" })), by: "NR-SA-1",
			says: unbound},
		{name: "token bound to a node: denied", write: asksFor(boundTo(func(r *ref) { r.Kind, r.Name = "Node", "me" })),
			by: "NR-SA-1", says: unbound},
		{name: "token bound to a pod of another version: denied",
			write: asksFor(boundTo(func(r *ref) { r.APIVersion = "v2" })), by: "NR-SA-1", says: unbound},
		{name: "token bound to a pod without a name: denied", write: asksFor(boundTo(func(r *ref) { r.Name = "" })),
			by: "NR-SA-1", says: unbound},
		{name: "token bound to a pod without a UID: denied",
			write: asksFor(boundTo(func(r *ref) { r.UID = "" })), by: "NR-SA-1",
			says: deniedToken + "node requested token with a pod binding without a uid [NR-SA-1]"},
		{name: "token for a deleted pod: 404", write: asksFor(boundTo(func(r *ref) { r.Name = "gone" })),
			by: "NR-SA-2", code: 404, says: `pods "gone" not found [NR-SA-2]`},
		{name: "token for a pod in another namespace: 404",
			write: asksFor(aToken(), in("kube-system")), by: "NR-SA-2", code: 404,
			says: `pods "mine" not found [NR-SA-2]`},
		{name: "token for a recreated pod: denied", write: asksFor(boundTo(func(r *ref) { r.UID = "old-uid" })),
			by: "NR-SA-2", says: gone},
		{name: "token for other node's pod: denied",
			write: asksFor(boundTo(func(r *ref) { r.Name, r.UID = "theirs", "theirs-uid" })), by: "NR-SA-3", says: theirs},
		{name: "token for its own pod as the other node: allowed",
			write: asksFor(boundTo(func(r *ref) { r.Name, r.UID = "theirs", "theirs-uid" }),
				as(&user.DefaultInfo{Name: "system:node:other", Groups: []string{"system:nodes"}}))},
		{name: "no object: denied",
			write: write("me", admission.Create, "serviceaccounts", "token", nil, nil, in("default"), named("default")),
			by:    "NR-SA-1", says: deniedToken + "unexpected type <nil> [NR-SA-1]"},
		{name: "object of another type: denied",
			write: write("me", admission.Create, "serviceaccounts", "token", aPod("default", "mine", "me"), nil,
				named("default")), by: "NR-SA-1", says: deniedToken + "unexpected type *v1.Pod [NR-SA-1]"},
		{name: "create a service account: no rule",
			write: write("me", admission.Create, "serviceaccounts", "", &corev1.ServiceAccount{}, nil)},
		{name: "update a token subresource: no rule",
			write: write("me", admission.Update, "serviceaccounts", "token", nothing, nothing)},
	})
}

func TestTokensOfAnUnboundPod(t *testing.T) {
	cluster := mineWith(projectedToken("", 3607))
	cluster.pods["default/mine"].Spec.NodeName = ""
	run(t, restrict(cluster), []row{
		{name: "token for an unbound pod: denied", write: asksFor(aToken()), by: "NR-SA-3",
			says: deniedToken + "node requested token bound to a pod scheduled on a different node [NR-SA-3]"},
	})
}

func TestTokensWhenTheClusterDoesNotAnswer(t *testing.T) {
	cluster := mineWith(projectedToken("", 3607))
	cluster.err = errors.New("timeout")
	run(t, restrict(cluster), []row{
		{name: "failed lookup of the pod: denied",
			write: asksFor(aToken()), by: "NR-SA-2", says: deniedToken + "timeout [NR-SA-2]"},
	})
}

// TestTokenUIDsAreWhole checks that UIDs must be equal: a prefix, extra characters or other letter
// case do not match.
func TestTokenUIDsAreWhole(t *testing.T) {
	for _, uid := range []types.UID{"mine-ui", "mine-uid ", "MINE-UID"} {
		token := boundTo(func(r *authenticationv1.BoundObjectReference) { r.UID = uid })
		if v := restrict(mineWith(projectedToken("", 3607))).Review(t.Context(), asksFor(token)); v.Rule != "NR-SA-2" {
			t.Errorf("%q: refused by %q, want NR-SA-2", uid, v.Rule)
		}
	}
}

func configured(c configuration.Configuration) func(*Config) {
	return func(config *Config) {
		config.Configuration = func() *configuration.Configuration { return &c }
	}
}

// living returns a token request with that lifetime in seconds.
func living(seconds int64, audiences ...string) *authenticationv1.TokenRequest {
	token := aToken(audiences...)
	token.Spec.ExpirationSeconds = &seconds
	return token
}

func TestTokensAreOfThePodsAccount(t *testing.T) {
	const says = `serviceaccounts "other" is forbidden: ` +
		`cannot bind token for serviceaccount "other" to pod running with different serviceaccount name. [NR-SA-5]`
	others := asksFor(aToken(), named("other"))
	cluster := mineWith(projectedToken("", 3607))
	run(t, restrict(cluster, enforce("NR-SA-5")), []row{
		{name: "token of the pod's account: allowed", write: asksFor(aToken())},
		{name: "token of another account: denied", write: others, by: "NR-SA-5", says: says},
	})
	run(t, restrict(cluster), []row{{name: "rule off, token of another account: allowed", write: others}})
	auditedOnly(t, restrict(cluster, inMode(rules.Audit, "NR-SA-5")), others, "NR-SA-5")

	cluster.pods["default/mine"].Spec.ServiceAccountName = ""
	run(t, restrict(cluster, enforce("NR-SA-5")), []row{
		{name: "pod without an account: denied", write: asksFor(aToken()), by: "NR-SA-5",
			says: `serviceaccounts "default" is forbidden: ` +
				`cannot bind token for serviceaccount "default" to pod running with different serviceaccount name. [NR-SA-5]`},
	})
}

// auditedOnly checks that a write is admitted and that exactly the one rule is audited.
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
		{name: "lifetime of the volume: allowed", write: asksFor(living(86400, "vault"))},
		{name: "one second more than the volume's lifetime: denied",
			write: asksFor(living(86401, "vault")), by: "NR-SA-6", says: tooLong},
		{name: "lifetime of 2^32 seconds: denied", write: asksFor(living(math.MaxUint32, "vault")), by: "NR-SA-6",
			says: deniedToken + "node may not request a token for 4294967295 seconds: 86400 seconds are the most that the pod " +
				"or the policy asks for [NR-SA-6]"},
		{name: "lifetime of the policy: allowed", write: asksFor(living(7200, "bank"))},
		{name: "audience with a shorter limit, one second more: denied", write: asksFor(living(7201, "bank")), by: "NR-SA-6",
			says: shortDay},
	})
	run(t, restrict(mineWith(projectedToken("", 600), projectedToken("b", 86400)),
		configured(configuration.Configuration{MaxTokenSeconds: 60}), enforced, apiAudiences("a")), []row{
		{name: "kubelet's default lifetime, lower limit: allowed", write: asksFor(living(3607, "a"))},
		{name: "one second more than the kubelet's default: denied", write: asksFor(living(3608, "a")), by: "NR-SA-6",
			says: deniedToken + "node may not request a token for 3608 seconds: 3607 seconds are the most that the pod or the " +
				"policy asks for [NR-SA-6]"},
		{name: "no lifetime counts as one hour: allowed",
			write: asksFor(&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
				Audiences: []string{"a"}, BoundObjectRef: aToken().Spec.BoundObjectRef,
			}})},
	})
	year := asksFor(living(31536000, "bank"))
	run(t, restrict(day, enforced), []row{{name: "no configuration: no limit", write: year}})
	run(t, restrict(day, configured(configuration.Configuration{}), enforced),
		[]row{{name: "configuration without a limit: no limit", write: year}})
	run(t, restrict(day, bounded), []row{{name: "rule off: no limit", write: year}})
	auditedOnly(t, restrict(day, bounded, inMode(rules.Audit, "NR-SA-6")), year, "NR-SA-6")
}

// TestTokenLifeOfDrivers: the driver csi.example requests two hours for vault, and the default for
// gcp.
func TestTokenLifeOfDrivers(t *testing.T) {
	csi := corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example"}}
	bounded, enforced := configured(configuration.Configuration{MaxTokenSeconds: 4000}), enforce("NR-SA-6")
	run(t, restrict(stored(byClaim("c"), csi, "csi.example"), bounded, enforced), []row{
		{name: "lifetime of the driver: allowed", write: asksFor(living(7200, "vault"))},
		{name: "one second more than the driver's lifetime: denied", write: asksFor(living(7201, "vault")), by: "NR-SA-6",
			says: deniedToken + "node may not request a token for 7201 seconds: 7200 seconds are the most that the pod or the " +
				"policy asks for [NR-SA-6]"},
		{name: "driver's other audience, same lifetime: denied", write: asksFor(living(7200, "gcp")), by: "NR-SA-6",
			says: deniedToken + "node may not request a token for 7200 seconds: 4000 seconds are the most that the pod or the " +
				"policy asks for [NR-SA-6]"},
		{name: "driver's lifetime within the policy: allowed", write: asksFor(living(4000, "gcp"))},
	})
	c := stored(byClaim("gone"), csi, "csi.example")
	c.pods["default/mine"].Spec.Volumes = append(c.pods["default/mine"].Spec.Volumes, projectedToken("vault", 600))
	run(t, restrict(c, bounded, enforced), []row{
		{name: "failed lookup of the driver: denied", write: asksFor(living(4001, "vault")), by: "NR-SA-6",
			says: deniedToken + `cannot tell how long a token the volumes of the pod may have: ` +
				`persistentvolumeclaims "gone" not found [NR-SA-6]`},
		{name: "failed lookup, lifetime within the policy: allowed", write: asksFor(living(4000, "vault"))},
	})
}

// TestTokenLifeOfSeveralAudiences applies if the feature gate that forbids several audiences is
// off.
func TestTokenLifeOfSeveralAudiences(t *testing.T) {
	off := func(c *Config) { c.Features.ServiceAccountNodeAudienceRestriction = false }
	r := restrict(mineWith(projectedToken("", 86400)), off, configured(configuration.Configuration{MaxTokenSeconds: 60}),
		enforce("NR-SA-6"))
	run(t, r, []row{
		{name: "several audiences, over the default limit: denied", write: asksFor(living(3608, "a", "b")),
			by: "NR-SA-6", says: deniedToken +
				"node may not request a token for 3608 seconds: 3607 seconds are the most that the pod or the policy asks for " +
				"[NR-SA-6]"},
		{name: "several audiences, within the default limit: allowed", write: asksFor(living(3607, "a", "b"))},
	})
}
