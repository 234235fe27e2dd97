// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bulkhead-k8s/bulkhead/components/install/scope"
)

const (
	// releaseImage is the image in the manifests.
	releaseImage = "ghcr.io/bulkhead-k8s/bulkhead:dev"
	proxyKey     = "DaemonSet/bulkhead-kubelet-auth-proxy"
)

// applies returns what `bulkhead install` applies with these options on a new cluster.
func applies(t *testing.T, o Options) map[string]*unstructured.Unstructured {
	t.Helper()
	must(t, o.validate())
	p := &plan{Installer: &Installer{}, Options: o, kubeletClient: kubeadmKubeletClient}
	all, err := p.objects()
	must(t, err)
	if o.GuardsKubelets() {
		proxy, err := proxyObjects()
		must(t, err)
		for _, object := range proxy {
			must(t, p.finish(t.Context(), object, nil))
			forgetHash(object)
		}
		all = append(all, proxy...)
	}
	objects := map[string]*unstructured.Unstructured{}
	for _, object := range all {
		objects[object.GetKind()+"/"+object.GetName()] = object
	}
	return objects
}

// forgetHash removes the annotation that the installer adds for its later runs.
func forgetHash(object *unstructured.Unstructured) {
	annotations := object.GetAnnotations()
	delete(annotations, manifestHash)
	if len(annotations) == 0 {
		annotations = nil
	}
	object.SetAnnotations(annotations)
}

// with returns options for a profile with the image of the manifests.
func with(p Profile, change func(*Options)) Options {
	o := options(p)
	o.Image = releaseImage
	if change != nil {
		change(&o)
	}
	return o
}

// kustomizations are the bases and components, and the options of the same installation.
var kustomizations = []struct {
	name    string
	overlay overlay
	options Options
}{
	{"hardened", overlay{Resources: []string{"../hardened"}}, with(Hardened, nil)},
	{"hardened with another image", overlay{Resources: []string{"../hardened"}, Images: []map[string]string{
		{"name": "ghcr.io/bulkhead-k8s/bulkhead", "newName": "registry.example/bulkhead", "newTag": "v1"}}},
		with(Hardened, func(o *Options) { o.Image = "registry.example/bulkhead:v1" })},
	{"hardened without the kubelets' API", overlay{Resources: []string{"../base"}},
		with(Hardened, func(o *Options) { o.KubeletAPI = new(false) })},
	{"base with the kubelets' API", overlay{Resources: []string{"../base"},
		Components: []string{"../components/kubelet-api"}}, with(Hardened, nil)},
	{"hardened with node scope", overlay{Resources: []string{"../hardened"},
		Components: []string{"../components/node-scope"}},
		with(Hardened, func(o *Options) { o.NodeScope = scope.Options{On: true} })},
	{"hardened in mode audit", overlay{Resources: []string{"../hardened"}, Components: []string{"../components/audit"}},
		with(Hardened, func(o *Options) { o.Extensions.AuditOnly = true })},
	{"hardened in mode audit with node scope", overlay{Resources: []string{"../hardened"},
		Components: []string{"../components/audit", "../components/node-scope"}},
		with(Hardened, func(o *Options) { o.Extensions.AuditOnly, o.NodeScope = true, scope.Options{On: true} })},
	{"parity", overlay{Resources: []string{"../parity"}}, with(Parity, nil)},
	{"parity with node scope", overlay{Resources: []string{"../parity"},
		Components: []string{"../components/node-scope"}},
		with(Parity, func(o *Options) { o.NodeScope = scope.Options{On: true} })},
}

func TestKustomizationsRenderWhatInstallApplies(t *testing.T) {
	for _, tc := range kustomizations {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(applies(t, tc.options), build(t, tc.overlay)); diff != "" {
				t.Errorf("(-bulkhead install +kustomize)\n%s", diff)
			}
		})
	}
}

func TestExampleOfGitOpsRendersWhatInstallApplies(t *testing.T) {
	want := applies(t, with(Hardened, func(o *Options) {
		o.Image, o.NodeScope = "registry.example/bulkhead:v0.2.0", scope.Options{On: true}
	}))
	if diff := cmp.Diff(want, buildIn(t, manifestFiles(t), "/manifests/examples/gitops")); diff != "" {
		t.Errorf("(-bulkhead install +kustomize)\n%s", diff)
	}
}

