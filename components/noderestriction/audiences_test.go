// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

func apiAudiences(names ...string) func(*Config) {
	return func(c *Config) { c.APIAudiences = names }
}

const (
	apiServer       = "https://kubernetes.default.svc"
	notGranted      = deniedToken + `system:node:me is not authorized to request tokens for audience `
	severalRefused  = deniedToken + "node may only request 0 or 1 audiences [NR-SA-4]"
	audienceVerb    = "request-serviceaccounts-token-audience"
	validatingVault = deniedToken + `error validating audience "vault": `
)

func TestAudiences(t *testing.T) {
	run(t, restrict(mineWith(projectedToken("vault", 3600)), apiAudiences(apiServer)), []row{
		{name: "audience of a projected volume: allowed", write: asksFor(aToken("vault"))},
		{name: "other audience: denied",
			write: asksFor(aToken("bank")), by: "NR-SA-4", says: notGranted + `"bank" [NR-SA-4]`},
		{name: "audience with the same prefix: denied", write: asksFor(aToken("vaul")), by: "NR-SA-4",
			says: notGranted + `"vaul" [NR-SA-4]`},
		{name: "two audiences: denied", write: asksFor(aToken("vault", "vault")), by: "NR-SA-4", says: severalRefused},
		{name: "no audience: denied", write: asksFor(aToken()), by: "NR-SA-4", says: notGranted + `"" [NR-SA-4]`},
		{name: "empty audience: denied", write: asksFor(aToken("")), by: "NR-SA-4", says: notGranted + `"" [NR-SA-4]`},
	})
}

func TestAudiencesNeedTheGate(t *testing.T) {
	off := func(c *Config) { c.Features.ServiceAccountNodeAudienceRestriction = false }
	run(t, restrict(mineWith(), off), []row{
		{name: "feature gate off, one audience: allowed", write: asksFor(aToken("bank"))},
		{name: "feature gate off, several audiences: allowed", write: asksFor(aToken("bank", "vault"))},
	})
	run(t, restrict(mineWith()), []row{
		{name: "feature gate on, several audiences: denied",
			write: asksFor(aToken("bank")), by: "NR-SA-4", says: notGranted + `"bank" [NR-SA-4]`},
	})
}

// TestDefaultedAudiences uses requests in which the API server has inserted its own audiences,
// because they named none.
func TestDefaultedAudiences(t *testing.T) {
	ofServer := mineWith(projectedToken("", 3607))
	run(t, restrict(ofServer, apiAudiences(apiServer)), []row{
		{name: "API server's audience requested, volume without audience: allowed", write: asksFor(aToken(apiServer))},
		{name: "other audience requested, volume without audience: denied",
			write: asksFor(aToken(apiServer + ".cluster.local")), by: "NR-SA-4",
			says: notGranted + `"https://kubernetes.default.svc.cluster.local" [NR-SA-4]`},
	})
	run(t, restrict(ofServer, apiAudiences("a", "b")), []row{
		{name: "all API server audiences requested, volume without audience: allowed", write: asksFor(aToken("a", "b"))},
		{name: "one of several API server audiences requested: denied",
			write: asksFor(aToken("a")), by: "NR-SA-4", says: notGranted + `"a" [NR-SA-4]`},
		{name: "API server audiences in another order: denied",
			write: asksFor(aToken("b", "a")), by: "NR-SA-4", says: severalRefused},
		{name: "API server audiences and one more: denied",
			write: asksFor(aToken("a", "b", "c")), by: "NR-SA-4", says: severalRefused},
	})
	run(t, restrict(ofServer), []row{
		{name: "API server's audience is not configured: denied", write: asksFor(aToken(apiServer)), by: "NR-SA-4",
			says: notGranted + `"https://kubernetes.default.svc" [NR-SA-4]`},
	})
	run(t, restrict(mineWith(projectedToken(apiServer, 3600)), apiAudiences(apiServer)), []row{
		{name: "volume names the API server's audience: allowed", write: asksFor(aToken(apiServer))},
	})
	run(t, restrict(mineWith(projectedToken("a", 3600)), apiAudiences("a", "b")), []row{
		{name: "volume names one of the API server's audiences: allowed", write: asksFor(aToken("a"))},
		{name: "volume names one of the API server's audiences, both requested: denied",
			write: asksFor(aToken("a", "b")), by: "NR-SA-4",
			says: notGranted + `"" [NR-SA-4]`},
	})
	run(t, restrict(mineWith(projectedToken("vault", 3600)), apiAudiences(apiServer)), []row{
		{name: "pod without a token for the API server: denied", write: asksFor(aToken(apiServer)), by: "NR-SA-4",
			says: notGranted + `"" [NR-SA-4]`},
	})
}

