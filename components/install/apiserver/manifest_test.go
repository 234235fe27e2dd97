// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/install/admissionflags"
)

var update = flag.Bool("update", false, "write the golden files anew")

var testWiring = Wiring{
	Dir:        "/etc/kubernetes/bulkhead/apiserver",
	ConfigFile: "/etc/kubernetes/bulkhead/apiserver/authorization.yaml",
	ConfigHash: "0123",
	Admission: admissionflags.Wiring{
		ConfigFile: "/etc/kubernetes/bulkhead/apiserver/admission.yaml", Floor: true, ExactTokens: true,
	},
	AdmissionHash: "4567",
}

// inPlace is the wiring of a profile that replaces the in-tree plugin.
func inPlace() Wiring {
	w := testWiring
	w.Admission.Floor, w.Admission.ExactTokens = false, false
	return w
}

func kubeadm(t *testing.T, replace ...string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/kubeadm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(replace...).Replace(string(data))
}

func wire(t *testing.T, manifest string) string {
	t.Helper()
	return wireAs(t, manifest, testWiring, KubeadmDefault)
}

func wireAs(t *testing.T, manifest string, w Wiring, before Before) string {
	t.Helper()
	wired, err := Wire([]byte(manifest), w, before)
	if err != nil {
		t.Fatal(err)
	}
	return string(wired)
}

