// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package clusterapi validates the examples for Cluster API by its CustomResourceDefinitions, as an
// API server does. It is a module of its own: no other code of Bulkhead imports Cluster API.
package clusterapi

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	// The CustomResourceDefinitions are in this module.
	_ "sigs.k8s.io/cluster-api/version"
)

// examples is outside of this module, so the cache of go test does not see a change there. After a
// change, run the tests with -count=1.
const examples = "../../../manifests/examples/cluster-api/"

// definition returns the schema of one version of a resource.
func definition(t *testing.T, file, version string) *apiextensions.JSONSchemaProps {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output()
	if err != nil {
		t.Fatalf("cannot find the module of Cluster API: %v", err)
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), file))
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(data, &crd); err != nil {
		t.Fatal(err)
	}
	for _, v := range crd.Spec.Versions {
		if v.Name != version || !v.Served {
			continue
		}
		props := &apiextensions.JSONSchemaProps{}
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, props,
			nil); err != nil {
			t.Fatal(err)
		}
		return props
	}
	t.Fatalf("%s does not serve %s", file, version)
	return nil
}

// validate does what an API server does with a new object, with strict field validation.
func validate(t *testing.T, props *apiextensions.JSONSchemaProps, object map[string]any) error {
	t.Helper()
	structural, err := schema.NewStructural(props)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		t.Fatal(err)
	}
	errs := validation.ValidateCustomResource(nil, object, validator)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, structural, object)...)
	if rules := cel.NewValidator(structural, true, celconfig.PerCallLimit); rules != nil {
		broken, _ := rules.Validate(t.Context(), nil, structural, object, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, broken...)
	}
	unknown := pruning.PruneWithOptions(object, structural, true,
		schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	if len(unknown) > 0 {
		return errors.Join(errs.ToAggregate(), fmt.Errorf("unknown fields %q", unknown))
	}
	return errs.ToAggregate()
}

// kinds are the examples and the files with their schemas.
var kinds = []struct{ example, crd, kind, group string }{
	{"control-plane.yaml",
		"controlplane/kubeadm/config/crd/bases/controlplane.cluster.x-k8s.io_kubeadmcontrolplanes.yaml",
		"KubeadmControlPlane", "controlplane.cluster.x-k8s.io"},
	{"workers.yaml", "bootstrap/kubeadm/config/crd/bases/bootstrap.cluster.x-k8s.io_kubeadmconfigtemplates.yaml",
		"KubeadmConfigTemplate", "bootstrap.cluster.x-k8s.io"},
}

func readObject(t *testing.T, name string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(examples + name)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := yaml.UnmarshalStrict(data, &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestExamplesAreValidForClusterAPI(t *testing.T) {
	if files, err := filepath.Glob(examples + "*"); err != nil || len(files) != len(kinds) {
		t.Errorf("%v: %d kinds are validated: %v", files, len(kinds), err)
	}
	for _, tc := range kinds {
		t.Run(tc.example, func(t *testing.T) {
			object := readObject(t, tc.example)
			if object["kind"] != tc.kind || object["apiVersion"] != tc.group+"/v1beta2" {
				t.Errorf("it is a %v of %v", object["kind"], object["apiVersion"])
			}
			if err := validate(t, definition(t, tc.crd, "v1beta2"), object); err != nil {
				t.Error(err)
			}
		})
	}
}

// Each change differs in one field from the example, which is valid.
func TestInvalidObjectsAreRejected(t *testing.T) {
	props := definition(t, kinds[0].crd, "v1beta2")
	for name, change := range map[string]func(spec, kubeadm map[string]any){
		"an unknown field": func(_, kubeadm map[string]any) { kubeadm["postKubeadmCommand"] = []any{"true"} },
		"a command that is not a string": func(_, kubeadm map[string]any) {
			kubeadm["postKubeadmCommands"] = []any{map[string]any{"a": "b"}}
		},
		"no version":         func(spec, _ map[string]any) { delete(spec, "version") },
		"no machineTemplate": func(spec, _ map[string]any) { delete(spec, "machineTemplate") },
		"a file without a path": func(_, kubeadm map[string]any) {
			kubeadm["files"] = []any{map[string]any{"content": "a"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := readObject(t, kinds[0].example)
			spec, _ := object["spec"].(map[string]any)
			kubeadm, _ := spec["kubeadmConfigSpec"].(map[string]any)
			change(spec, kubeadm)
			if err := validate(t, props, object); err == nil {
				t.Error("it is valid")
			}
		})
	}
}
