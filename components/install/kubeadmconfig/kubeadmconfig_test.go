// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeadmconfig

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/components/install/admissionflags"
)

var testWiring = Wiring{VolumeName: "bulkhead-apiserver", Dir: "/b/apiserver",
	ConfigFile: "/b/apiserver/authorization.yaml",
	Admission:  admissionflags.Wiring{ConfigFile: "/b/apiserver/admission.yaml", Floor: true, ExactTokens: true}}

// inPlace is the wiring of a profile that replaces the in-tree plugin.
func inPlace() Wiring {
	w := testWiring
	w.Admission.Floor, w.Admission.ExactTokens = false, false
	return w
}

const head = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nclusterName: kind\n"

const volume = `
  extraVolumes:
  - {name: bulkhead-apiserver, hostPath: /b/apiserver, mountPath: /b/apiserver, readOnly: true, pathType: Directory}`

func TestWireThenUnwireRestoresTheInput(t *testing.T) {
	const (
		authorization = "{name: authorization-config, value: /b/apiserver/authorization.yaml}"
		ours          = authorization + ", {name: admission-control-config-file, value: /b/apiserver/admission.yaml}"
		exact         = "{name: service-account-extend-token-expiration, value: 'false'}"
	)
	for _, tc := range []struct {
		name, before, wired string
		w                   Wiring
	}{
		{"kubeadm's defaults", head + "apiServer: {}",
			head + "apiServer:\n  extraArgs: [" + ours + ", " + exact + "]" + volume, testWiring},
		{"kubeadm's defaults, in the place of in-tree", head + "apiServer: {}",
			head + "apiServer:\n  extraArgs: [" + authorization +
				", {name: enable-admission-plugins, value: ''}, {name: disable-admission-plugins, value: NodeRestriction}, " +
				"{name: admission-control-config-file, value: /b/apiserver/admission.yaml}]" + volume, inPlace()},
		{"no apiServer at all", head,
			head + "apiServer:\n  extraArgs: [" + ours + ", " + exact + "]" + volume, testWiring},
		{"arguments and volumes of others stay", head + `apiServer:
  certSANs: [localhost]
  extraArgs:
  - {name: runtime-config, value: ""}
  extraVolumes:
  - {name: audit, hostPath: /audit, mountPath: /audit}`,
			head + `apiServer:
  certSANs: [localhost]
  extraArgs:
  - {name: runtime-config, value: ""}
  - ` + authorization + `
  - {name: admission-control-config-file, value: /b/apiserver/admission.yaml}
  - ` + exact + `
  extraVolumes:
  - {name: audit, hostPath: /audit, mountPath: /audit}
  - {name: bulkhead-apiserver, hostPath: /b/apiserver, mountPath: /b/apiserver, readOnly: true, pathType: Directory}`,
			testWiring},
		{"modes of its own are kept for later",
			head + "apiServer:\n  extraArgs:\n  - {name: authorization-mode, value: 'RBAC,Node'}",
			head + "apiServer:\n  extraArgs: [" + ours + ", " + exact + "]" + volume, testWiring},
		{"another admission file is kept for later, and keeps its volume",
			head + `apiServer:
  extraArgs:
  - {name: admission-control-config-file, value: /other/admission.yaml}
  - {name: v, value: "2"}
  extraVolumes:
  - {name: other, hostPath: /other, mountPath: /other}`,
			head + `apiServer:
  extraArgs:
  - {name: admission-control-config-file, value: /b/apiserver/admission.yaml}
  - {name: v, value: "2"}
  - ` + authorization + `
  - ` + exact + `
  extraVolumes:
  - {name: other, hostPath: /other, mountPath: /other}
  - {name: bulkhead-apiserver, hostPath: /b/apiserver, mountPath: /b/apiserver, readOnly: true, pathType: Directory}`,
			testWiring},
		{"plugins of its own lose one",
			head + "apiServer:\n  extraArgs:\n  - {name: enable-admission-plugins, value: 'X,NodeRestriction'}",
			head + "apiServer:\n  extraArgs: [{name: enable-admission-plugins, value: X}, " + authorization +
				", {name: disable-admission-plugins, value: NodeRestriction}, {name: admission-control-config-file, value: " +
				"/b/apiserver/admission.yaml}]" + volume, inPlace()},
		{"plugins of its own gain one", head + "apiServer:\n  extraArgs:\n  - {name: enable-admission-plugins, value: X}",
			head + "apiServer:\n  extraArgs: [{name: enable-admission-plugins, value: 'X,NodeRestriction'}, " + ours + ", " +
				exact + "]" + volume, testWiring},
		{"a plugin that was off is on, and off again",
			head + "apiServer:\n  extraArgs:\n  - {name: enable-admission-plugins, value: ''}\n  - {name: " +
				"disable-admission-plugins, value: NodeRestriction}",
			head + "apiServer:\n  extraArgs: [{name: enable-admission-plugins, value: NodeRestriction}, " + ours + ", " + exact +
				"]" + volume, testWiring},
		{"arguments in the older form stay in it",
			head + "apiServer:\n  extraArgs: {authorization-mode: 'Node,RBAC', v: '2'}",
			head + "apiServer:\n  extraArgs: {v: '2', authorization-config: /b/apiserver/authorization.yaml, " +
				"admission-control-config-file: /b/apiserver/admission.yaml, service-account-extend-token-expiration: 'false'}" +
				volume, testWiring},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := Read(tc.before)
			wired, err := Wire(tc.before, tc.w, before)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tree(t, tc.wired), tree(t, wired)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if again, err := Wire(wired, tc.w, before); err != nil || again != wired {
				t.Errorf("wiring twice is not wiring once (%v):\n%s", err, cmp.Diff(wired, again))
			}
			if !Wired(wired, tc.w) || !AdmissionWired(wired, tc.w) || Wired(tc.before, tc.w) {
				t.Error("Wired does not tell the two apart")
			}
			back, err := Unwire(wired, tc.w, before)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(withoutEmpty(t, tc.before), withoutEmpty(t, back)); diff != "" {
				t.Errorf("what comes back differs (-before +back):\n%s", diff)
			}
		})
	}
}