func TestWireGolden(t *testing.T) {
	got := wire(t, kubeadm(t))
	if *update {
		if err := os.WriteFile("testdata/wired.yaml", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/wired.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWireThenUnwireRestoresTheInput(t *testing.T) {
	const enable = "    - --enable-admission-plugins=NodeRestriction\n"
	for _, tc := range []struct {
		name    string
		replace []string
	}{
		{"kubeadm's own manifest comes back", nil},
		{"another order of modes comes back", []string{"Node,RBAC", "RBAC,Node"}},
		{"fields that this API does not know survive",
			[]string{"  hostNetwork: true", "  fieldOfTheFuture: {a: 1}\n  hostNetwork: true"}},
		{"a large number survives", []string{"priority: 2000001000", "priority: 9007199254740993"}},
		{"flags in args come back", []string{"    - kube-apiserver\n", "    - kube-apiserver\n    args:\n"}},
		{"other plugins to enable come back",
			[]string{enable, "    - --enable-admission-plugins=EventRateLimit,NodeRestriction\n"}},
		{"a list without the plugin comes back", []string{enable, "    - --enable-admission-plugins=EventRateLimit\n"}},
		{"an empty list comes back", []string{enable, "    - --enable-admission-plugins=\n"}},
		{"no list comes back", []string{enable, ""}},
		{"a plugin that was off is off again", []string{enable, "    - --disable-admission-plugins=NodeRestriction\n"}},
		{"one that was off with others is off again",
			[]string{enable, "    - --disable-admission-plugins=PodSecurity,NodeRestriction\n"}},
		{"another admission file comes back",
			[]string{enable, enable + "    - --admission-control-config-file=/etc/other.yaml\n"}},
		{"tokens that were extended are again",
			[]string{enable, enable + "    - --service-account-extend-token-expiration=true\n"}},
	} {
		for profile, w := range map[string]Wiring{"over in-tree": testWiring, "in its place": inPlace()} {
			t.Run(tc.name+", "+profile, func(t *testing.T) {
				original := kubeadm(t, tc.replace...)
				m, err := Parse([]byte(original))
				if err != nil {
					t.Fatal(err)
				}
				before := Before{Modes: m.Modes(), Before: m.Admission()}
				wired := wireAs(t, original, w, before)
				if diff := cmp.Diff(wired, wireAs(t, wired, w, before)); diff != "" {
					t.Errorf("wiring twice is not wiring once:\n%s", diff)
				}
				back, err := Unwire([]byte(wired), w, before)
				if err != nil {
					t.Fatal(err)
				}
				if same, err := Equal([]byte(original), back); err != nil || !same {
					t.Errorf("what comes back is another object (%v):\n%s", err, cmp.Diff(original, string(back)))
				}
			})
		}
	}
}

// Only the name of Bulkhead's admission file is another one. The other flags are Bulkhead's.
func TestUserReplacesTheAdmissionFile(t *testing.T) {
	const other = "/etc/other.yaml"
	hardened := testWiring
	hardened.Admission.KubeletCA, hardened.Admission.VerifyKubelets = "/pki/ca.crt", true
	for profile, w := range map[string]Wiring{"hardened": hardened, "parity": inPlace()} {
		replaced := strings.ReplaceAll(wireAs(t, kubeadm(t), w, KubeadmDefault), w.Admission.ConfigFile, other)
		t.Run(profile+", unwired: the file stays, the rest is restored", func(t *testing.T) {
			back, err := Unwire([]byte(replaced), w, KubeadmDefault)
			if err != nil {
				t.Fatal(err)
			}
			m, err := Parse(back)
			if err != nil {
				t.Fatal(err)
			}
			if file, _ := m.Arg("admission-control-config-file"); file != other {
				t.Errorf("the flag names %q", file)
			}
			m.pod.DeleteArg("admission-control-config-file")
			want, err := Parse([]byte(kubeadm(t)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.pod.Object(), m.pod.Object()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
		t.Run(profile+", wired for the other profile: as from kubeadm's manifest", func(t *testing.T) {
			to := inPlace()
			if profile == "parity" {
				to = hardened
			}
			to.Admission.KubeletCA = hardened.Admission.KubeletCA
			before := KubeadmDefault
			before.ConfigFile = other
			m, err := Parse([]byte(wireAs(t, replaced, to, before)))
			if err != nil {
				t.Fatal(err)
			}
			want, err := Parse([]byte(wireAs(t, kubeadm(t), to, KubeadmDefault)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(want.Args())), slices.Sorted(slices.Values(m.Args()))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWireFromOneProfileToTheOther(t *testing.T) {
	hardened := wire(t, kubeadm(t))
	parity := wireAs(t, hardened, inPlace(), KubeadmDefault)
	for flag, in := range map[string]string{
		"--enable-admission-plugins=NodeRestriction":      hardened,
		"--service-account-extend-token-expiration=false": hardened,
		"--disable-admission-plugins=NodeRestriction":     parity,
	} {
		for _, manifest := range []string{hardened, parity} {
			if has := strings.Contains(manifest, flag); has != (manifest == in) {
				t.Errorf("%s: %v in\n%s", flag, has, manifest)
			}
		}
	}
	if diff := cmp.Diff(hardened, wire(t, parity)); diff != "" {
		t.Errorf("and back (-before +after):\n%s", diff)
	}
}

func TestWireDropsConflictingFlags(t *testing.T) {
	got := wire(t, kubeadm(t, "    - --allow-privileged=true\n",
		"    - --authorization-webhook-version=v1\n    - --authorization-webhook-cache-authorized-ttl=1m\n"))
	for _, flag := range append(legacyFlags, modeFlag) {
		if strings.Contains(got, "--"+flag) {
			t.Errorf("--%s is still there", flag)
		}
	}
}

func TestUnwireOfKubeadmsOwnRendering(t *testing.T) {
	// `kubeadm upgrade` names Bulkhead's volume as kubeadm's configuration names it. It does not
	// keep annotations.
	rendered := strings.ReplaceAll(wire(t, kubeadm(t)), VolumeName, "some-name")
	rendered = strings.NewReplacer("    "+HashAnnotation+": \"0123\"\n", "", "    "+AdmissionHashAnnotation+": \"4567\"\n",
		"").Replace(rendered)
	back, err := Unwire([]byte(rendered), testWiring, KubeadmDefault)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := Equal([]byte(kubeadm(t)), back); err != nil || !same {
		t.Errorf("what comes back is another object (%v):\n%s", err, back)
	}
}

func TestUnwireKeepsForeignSettings(t *testing.T) {
	for _, tc := range []struct {
		name    string
		replace []string
	}{
		{"a manifest without our edits", nil},
		{"foreign admission file",
			[]string{"    - --allow-privileged=true\n", "    - --admission-control-config-file=/etc/other.yaml\n"}},
		{"foreign authorization file",
			[]string{"--authorization-mode=Node,RBAC", "--authorization-config=/etc/other.yaml"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			original := kubeadm(t, tc.replace...)
			back, err := Unwire([]byte(original), testWiring, KubeadmDefault)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(original, string(back)); diff != "" {
				t.Errorf("-was +is:\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct{ name, manifest, mentions string }{
		{"invalid YAML", "{", "parsing static pod"},
		{"object that is not a Pod", "kind: Deployment", "kind is Deployment"},
		{"a pod without kube-apiserver", "kind: Pod\nspec: {containers: [{name: etcd}]}", `no container "kube-apiserver"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := Parse([]byte(tc.manifest)); err == nil || !strings.Contains(err.Error(), tc.mentions) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestEndpoint(t *testing.T) {
	for _, tc := range []struct {
		name    string
		replace []string
		want    string
	}{
		{"is the advertised address", nil, "https://172.18.0.2:6443"},
		{"follows the port", []string{"--secure-port=6443", "--secure-port=8443"}, "https://172.18.0.2:8443"},
		{"brackets an IPv6 address", []string{"--advertise-address=172.18.0.2", "--advertise-address=fd00::2"},
			"https://[fd00::2]:6443"},
		{"has 6443 as its default", []string{"    - --secure-port=6443\n", ""}, "https://172.18.0.2:6443"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, err := Parse([]byte(kubeadm(t, tc.replace...)))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := m.Endpoint(); err != nil || got != tc.want {
				t.Errorf("%q, %v; want %q", got, err, tc.want)
			}
		})
	}
}