func TestGrantedAudiences(t *testing.T) {
	right := Right{Verb: audienceVerb, Version: "v1", Resource: "bank", Namespace: "default", Name: "default"}
	run(t, restrict(mineWith(), grants(&fakeAuthorizer{granted: []Right{right}})), []row{
		{name: "granted audience: allowed", write: asksFor(aToken("bank"))},
		{name: "audience that is not granted: denied",
			write: asksFor(aToken("vault")), by: "NR-SA-4", says: notGranted + `"vault" [NR-SA-4]`},
		{name: "audience granted to another account: denied", write: asksFor(aToken("bank"), named("other")), by: "NR-SA-4",
			says: `serviceaccounts "other" is forbidden: ` +
				`system:node:me is not authorized to request tokens for audience "bank" [NR-SA-4]`},
		{name: "two granted audiences: denied without a lookup",
			write: asksFor(aToken("bank", "bank")), by: "NR-SA-4", says: severalRefused},
	})
	run(t, restrict(mineWith(), grants(&fakeAuthorizer{err: errors.New("timeout")})), []row{
		{name: "failed lookup of the grant: denied", write: asksFor(aToken("bank")), by: "NR-SA-4",
			says: deniedToken + `error authorizing system:node:me to request tokens for audience "bank": timeout [NR-SA-4]`},
	})
	for _, named := range []string{"", apiServer} {
		right.Resource = named
		run(t, restrict(mineWith(), apiAudiences(apiServer), grants(&fakeAuthorizer{granted: []Right{right}})), []row{
			{name: "the API server may be granted as " + named, write: asksFor(aToken(apiServer))},
		})
	}
}

// TestGrantsAreAskedAsTheNode checks that the whole user is sent, because an administrator may
// grant by group or extra.
func TestGrantsAreAskedAsTheNode(t *testing.T) {
	who := &user.DefaultInfo{Name: "system:node:me", UID: "u", Groups: []string{"system:nodes", "zone-a"},
		Extra: map[string][]string{"k": {"v"}}}
	z := &fakeAuthorizer{}
	restrict(mineWith(projectedToken("vault", 3600)), grants(z)).Review(t.Context(), asksFor(aToken("vault"), as(who)))
	if len(z.asked) != 0 {
		t.Errorf("asked about an audience that the pod has: %v", z.asked)
	}
	restrict(mineWith(), grants(z)).Review(t.Context(), asksFor(aToken("vault"), as(who)))
	want := []Right{{Verb: audienceVerb, Version: "v1", Resource: "vault", Namespace: "default", Name: "default"}}
	if diff := cmp.Diff(want, z.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if len(z.by) != 1 || z.by[0] != user.Info(who) {
		t.Errorf("asked as %v", z.by)
	}
}

// volumeOf returns a pod volume with the name v.
func volumeOf(source corev1.VolumeSource) corev1.Volume {
	return corev1.Volume{Name: "v", VolumeSource: source}
}

// stored returns a cluster in which the pod default/mine has the volume. The claims c and mine-v
// are bound to a volume with the source.
func stored(v corev1.Volume, source corev1.PersistentVolumeSource, drivers ...string) *fakeCluster {
	c := mineWith(v)
	claim := &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv"}}
	c.claims = map[string]*corev1.PersistentVolumeClaim{"default/c": claim, "default/mine-v": claim}
	c.volumes = map[string]*corev1.PersistentVolume{
		"pv": {Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: source}},
	}
	c.drivers = map[string]*storagev1.CSIDriver{}
	long := int64(7200)
	for _, name := range drivers {
		c.drivers[name] = &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{TokenRequests: []storagev1.TokenRequest{
			{Audience: "gcp"}, {Audience: "vault", ExpirationSeconds: &long},
		}}}
	}
	return c
}

func byClaim(name string) corev1.Volume {
	return volumeOf(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}})
}

func TestAudiencesOfDrivers(t *testing.T) {
	inline := volumeOf(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "csi.example"}})
	ephemeral := volumeOf(corev1.VolumeSource{
		Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}},
	})
	disk := volumeOf(corev1.VolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "d"}})
	csi := corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example"}}
	pd := corev1.PersistentVolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "d"}}
	for _, tc := range []struct {
		name    string
		volume  corev1.Volume
		source  corev1.PersistentVolumeSource
		driver  string
		without string
	}{
		{"an inline CSI volume", inline, csi, "csi.example", `csidrivers.storage.k8s.io "csi.example" not found`},
		{"a claim", byClaim("c"), csi, "csi.example", `csidrivers.storage.k8s.io "csi.example" not found`},
		{"an ephemeral claim", ephemeral, csi, "csi.example", `csidrivers.storage.k8s.io "csi.example" not found`},
		{"an in-tree volume", disk, csi, "pd.csi.storage.gke.io",
			`csidrivers.storage.k8s.io "pd.csi.storage.gke.io" not found`},
		{"a claim to an in-tree volume", byClaim("c"), pd, "pd.csi.storage.gke.io",
			`csidrivers.storage.k8s.io "pd.csi.storage.gke.io" not found`},
	} {
		run(t, restrict(stored(tc.volume, tc.source, tc.driver)), []row{
			{name: tc.name + " opens what its driver asks for", write: asksFor(aToken("vault"))},
			{name: tc.name + " opens nothing else", write: asksFor(aToken("bank")), by: "NR-SA-4",
				says: notGranted + `"bank" [NR-SA-4]`},
		})
		run(t, restrict(stored(tc.volume, tc.source, "other.example")), []row{
			{name: tc.name + " opens nothing without its driver", write: asksFor(aToken("vault")), by: "NR-SA-4",
				says: validatingVault + tc.without + " [NR-SA-4]"},
		})
	}
}

