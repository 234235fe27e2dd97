// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := FS.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// decode fails on unknown and duplicate fields, like an API server with strict validation.
func decode[T runtime.Object](t *testing.T, name string) T {
	t.Helper()
	known := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(known), auditv1.AddToScheme(known)); err != nil {
		t.Fatal(err)
	}
	strict := serializer.NewCodecFactory(known, serializer.EnableStrict).UniversalDeserializer()
	object, _, err := strict.Decode(read(t, name), nil, nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	typed, ok := object.(T)
	if !ok {
		t.Fatalf("%s holds a %T", name, object)
	}
	return typed
}

// configurations is the prefix of files that Bulkhead's programs read. Kubernetes does not read
// them. The tests of the installer check them.
const configurations = "configuration-"

// filesOf returns the YAML files that are API objects or static pods.
func filesOf(t *testing.T) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if entry != nil && !entry.IsDir() && path.Ext(name) == ".yaml" && !strings.Contains(name, "/apiserver/") &&
			!strings.HasPrefix(path.Base(name), configurations) {
			names = append(names, name)
		}
		return err
	})
	if err != nil || len(names) == 0 {
		t.Fatalf("found %v: %v", names, err)
	}
	return names
}

func TestEveryFileIsOneValidObject(t *testing.T) {
	for _, name := range filesOf(t) {
		t.Run(name, func(t *testing.T) {
			if bytes.Contains(read(t, name), []byte("\n---")) {
				t.Error("more than one document")
			}
			if path.Base(name) == "kustomization.yaml" {
				return
			}
			decode[runtime.Object](t, name)
		})
	}
}

func TestKustomizationsNameEveryObject(t *testing.T) {
	for _, name := range filesOf(t) {
		if path.Base(name) != "kustomization.yaml" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var kustomization struct {
				APIVersion string   `json:"apiVersion"`
				Kind       string   `json:"kind"`
				Resources  []string `json:"resources"`
			}
			if err := yaml.UnmarshalStrict(read(t, name), &kustomization); err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, other := range filesOf(t) {
				base := path.Base(other)
				if path.Dir(other) == path.Dir(name) && base != "kustomization.yaml" && base != "static-pod.yaml" {
					want = append(want, base)
				}
			}
			if diff := cmp.Diff(want, kustomization.Resources); diff != "" {
				t.Errorf("resources (-files +named)\n%s", diff)
			}
		})
	}
}

// node-authorizer reads which objects belong to a node. It cannot read secrets, and cannot write.
// It reads one ConfigMap.
func TestNodeAuthorizerMayOnlyRead(t *testing.T) {
	got := map[string]string{}
	for _, rule := range decode[*rbacv1.ClusterRole](t, "node-authorizer/clusterrole.yaml").Rules {
		for _, resource := range rule.Resources {
			got[strings.Join(rule.APIGroups, ",")+"/"+resource] = strings.Join(rule.Verbs, ",")
		}
	}
	want := map[string]string{
		"/pods":                                          "get,list,watch",
		"/persistentvolumes":                             "get,list,watch",
		"/persistentvolumeclaims":                        "get,list,watch",
		"/nodes":                                         "get,list,watch",
		"storage.k8s.io/volumeattachments":               "get,list,watch",
		"resource.k8s.io/resourceslices":                 "get,list,watch",
		"certificates.k8s.io/podcertificaterequests":     "get,list,watch",
		"certificates.k8s.io/certificatesigningrequests": "get,list,watch",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	binding := decode[*rbacv1.ClusterRoleBinding](t, "node-authorizer/clusterrolebinding.yaml")
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "bulkhead:node-authorizer"}}
	if diff := cmp.Diff(subjects, binding.Subjects); diff != "" {
		t.Errorf("subjects (-want +got)\n%s", diff)
	}
	list := decode[*corev1.ConfigMap](t, "node-authorizer/configmap.yaml")
	role := decode[*rbacv1.Role](t, "node-authorizer/role.yaml")
	rules := []rbacv1.PolicyRule{{
		Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"configmaps"},
		ResourceNames: []string{revocationlist.Name},
	}}
	if diff := cmp.Diff(rules, role.Rules); diff != "" || role.Namespace != revocationlist.Namespace ||
		list.Name != revocationlist.Name || list.Namespace != revocationlist.Namespace || len(list.Data) > 0 {
		t.Errorf("list of revoked credentials %s/%s, role in %s: (-want +got)\n%s", list.Namespace, list.Name, role.Namespace,
			diff)
	}
	if diff := cmp.Diff(subjects,
		decode[*rbacv1.RoleBinding](t, "node-authorizer/rolebinding.yaml").Subjects); diff != "" {
		t.Errorf("subjects (-want +got)\n%s", diff)
	}
}

