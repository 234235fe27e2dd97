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

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/install/render"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

const (
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
func admission(l host.Layout, o Options, fromDisk bool) ([]byte, error) {
	data, err := render.HostFile(l, manifests.Admission)
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

// floorReturns is true where in-tree NodeRestriction is off until kube-apiserver
// restarts. Ours is asked about leases and CSINodes only as long as it is off
// (manifests/node-restriction/apiserver/static), and a running server takes a new
// registration at once: so that one is written last, or nobody would check them
// meanwhile. On the way back it is put back at once, while in-tree's plugin still runs.
func (p *plan) floorReturns() bool {
	return p.fromDisk && p.before != nil && p.before.Profile == Parity && p.Profile == Hardened
}

// letGo writes the registration of the new profile and waits until kube-apiserver has
// taken it.
func (p *plan) letGo(ctx context.Context) (changed bool, err error) {
	if changed, err = p.writeRegistration(); err != nil {
		return changed, err
	}
	return changed, p.Until(ctx, p.Timeout, "kube-apiserver with the new registration", func(ctx context.Context) error {
		process, err := p.serving(ctx)
		if err != nil {
			return err
		}
		want, err := p.staticHash()
		if err != nil {
			return err
		}
		if process.AdmissionHash != want {
			return fmt.Errorf("it runs with the webhooks from disk %q, not %q", process.AdmissionHash, want)
		}
		return p.nodeCanWrite(ctx)
	})
}

// registrationComesLate is true where the way back is from Parity: in-tree
// NodeRestriction comes back with the old server, and until then ours has to be asked as
// it is now.
func (in *Installer) registrationComesLate(j *journal.Journal) bool {
	return j.Operation == installOperation(Parity) && j.Touched(in.Layout.APIServerManifest()) &&
		j.Touched(in.Layout.Registration())
}

// installOperation is the name of an installation in the journal.
func installOperation(p Profile) string { return "install " + string(p) }
