// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/render"
)

// objectRegistration is the name of a registration in the API, in the journal.
const objectRegistration = objectRBAC + "ValidatingWebhookConfiguration/" + registeredName

// register creates the webhook configuration in the API if the server does not read webhooks from
// disk. If it does, register deletes a configuration that an older server needed.
func (p *plan) register(ctx context.Context) (bool, error) {
	have, err := p.Objects.Get(ctx, registered())
	if err != nil {
		return false, err
	}
	if p.fromDisk {
		return p.forget(ctx, have)
	}
	if lacking, err := p.hostsWithout(ctx, host.NodeRestriction.Name); err != nil || lacking != "" {
		p.Note("node-restriction is not registered yet: all kube-apiservers read the same registration, and "+
			"it does not run on %s; install it there", lacking)
		return false, err
	}
	ca, err := os.ReadFile(p.Layout.CA().CertFile)
	if err != nil {
		return false, err
	}
	want, err := RegistrationInAPI(p.Profile, withCA(bundleOf(have), ca))
	if err != nil {
		return false, err
	}
	if p.Extensions.failsOpen() {
		if err := render.IgnoreFailures(want); err != nil {
			return false, err
		}
	}
	if have != nil && render.Contains(have.Object, want.Object) {
		return false, nil
	}
	if err := p.applyObject(ctx, want, have); err != nil {
		return false, err
	}
	p.Note("this kube-apiserver takes no webhooks from disk (it does from 1.37 on): a user who may delete a " +
		"ValidatingWebhookConfiguration can remove it")
	return true, p.Until(ctx, p.Timeout, "node-restriction, asked by kube-apiserver", p.nodeCanWrite)
}

func (p *plan) forget(ctx context.Context, have *unstructured.Unstructured) (bool, error) {
	if have == nil {
		return false, nil
	}
	before, err := essence(have)
	if err != nil {
		return false, err
	}
	if err := p.journal.Object(objectRegistration, before); err != nil {
		return false, err
	}
	return true, p.Objects.Delete(ctx, have)
}

// hostsWithout names the control-plane nodes on which a component does not run. This node never
// counts as one, even if its kubelet has not yet reported the component.
func (p *plan) hostsWithout(ctx context.Context, component string) (string, error) {
	all, err := p.Nodes.ControlPlaneNodes(ctx)
	if err != nil {
		return "", err
	}
	running, err := p.Nodes.ComponentNodes(ctx, component)
	if err != nil {
		return "", err
	}
	running = append(running, p.Layout.NodeName())
	return strings.Join(slices.DeleteFunc(all, func(node string) bool { return slices.Contains(running, node) }), ", "),
		nil
}

// tryUnregister is [Installer.unregisterStep] if the API answers. The restored kube-apiserver has no
// client certificate for the webhook any more, so it could not call it, and would deny the writes of nodes.
func (in *Installer) tryUnregister(ctx context.Context) (changed bool, err error) {
	if changed, err = in.unregisterStep(ctx); err == nil {
		return changed, nil
	}
	return false, ctx.Err()
}

func (in *Installer) unregisterStep(ctx context.Context) (changed bool, err error) {
	have, err := in.Objects.Get(ctx, registered())
	if err != nil || have == nil {
		return false, err
	}
	others, err := in.elsewhere(ctx)
	if err != nil {
		return false, err
	}
	if others != "" {
		in.Note("node-restriction is not asked on %s either from now on: all API servers read the same "+
			"registration. Uninstall them too", others)
	}
	if err := in.Objects.Delete(ctx, registered()); err != nil {
		return false, fmt.Errorf("deleting the registration: %w", err)
	}
	return true, nil
}

// Registered reports whether the API has a webhook configuration of Bulkhead.
func Registered(ctx context.Context, api interface {
	Get(context.Context, *unstructured.Unstructured) (*unstructured.Unstructured, error)
}) (bool, error) {
	have, err := api.Get(ctx, registered())
	return have != nil, err
}

// registered returns an object with the kind and name of the webhook configuration.
func registered() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("admissionregistration.k8s.io/v1")
	object.SetKind("ValidatingWebhookConfiguration")
	object.SetName(registeredName)
	return object
}
