// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/install/render"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

const (
	// registeredName is the name of the webhook configuration in the API. The name in the manifest
	// is reserved for configurations from disk.
	registeredName = "node-restriction.bulkhead.dev"
)

// admission returns kube-apiserver's admission configuration. A server that does not read webhooks
// from disk does not start if the file has an unknown field.
func admission(l host.Layout, o Options, fromDisk bool) ([]byte, error) {
	data, err := render.HostFile(l, manifests.Admission)
	if err != nil || fromDisk && o.GuardsKubelets() {
		return data, err
	}
	config, err := apiserver.ParseAdmission(data)
	if err != nil {
		return nil, err
	}
	// Policies from disk are only used if the kubelets' API is protected.
	config.Plugins = slices.DeleteFunc(config.Plugins,
		func(p apiserver.Plugin) bool { return p.Name == apiserver.PolicyPlugin })
	for _, plugin := range config.Plugins {
		if !fromDisk {
			delete(plugin.Configuration, "staticManifestsDir")
		}
	}
	return yaml.Marshal(config)
}

// bundleOf returns the CA bundle of a webhook configuration.
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
	bundle, _ := base64.StdEncoding.DecodeString(text) // an invalid bundle is replaced
	return bundle
}

// withCA adds a CA to a bundle. All hosts share one configuration in the API, but each host has its
// own CA.
func withCA(bundle, ca []byte) []byte {
	if bytes.Contains(bundle, bytes.TrimSpace(ca)) {
		return bundle
	}
	if text := strings.TrimSpace(string(bundle)); text != "" {
		return []byte(text + "\n" + string(ca))
	}
	return ca
}

// floorReturns is true if in-tree NodeRestriction is off until kube-apiserver restarts.
// node-restriction must check leases and CSINodes until then
// (manifests/node-restriction/apiserver/static). A running server reads a new registration at once,
// so this run writes it last. Otherwise these writes would be unchecked for a while. A rollback
// restores the old registration at once, while the in-tree plugin still runs.
func (p *plan) floorReturns() bool {
	return p.fromDisk && p.before != nil && p.before.Profile == Parity && p.Profile == Hardened
}

// letGo writes the registration of the new profile and waits until kube-apiserver uses it.
func (p *plan) letGo(ctx context.Context) (changed bool, err error) {
	if changed, err = p.writeRegistration(); err != nil {
		return changed, err
	}
	return changed, p.Until(ctx, p.Timeout, "kube-apiserver with the new registration", func(ctx context.Context) error {
		process, err := p.serving(ctx)
		if err != nil {
			return err
		}
		want, err := p.staticHash(p.Layout.StaticManifests())
		if err != nil {
			return err
		}
		if process.AdmissionHash != want {
			return fmt.Errorf("it runs with the webhooks from disk %q, not %q", process.AdmissionHash, want)
		}
		return p.nodeCanWrite(ctx)
	})
}

// registrationComesLate is true for a rollback from Parity. In-tree NodeRestriction starts with the
// old server. Until then, kube-apiserver must call node-restriction with the current registration.
func (in *Installer) registrationComesLate(j *journal.Journal) bool {
	return j.Operation == installOperation(Parity) && j.Touched(in.Layout.APIServerManifest()) &&
		j.Touched(in.Layout.Registration())
}

// installOperation is the name of an installation in the journal.
func installOperation(p Profile) string { return "install " + string(p) }
