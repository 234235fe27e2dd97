// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeadmconfig

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

var testWiring = Wiring{VolumeName: "bulkhead-apiserver", Dir: "/b/apiserver", ConfigFile: "/b/apiserver/authorization.yaml"}

const head = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nclusterName: kind\n"

const volume = `
  extraVolumes:
  - {name: bulkhead-apiserver, hostPath: /b/apiserver, mountPath: /b/apiserver, readOnly: true, pathType: Directory}`

func TestWireAndBack(t *testing.T) {
	const ours = "{name: authorization-config, value: /b/apiserver/authorization.yaml}"
	for _, tc := range []struct{ name, before, wired, modes string }{
		{"kubeadm's defaults", head + "apiServer: {}",
			head + "apiServer:\n  extraArgs: [" + ours + "]" + volume, ""},
		{"no apiServer at all", head,
			head + "apiServer:\n  extraArgs: [" + ours + "]" + volume, ""},
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
  - ` + ours + `
  extraVolumes:
  - {name: audit, hostPath: /audit, mountPath: /audit}
  - {name: bulkhead-apiserver, hostPath: /b/apiserver, mountPath: /b/apiserver, readOnly: true, pathType: Directory}`, ""},
		{"modes of its own are kept for later", head + "apiServer:\n  extraArgs:\n  - {name: authorization-mode, value: 'RBAC,Node'}",
			head + "apiServer:\n  extraArgs: [" + ours + "]" + volume, "RBAC,Node"},
		{"arguments in the older form stay in it", head + "apiServer:\n  extraArgs: {authorization-mode: 'Node,RBAC', v: '2'}",
			head + "apiServer:\n  extraArgs: {v: '2', authorization-config: /b/apiserver/authorization.yaml}" + volume, "Node,RBAC"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			wired, modes, err := Wire(tc.before, testWiring)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tree(t, tc.wired), tree(t, wired)); diff != "" || modes != tc.modes {
				t.Errorf("modes %q, want %q; -want +got:\n%s", modes, tc.modes, diff)
			}
			if again, _, err := Wire(wired, testWiring); err != nil || again != wired {
				t.Errorf("wiring twice is not wiring once (%v):\n%s", err, cmp.Diff(wired, again))
			}
			if !Wired(wired, testWiring) || Wired(tc.before, testWiring) {
				t.Error("Wired does not tell the two apart")
			}
			back, err := Unwire(wired, testWiring, modes)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(withoutEmpty(t, tc.before), withoutEmpty(t, back)); diff != "" {
				t.Errorf("what comes back differs (-before +back):\n%s", diff)
			}
		})
	}
}

func TestUnwireLeavesAloneWhatIsNotOurs(t *testing.T) {
	other := head + "apiServer:\n  extraArgs:\n  - {name: authorization-config, value: /other.yaml}\n"
	if back, err := Unwire(other, testWiring, "Node,RBAC"); err != nil || back != other {
		t.Errorf("%v:\n%s", err, cmp.Diff(other, back))
	}
}

func TestWireRefusesWhatItDoesNotUnderstand(t *testing.T) {
	for _, text := range []string{"{", "kind: InitConfiguration", head + "apiServer: {extraArgs: 3}"} {
		if _, _, err := Wire(text, testWiring); err == nil {
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

// withoutEmpty drops an empty apiServer, which means the same as none.
func withoutEmpty(t *testing.T, text string) map[string]any {
	t.Helper()
	object := tree(t, text)
	if server, _ := object["apiServer"].(map[string]any); len(server) == 0 {
		delete(object, "apiServer")
	}
	return object
}