// Only the name of Bulkhead's admission file is another one. The other flags are Bulkhead's.
func TestUserReplacesTheAdmissionFile(t *testing.T) {
	hardened := testWiring
	hardened.Admission.KubeletCA, hardened.Admission.VerifyKubelets = "/pki/ca.crt", true
	for profile, w := range map[string]Wiring{"hardened": hardened, "parity": inPlace()} {
		t.Run(profile, func(t *testing.T) {
			wired, err := Wire(head, w, Before{})
			if err != nil {
				t.Fatal(err)
			}
			back, err := Unwire(strings.ReplaceAll(wired, w.Admission.ConfigFile, "/etc/other.yaml"), w, Before{})
			if err != nil {
				t.Fatal(err)
			}
			want := head + "apiServer:\n  extraArgs: [{name: admission-control-config-file, value: /etc/other.yaml}]"
			if diff := cmp.Diff(tree(t, want), tree(t, back)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestAHostThatKnowsNothingOfBefore is about the second host of a cluster. It finds a configuration
// that already contains the edits.
func TestAHostThatKnowsNothingOfBefore(t *testing.T) {
	for name, w := range map[string]Wiring{"over in-tree": testWiring, "in its place": inPlace()} {
		t.Run(name, func(t *testing.T) {
			before := head + "apiServer:\n  certSANs: [localhost]\n"
			wired, err := Wire(before, w, Read(before))
			if err != nil {
				t.Fatal(err)
			}
			if again, err := Wire(wired, w, Before{}); err != nil || again != wired {
				t.Errorf("it edits it again (%v):\n%s", err, cmp.Diff(wired, again))
			}
			back, err := Unwire(wired, w, Before{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tree(t, before), tree(t, back)); diff != "" {
				t.Errorf("what comes back differs (-before +back):\n%s", diff)
			}
		})
	}
}

func TestWireKeepsTextThatIsAlreadyWired(t *testing.T) {
	wired, err := Wire(head, testWiring, Before{})
	if err != nil {
		t.Fatal(err)
	}
	laidOut := "# by another program\n" + wired
	if again, err := Wire(laidOut, testWiring, Before{}); err != nil || again != laidOut {
		t.Errorf("%v:\n%s", err, cmp.Diff(laidOut, again))
	}
}

func TestUnwireKeepsForeignSettings(t *testing.T) {
	other := head + "apiServer:\n  extraArgs:\n  - {name: authorization-config, value: /other.yaml}\n"
	if back, err := Unwire(other, testWiring, Before{Modes: "Node,RBAC"}); err != nil || back != other {
		t.Errorf("%v:\n%s", err, cmp.Diff(other, back))
	}
}

func TestWireRejectsUnknownConfigurations(t *testing.T) {
	for _, text := range []string{"{", "kind: InitConfiguration", head + "apiServer: {extraArgs: 3}"} {
		if _, err := Wire(text, testWiring, Before{}); err == nil {
			t.Errorf("%q passes", text)
		}
	}
}

func tree(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// withoutEmpty removes an empty apiServer, which means the same as no apiServer.
func withoutEmpty(t *testing.T, text string) map[string]any {
	t.Helper()
	object := tree(t, text)
	if server, _ := object["apiServer"].(map[string]any); len(server) == 0 {
		delete(object, "apiServer")
	}
	return object
}