// The component changes the affinity and nothing else, so that the installer keeps it: it applies
// no affinity.
func TestKustomizationExcludesNodesByAffinity(t *testing.T) {
	got := build(t, overlay{Resources: []string{"../hardened"}, Components: []string{"../components/exclude-nodes"}})
	at := []string{"spec", "template", "spec", "affinity"}
	affinity, _, err := unstructured.NestedMap(got[proxyKey].Object, at...)
	must(t, err)
	want := map[string]any{"nodeAffinity": map[string]any{"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{
		"nodeSelectorTerms": []any{map[string]any{"matchExpressions": []any{map[string]any{
			"key": "node-restriction.kubernetes.io/exclude-kubelet-auth-proxy", "operator": "DoesNotExist"}}}}}}}
	if diff := cmp.Diff(want, affinity); diff != "" {
		t.Errorf("affinity (-want +got)\n%s", diff)
	}
	unstructured.RemoveNestedField(got[proxyKey].Object, at...)
	if diff := cmp.Diff(applies(t, with(Hardened, nil)), got); diff != "" {
		t.Errorf("(-bulkhead install +kustomize without the affinity)\n%s", diff)
	}
}

// The component adds objects that the installer does not apply, and changes no other object.
func TestKustomizationAddsTheMachineTable(t *testing.T) {
	got := build(t, overlay{Resources: []string{"../hardened"}, Components: []string{"../components/machine-table"}})
	for _, name := range []string{"ClusterRole/bulkhead:machine-table-controller",
		"ClusterRoleBinding/bulkhead:machine-table-controller", "Deployment/bulkhead-machine-table-controller",
		"ServiceAccount/bulkhead-machine-table-controller"} {
		if got[name] == nil {
			t.Errorf("%s is missing", name)
		}
		delete(got, name)
	}
	if diff := cmp.Diff(applies(t, with(Hardened, nil)), got); diff != "" {
		t.Errorf("(-bulkhead install +kustomize without the controller)\n%s", diff)
	}
}

// Every base and component is compared with the installer.
func TestEveryKustomizationIsCompared(t *testing.T) {
	const root = "../../../manifests/kustomize"
	compared := []string{"components/exclude-nodes", "components/machine-table"}
	for _, tc := range kustomizations {
		for _, used := range slices.Concat(tc.overlay.Resources, tc.overlay.Components) {
			compared = append(compared, strings.TrimPrefix(used, "../"))
		}
	}
	slices.Sort(compared)
	var there []string
	must(t, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "kustomization.yaml" {
			there = append(there, strings.TrimPrefix(path.Dir(filepath.ToSlash(name)), root+"/"))
		}
		return err
	}))
	if diff := cmp.Diff(there, slices.Compact(compared)); diff != "" {
		t.Errorf("(-in manifests/kustomize +compared)\n%s", diff)
	}
}

// Objects that a GitOps tool applied before the installer stay as they are, also with the tool's
// labels. The installer applies the DaemonSet once, because it has no hash of its manifest yet.
func TestInstallKeepsObjectsFromGitOps(t *testing.T) {
	tool := overlay{Resources: []string{"../hardened"},
		Images: []map[string]string{
			{"name": "ghcr.io/bulkhead-k8s/bulkhead", "newName": "example.test/bulkhead", "newTag": "1"}},
		Labels: []map[string]any{{"pairs": map[string]any{"example.test/tool": "gitops"}}}}
	changed := func(h *testHost) (names []string) {
		for name, object := range h.objects {
			if object.GetResourceVersion() == "7" {
				names = append(names, name)
			}
			object.SetResourceVersion("1")
		}
		slices.Sort(names)
		return names
	}
	onHost(t, "the same settings: only the DaemonSet is applied, once", func(t *testing.T, h *testHost) {
		h.objects = build(t, tool)
		must(t, h.withKubelets(nil).Install(t.Context(), options(Hardened)))
		if diff := cmp.Diff([]string{proxyKey}, changed(h)); diff != "" {
			t.Errorf("first run (-want +changed)\n%s", diff)
		}
		must(t, h.withKubelets(nil).Install(t.Context(), options(Hardened)))
		if again := changed(h); len(again) > 0 {
			t.Errorf("second run changed %v", again)
		}
	})
	onHost(t, "one right more: that object is applied", func(t *testing.T, h *testHost) {
		h.objects = build(t, tool)
		const role = "ClusterRole/bulkhead:node-authorizer"
		rules, _, err := unstructured.NestedSlice(h.objects[role].Object, "rules")
		must(t, err)
		more := map[string]any{"apiGroups": []any{""}, "resources": []any{"secrets"}, "verbs": []any{"get"}}
		must(t, unstructured.SetNestedSlice(h.objects[role].Object, append(rules, more), "rules"))
		must(t, h.withKubelets(nil).Install(t.Context(), options(Hardened)))
		if diff := cmp.Diff([]string{role, proxyKey}, changed(h)); diff != "" {
			t.Errorf("(-want +changed)\n%s", diff)
		}
	})
}