// node-restriction writes one ConfigMap, by name: its records. It only reads or counts other
// objects, and creates subject access reviews.
func TestNodeRestrictionMayOnlyWriteItsRecords(t *testing.T) {
	got := map[string]string{}
	for _, rule := range decode[*rbacv1.ClusterRole](t, "node-restriction/clusterrole.yaml").Rules {
		for _, resource := range rule.Resources {
			got[strings.Join(rule.APIGroups, ",")+"/"+resource] = strings.Join(rule.Verbs, ",")
		}
	}
	want := map[string]string{
		"/namespaces":                                    "get",
		"/serviceaccounts":                               "get",
		"/persistentvolumeclaims":                        "get",
		"/persistentvolumes":                             "get",
		"storage.k8s.io/csidrivers":                      "get",
		"networking.k8s.io/ipaddresses":                  "get",
		"/pods":                                          "get,list",
		"/nodes":                                         "get,list,watch",
		"resource.k8s.io/resourceslices":                 "list",
		"certificates.k8s.io/podcertificaterequests":     "list",
		"certificates.k8s.io/certificatesigningrequests": "list",
		"authorization.k8s.io/subjectaccessreviews":      "create",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	memory := decode[*corev1.ConfigMap](t, "node-restriction/configmap.yaml")
	role := decode[*rbacv1.Role](t, "node-restriction/role.yaml")
	rules := []rbacv1.PolicyRule{{
		Verbs: []string{"get", "list", "watch", "update", "patch"}, APIGroups: []string{""},
		Resources: []string{"configmaps"}, ResourceNames: []string{memory.Name},
	}}
	if diff := cmp.Diff(rules, role.Rules); diff != "" || role.Namespace != memory.Namespace || len(memory.Data) > 0 {
		t.Errorf("in %s, for %s: (-want +got)\n%s", role.Namespace, memory.Namespace, diff)
	}
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "bulkhead:node-restriction"}}
	if diff := cmp.Diff(subjects,
		decode[*rbacv1.ClusterRoleBinding](t, "node-restriction/clusterrolebinding.yaml").Subjects); diff != "" {
		t.Errorf("subjects (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(subjects,
		decode[*rbacv1.RoleBinding](t, "node-restriction/rolebinding.yaml").Subjects); diff != "" {
		t.Errorf("subjects (-want +got)\n%s", diff)
	}
}

func TestStaticPodsAreConfined(t *testing.T) {
	for file, dir := range map[string]string{
		NodeAuthorizerStaticPod:  "/etc/kubernetes/bulkhead/node-authorizer",
		NodeRestrictionStaticPod: "/etc/kubernetes/bulkhead/node-restriction",
	} {
		t.Run(file, func(t *testing.T) { checkConfined(t, file, dir) })
	}
}

func checkConfined(t *testing.T, file, dir string) {
	t.Helper()
	pod := decode[*corev1.Pod](t, file)
	container := pod.Spec.Containers[0]
	hostPaths := map[string]corev1.HostPathType{}
	for _, volume := range pod.Spec.Volumes {
		hostPaths[volume.HostPath.Path] = *volume.HostPath.Type
	}
	type confinement struct {
		HostNetwork, NonRoot, ReadOnlyRoot, Escalation, Token bool
		User                                                  int64
		Seccomp                                               corev1.SeccompProfileType
		Added, Dropped                                        []corev1.Capability
		HostPaths                                             map[string]corev1.HostPathType
		ReadOnlyMounts                                        bool
		Priority                                              string
	}
	got := confinement{
		pod.Spec.HostNetwork, *pod.Spec.SecurityContext.RunAsNonRoot, *container.SecurityContext.ReadOnlyRootFilesystem,
		*container.SecurityContext.AllowPrivilegeEscalation, *pod.Spec.AutomountServiceAccountToken,
		*pod.Spec.SecurityContext.RunAsUser, pod.Spec.SecurityContext.SeccompProfile.Type,
		container.SecurityContext.Capabilities.Add, container.SecurityContext.Capabilities.Drop,
		hostPaths, container.VolumeMounts[0].ReadOnly, pod.Spec.PriorityClassName,
	}
	want := confinement{
		true, true, true, false, false, 65532, corev1.SeccompProfileTypeRuntimeDefault, nil, []corev1.Capability{"ALL"},
		map[string]corev1.HostPathType{dir: corev1.HostPathDirectory}, true, "system-node-critical",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, probe := range []*corev1.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
		if probe.HTTPGet.Host != "127.0.0.1" {
			t.Errorf("probe of %s asks %q", probe.HTTPGet.Path, probe.HTTPGet.Host)
		}
	}
}
