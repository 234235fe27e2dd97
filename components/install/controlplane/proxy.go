// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/install/render"
	"github.com/bulkhead-k8s/bulkhead/components/install/scope"
	"github.com/bulkhead-k8s/bulkhead/components/install/staticpod"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// manifestHash is an annotation with the hash of an object's manifest. It is for objects with many
// defaults from the API server, which cannot be compared with their manifest.
const manifestHash = "bulkhead.dev/manifest-sha256"

// proxyObjects returns the API objects of kubelet-auth-proxy.
func proxyObjects() ([]*unstructured.Unstructured, error) {
	return render.Objects(host.KubeletAuthProxy)
}

// removable returns all API objects that an installation may have created. Workloads come before
// their rights.
func removable() ([]*unstructured.Unstructured, error) {
	objects, err := guards()
	if err != nil {
		return nil, err
	}
	others, err := unguardedObjects()
	return append(objects, others...), err
}

// unguardedObjects returns the objects that no kubelet depends on.
func unguardedObjects() ([]*unstructured.Unstructured, error) {
	policy, err := registeredNodesProxy(rules.Enforce)
	if err != nil {
		return nil, err
	}
	slices.Reverse(policy)
	objects, err := apiObjects()
	if err != nil {
		return nil, err
	}
	scope, err := scope.Objects(scope.Options{})
	return slices.Concat(policy, scope, objects), err
}

// runProxy applies the DaemonSet and the objects that it needs. On each node, the proxy is idle until
// `bulkhead node install` has created its files.
func (p *plan) runProxy(ctx context.Context) (changed bool, err error) {
	if !p.GuardsKubelets() {
		return p.stopProxy(ctx)
	}
	objects, err := proxyObjects()
	if err != nil {
		return false, err
	}
	for _, object := range objects {
		have, err := p.Objects.Get(ctx, object)
		if err != nil {
			return changed, err
		}
		if err := p.finish(ctx, object, have); err != nil {
			return changed, err
		}
		if p.applied(have, object) {
			continue
		}
		if err := p.applyObject(ctx, object, have); err != nil {
			return changed, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		changed = true
		p.noteLoopbackClients(have, object)
	}
	return changed, nil
}

// finish sets the image, the rule modes, the nodes, the annotation for the nodes, and the hash of the
// result in a DaemonSet. have is the current DaemonSet.
func (p *plan) finish(ctx context.Context, object, have *unstructured.Unstructured) error {
	if object.GetKind() != "DaemonSet" {
		return nil
	}
	selector := p.sharedNodeSelector(have)
	if err := errors.Join(p.keepProxies(ctx, have, selector), selectNodes(object, selector),
		p.setLoopbackClients(object, have)); err != nil {
		return err
	}
	modes, err := p.sharedModes(have)
	if err != nil {
		return err
	}
	containers, _, err := unstructured.NestedSlice(object.Object, containersPath...)
	if err != nil {
		return err
	}
	for _, c := range containers {
		container, ok := c.(map[string]any)
		if !ok {
			return fmt.Errorf("a container of %s is a %T", object.GetName(), c)
		}
		container["image"] = p.Image
		setFlags(container, modes)
	}
	if err := unstructured.SetNestedSlice(object.Object, containers, containersPath...); err != nil {
		return err
	}
	data, err := json.Marshal(object.Object)
	if err != nil {
		return err
	}
	return unstructured.SetNestedField(object.Object, journal.Hash(data), "metadata", "annotations", manifestHash)
}

func (p *plan) applied(have, want *unstructured.Unstructured) bool {
	if have == nil {
		return false
	}
	if wanted := want.GetAnnotations()[manifestHash]; wanted != "" {
		return have.GetAnnotations()[manifestHash] == wanted
	}
	return render.Contains(have.Object, want.Object)
}

// containersPath is the path of the containers in a DaemonSet.
var containersPath = []string{"spec", "template", "spec", "containers"}

// sharedModes returns the flags of the proxies, which all control-plane hosts share. It keeps the
// flags of the current DaemonSet unless the user set rule modes or such flags in this run. So a host with no
// settings or old settings does not enforce a rule that the user has chosen to audit.
func (p *plan) sharedModes(have *unstructured.Unstructured) (map[string]string, error) {
	if have == nil || p.ExtensionsSet {
		return p.Extensions.proxyModes()
	}
	containers, _, err := unstructured.NestedSlice(have.Object, containersPath...)
	if err != nil || len(containers) == 0 {
		return nil, err
	}
	modes := map[string]string{}
	container, _ := containers[0].(map[string]any)
	command, _, err := unstructured.NestedStringSlice(container, "command")
	for _, flag := range proxyFlags {
		modes[flag] = staticpod.FlagValue(command, flag)
	}
	return modes, err
}

// setFlags sets flags of a container's program. It removes a flag with an empty value.
func setFlags(container map[string]any, values map[string]string) {
	command, _, err := unstructured.NestedStringSlice(container, "command")
	if err != nil || len(command) == 0 {
		return
	}
	for _, flag := range proxyFlags {
		value, told := values[flag]
		if !told {
			continue
		}
		at := slices.IndexFunc(command, func(arg string) bool { return strings.HasPrefix(arg, "--"+flag+"=") })
		switch set := "--" + flag + "=" + value; {
		case at < 0 && value != "":
			command = append(command, set)
		case at >= 0 && value != "":
			command[at] = set
		case at >= 0:
			command = slices.Delete(command, at, at+1)
		}
	}
	all := make([]any, len(command))
	for i := range command {
		all[i] = command[i]
	}
	container["command"] = all
}
