// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package render turns the embedded manifests into the files and API objects of one host.
package render

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"path"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/staticpod"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// HostFile returns a manifest with the paths of this host.
func HostFile(l host.Layout, name string) ([]byte, error) {
	data, err := manifests.FS.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return []byte(strings.ReplaceAll(string(data), host.DefaultStateDir, l.State)), nil
}

// Pod returns the static pod of a component with this image.
func Pod(l host.Layout, manifest, container, image string) (*staticpod.Pod, error) {
	data, err := HostFile(l, manifest)
	if err != nil {
		return nil, err
	}
	pod, err := staticpod.Parse(data, container)
	if err != nil {
		return nil, err
	}
	pod.SetImage(image)
	return pod, nil
}

// Kubeconfig returns the kubeconfig with which the component in dir connects to the API server on
// its host.
func Kubeconfig(endpoint, dir, user string) ([]byte, error) {
	const name = "kube-apiserver"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{
		Server: endpoint, CertificateAuthority: path.Join(dir, "kube-ca.crt"),
	}
	client := host.PairIn(dir, "client")
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{
		ClientCertificate: client.CertFile, ClientKey: client.KeyFile,
	}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	config.CurrentContext = name
	return clientcmd.Write(*config)
}

// parsed has the objects of each manifest and directory that was read. YAML is slow to parse, and a
// rollback needs the same manifests for each API object.
var parsed sync.Map

// once returns copies of the objects that read returns. It calls read only once for each name.
func once(name string, read func(string) ([]*unstructured.Unstructured, error)) ([]*unstructured.Unstructured, error) {
	have, found := parsed.Load(name)
	if !found {
		objects, err := read(name)
		if err != nil {
			return nil, err
		}
		have, _ = parsed.LoadOrStore(name, objects)
	}
	shared, _ := have.([]*unstructured.Unstructured)
	objects := make([]*unstructured.Unstructured, len(shared))
	for i, object := range shared {
		objects[i] = object.DeepCopy()
	}
	return objects, nil
}

// Objects returns the API objects that the kustomization in a directory of manifests lists.
func Objects(dir string) ([]*unstructured.Unstructured, error) { return once(dir, kustomization) }

func kustomization(dir string) ([]*unstructured.Unstructured, error) {
	index, err := manifests.FS.ReadFile(path.Join(dir, "kustomization.yaml"))
	if err != nil {
		return nil, err
	}
	var list struct {
		Resources []string `json:"resources"`
	}
	if err := yaml.Unmarshal(index, &list); err != nil {
		return nil, fmt.Errorf("reading kustomization: %w", err)
	}
	var objects []*unstructured.Unstructured
	for _, name := range list.Resources {
		inFile, err := documents(path.Join(dir, name))
		if err != nil {
			return nil, err
		}
		objects = append(objects, inFile...)
	}
	return objects, nil
}

// Manifest returns the objects in one manifest.
func Manifest(name string) ([]*unstructured.Unstructured, error) { return once(name, documents) }

func documents(name string) ([]*unstructured.Unstructured, error) {
	data, err := manifests.FS.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for document := range bytes.SplitSeq(data, []byte("\n---\n")) {
		object, err := Object(document)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// Object reads one object. Its numbers have the same types as in an object from the API server.
func Object(manifest []byte) (*unstructured.Unstructured, error) {
	data, err := yaml.YAMLToJSON(manifest)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	return object, utiljson.Unmarshal(data, &object.Object)
}

// Registration returns the webhook configuration in a manifest. bundle is the CA bundle with which
// kube-apiserver verifies the webhook.
func Registration(manifest string, bundle []byte) (*unstructured.Unstructured, error) {
	objects, err := Manifest(manifest)
	if err != nil {
		return nil, err
	}
	object := objects[0]
	webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
	for _, w := range webhooks {
		webhook, _ := w.(map[string]any)
		if err := unstructured.SetNestedField(webhook, base64.StdEncoding.EncodeToString(bundle), "clientConfig",
			"caBundle"); err != nil {
			return nil, err
		}
	}
	return object, unstructured.SetNestedSlice(object.Object, webhooks, "webhooks")
}

// RegistrationFile returns [Registration] as YAML.
func RegistrationFile(manifest string, bundle []byte) ([]byte, error) {
	object, err := Registration(manifest, bundle)
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(object.Object)
}

// Contains reports whether have contains everything in want. Lists must be equal: in RBAC, an
// additional entry is an additional right.
func Contains(have, want map[string]any) bool {
	for key, wanted := range want {
		inner, isMap := wanted.(map[string]any)
		if there, ok := have[key].(map[string]any); isMap && ok {
			if !Contains(there, inner) {
				return false
			}
			continue
		}
		if !equality.Semantic.DeepEqual(have[key], wanted) {
			return false
		}
	}
	return true
}

// IgnoreFailures sets failurePolicy Ignore for all webhooks of a configuration.
func IgnoreFailures(registration *unstructured.Unstructured) error {
	webhooks, _, err := unstructured.NestedSlice(registration.Object, "webhooks")
	if err != nil {
		return err
	}
	for _, w := range webhooks {
		if webhook, ok := w.(map[string]any); ok {
			webhook["failurePolicy"] = "Ignore"
		}
	}
	return unstructured.SetNestedSlice(registration.Object, webhooks, "webhooks")
}