func TestAudienceOfOneOfSeveralDrivers(t *testing.T) {
	of := func(driver string) corev1.Volume {
		return volumeOf(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: driver}})
	}
	for name, drivers := range map[string][]string{
		"the first driver requests it":  {"csi.example", "bank.example"},
		"the second driver requests it": {"bank.example", "csi.example"},
	} {
		c := stored(of(drivers[0]), corev1.PersistentVolumeSource{}, drivers...)
		c.drivers["bank.example"].Spec.TokenRequests = []storagev1.TokenRequest{{Audience: "bank"}}
		volumes := &c.pods["default/mine"].Spec.Volumes
		*volumes = append(*volumes, of(drivers[1]))
		run(t, restrict(c), []row{{name: name + ": allowed", write: asksFor(aToken("vault"))}})
	}
}

func TestAudiencesOfVolumesThatAreNotThere(t *testing.T) {
	csi := corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example"}}
	granted := grants(&fakeAuthorizer{granted: []Right{{Verb: audienceVerb, Version: "v1", Resource: "vault",
		Namespace: "default", Name: "default"}}})
	noClaim, noVolume, unbound := stored(byClaim("gone"), csi, "csi.example"), stored(byClaim("c"), csi, "csi.example"),
		stored(byClaim("c"), csi, "csi.example")
	noVolume.volumes = nil
	unbound.claims["default/c"] = &corev1.PersistentVolumeClaim{}
	for _, tc := range []struct {
		name    string
		cluster *fakeCluster
		says    string
	}{
		{"a claim that is not there", noClaim, `persistentvolumeclaims "gone" not found`},
		{"a volume that is not there", noVolume, `persistentvolumes "pv" not found`},
		{"a claim that is not bound", unbound, `persistentvolumes "" not found`},
	} {
		run(t, restrict(tc.cluster, granted), []row{
			{name: tc.name + " ends the search before the grants", write: asksFor(aToken("vault")), by: "NR-SA-4",
				says: validatingVault + tc.says + " [NR-SA-4]"},
		})
		volumes := &tc.cluster.pods["default/mine"].Spec.Volumes
		*volumes = append(*volumes, projectedToken("vault", 3600))
		run(t, restrict(tc.cluster), []row{
			{name: tc.name + " does not matter if another volume has the audience", write: asksFor(aToken("vault"))},
		})
	}
	run(t, restrict(stored(byClaim("c"), corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{}}),
		granted), []row{
		{name: "volume without a driver, granted audience: allowed", write: asksFor(aToken("vault"))},
	})
	run(t, restrict(mineWith(volumeOf(corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}})), granted), []row{
		{name: "ephemeral volume without a template, granted audience: allowed", write: asksFor(aToken("vault"))},
	})
}

// TestManyVolumes checks that one driver is looked up once.
func TestManyVolumes(t *testing.T) {
	c := stored(byClaim("c"),
		corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "gone.example"}})
	volumes := &c.pods["default/mine"].Spec.Volumes
	for range 10_000 {
		*volumes = append(*volumes, volumeOf(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "gone.example"}}),
			byClaim("gone"))
	}
	run(t, restrict(c), []row{
		{name: "every problem is reported once", write: asksFor(aToken("vault")), by: "NR-SA-4",
			says: validatingVault +
				`[csidrivers.storage.k8s.io "gone.example" not found, persistentvolumeclaims "gone" not found] [NR-SA-4]`},
	})
}

// TestManyVolumesEndInTime checks that lookups stop when ctx ends.
func TestManyVolumesEndInTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := stored(byClaim("c"), corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example"}},
		"csi.example")
	row{by: "NR-SA-4", says: validatingVault + "cannot look up csidrivers: context canceled [NR-SA-4]"}.check(t,
		restrict(c).Review(ctx, asksFor(aToken("vault"))))
}
