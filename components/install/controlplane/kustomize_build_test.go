// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"io/fs"
	"os"
	"path"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/components/install/render"
)

// overlay is a kustomization of a user, in a directory beside those of manifests/kustomize.
type overlay struct {
	Resources  []string            `json:"resources"`
	Components []string            `json:"components,omitempty"`
	Images     []map[string]string `json:"images,omitempty"`
	Labels     []map[string]any    `json:"labels,omitempty"`
}

// build renders an overlay as `kubectl kustomize` does. It returns the objects by kind and name.
func build(t *testing.T, o overlay) map[string]*unstructured.Unstructured {
	t.Helper()
	data, err := yaml.Marshal(o)
	must(t, err)
	files := manifestFiles(t)
	must(t, files.WriteFile("/manifests/kustomize/overlay/kustomization.yaml", data))
	return buildIn(t, files, "/manifests/kustomize/overlay")
}

// manifestFiles returns a copy of the directory manifests.
func manifestFiles(t *testing.T) filesys.FileSystem {
	t.Helper()
	root, files := os.DirFS("../../../manifests"), filesys.MakeFsInMemory()
	must(t, fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".yaml" {
			return err
		}
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		return files.WriteFile(path.Join("/manifests", name), data)
	}))
	return files
}

func buildIn(t *testing.T, files filesys.FileSystem, dir string) map[string]*unstructured.Unstructured {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, dir)
	must(t, err)
	objects := map[string]*unstructured.Unstructured{}
	for _, resource := range built.Resources() {
		data, err := resource.AsYAML()
		must(t, err)
		object, err := render.Object(data)
		must(t, err)
		objects[object.GetKind()+"/"+object.GetName()] = object
	}
	if len(objects) != built.Size() {
		t.Fatalf("%d of %d objects have a kind and a name of their own", len(objects), built.Size())
	}
	return objects
}
