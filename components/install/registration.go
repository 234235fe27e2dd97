// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/manifests"
)

const (
	// restrictionAddress is where kube-apiserver finds node-restriction: by this name
	// it picks the certificate to show.
	restrictionAddress = "127.0.0.1:10463"
	// registeredName is what the registration is called where the API holds it. The
	// name of the manifest is kept for those from disk.
	registeredName = "node-restriction.bulkhead.dev"
)

// policyPlugin is the admission plugin of policies like ours.
const policyPlugin = "ValidatingAdmissionPolicy"

type admissionPlugin struct {
	Name          string         `json:"name"`
	Configuration map[string]any `json:"configuration"`
}

// admission is kube-apiserver's admission configuration. A server that takes no
// webhooks from disk does not start with a line that it does not know.
func (l Layout) admission(o Options, fromDisk bool) ([]byte, error) {
	data, err := l.hostFile(manifests.Admission)
	if err != nil || fromDisk && o.GuardsKubelets() {
		return data, err
	}
	var config struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Plugins    []admissionPlugin `json:"plugins"`
	}
	if err := yaml.UnmarshalStrict(data, &config); err != nil {
		return nil, fmt.Errorf("reading %s: %w", manifests.Admission, err)
	}
	// The policies from disk are for who guards kubelets.
	config.Plugins = slices.DeleteFunc(config.Plugins, func(p admissionPlugin) bool { return p.Name == policyPlugin })
	for _, plugin := range config.Plugins {
		if !fromDisk {
			delete(plugin.Configuration, "staticManifestsDir")
		}
	}
	return yaml.Marshal(config)
}

// registration is what kube-apiserver is told of node-restriction: where it is and
// whom to trust there.
// manifest is what says the rest.
func registration(manifest string, bundle []byte) (*unstructured.Unstructured, error) {
	data, err := manifests.FS.ReadFile(manifest)
	if err != nil {
		return nil, err
	}
	object, err := objectOf(data)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", manifest, err)
	}
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

// renderRegistration is a registration as a file.
func renderRegistration(manifest string, bundle []byte) ([]byte, error) {
	object, err := registration(manifest, bundle)
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(object.Object)
}

// bundleOf is whom a registration trusts.
func bundleOf(object *unstructured.Unstructured) []byte {
	if object == nil {
		return nil
	}
	webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
	if len(webhooks) == 0 {
		return nil
	}
	webhook, _ := webhooks[0].(map[string]any)
	text, _, _ := unstructured.NestedString(webhook, "clientConfig", "caBundle")
	bundle, _ := base64.StdEncoding.DecodeString(text) // what is no bundle is replaced
	return bundle
}

// withCA adds a CA to a bundle. One registration in the API is for all hosts, each
// of which has a CA of its own.
func withCA(bundle, ca []byte) []byte {
	if bytes.Contains(bundle, bytes.TrimSpace(ca)) {
		return bundle
	}
	if text := strings.TrimSpace(string(bundle)); text != "" {
		return []byte(text + "\n" + string(ca))
	}
	return ca
}
