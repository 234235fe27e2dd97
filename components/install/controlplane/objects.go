// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/components/install/render"
)

// objectRBAC is the prefix of Bulkhead's API objects in the journal. Most of them are RBAC objects.
// The others are the store of node-restriction and the FlowSchema.
const objectRBAC = "rbac:"

func (p *plan) applyRBAC(ctx context.Context) (changed bool, err error) {
	objects, err := p.objects()
	if err != nil {
		return false, err
	}
	return p.applyAll(ctx, objects)
}

// applyAll applies the objects that are not in the cluster as they should be.
func (p *plan) applyAll(ctx context.Context, objects []*unstructured.Unstructured) (changed bool, err error) {
	for _, object := range objects {
		have, err := p.Objects.Get(ctx, object)
		if err != nil {
			return changed, err
		}
		if have != nil && render.Contains(have.Object, object.Object) {
			continue
		}
		changed = true
		if err := p.applyObject(ctx, object, have); err != nil {
			return changed, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return changed, nil
}

// dropAll deletes those of the objects that exist.
func (p *plan) dropAll(ctx context.Context, objects []*unstructured.Unstructured) (changed bool, err error) {
	for _, object := range objects {
		have, err := p.Objects.Get(ctx, object)
		if err != nil {
			return changed, err
		}
		if have == nil {
			continue
		}
		if err := p.dropObject(ctx, have); err != nil {
			return changed, fmt.Errorf("%s %s: %w", have.GetKind(), have.GetName(), err)
		}
		changed = true
	}
	return changed, nil
}

// applyObject applies one manifest. The journal records the object before and after.
func (p *plan) applyObject(ctx context.Context, object, have *unstructured.Unstructured) error {
	before, err := essence(have)
	if err != nil {
		return err
	}
	name := objectRBAC + object.GetKind() + "/" + object.GetName()
	if err := p.journal.Object(name, before); err != nil {
		return err
	}
	if err := p.Objects.Apply(ctx, object); err != nil {
		return err
	}
	now, err := p.Objects.Get(ctx, object)
	if err != nil {
		return err
	}
	after, err := essence(now)
	if err != nil {
		return err
	}
	return p.journal.Wrote(name, after)
}

// essence returns an object without the fields that only the API server writes. It returns nil if
// object is nil.
func essence(object *unstructured.Unstructured) ([]byte, error) {
	if object == nil {
		return nil, nil
	}
	content := maps.Clone(object.Object)
	metadata := map[string]any{"name": object.GetName()}
	if namespace := object.GetNamespace(); namespace != "" {
		metadata["namespace"] = namespace
	}
	if labels := object.GetLabels(); len(labels) > 0 {
		metadata["labels"] = labels
	}
	if annotations := object.GetAnnotations(); len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	content["metadata"] = metadata
	delete(content, "status") // other programs write the status
	return json.Marshal(content)
}

// revertObject restores the old content of an object. It deletes a new object, unless another host
// needs it. An object that another user has changed since stays as it is.
func (in *Installer) revertObject(ctx context.Context, j *journal.Journal, e journal.Entry) error {
	before, err := j.Before(e)
	if err != nil {
		return err
	}
	if e.Name == objectRegistration && before == nil {
		return in.Objects.Delete(ctx, registered())
	}
	if before == nil {
		return in.deleteNew(ctx, strings.TrimPrefix(e.Name, objectRBAC))
	}
	old := &unstructured.Unstructured{}
	if err := json.Unmarshal(before, &old.Object); err != nil {
		return err
	}
	have, err := in.Objects.Get(ctx, old)
	if err != nil {
		return err
	}
	now, err := essence(have)
	switch {
	case err != nil || string(now) == string(before):
		return err
	case len(e.Written) > 0 && !e.Wrote(now):
		in.Note("%s was changed since then: it stays as it is", e.Name)
		return nil
	}
	return in.Objects.Apply(ctx, old)
}

func (in *Installer) deleteNew(ctx context.Context, name string) error {
	others, err := in.elsewhere(ctx)
	if err != nil {
		return err
	}
	if others != "" {
		in.Note("%s stays: Bulkhead runs on %s too", name, others)
		return nil
	}
	objects, err := removable()
	if err != nil {
		return err
	}
	for _, object := range objects {
		if name == object.GetKind()+"/"+object.GetName() {
			return in.Objects.Delete(ctx, object)
		}
	}
	return nil
}

// deleteObjects deletes the API objects when the last host of the cluster is uninstalled.
func (in *Installer) deleteObjects(ctx context.Context) (changed bool, err error) {
	others, err := in.elsewhere(ctx)
	if err != nil {
		return false, err
	}
	if others != "" {
		in.Note("Bulkhead runs on %s too: its API objects stay until the last host is uninstalled", others)
		return false, nil
	}
	// deleteGuards handles the other objects.
	objects, err := unguardedObjects()
	if err != nil {
		return false, err
	}
	for _, object := range objects {
		have, err := in.Objects.Get(ctx, object)
		if err != nil {
			return changed, err
		}
		changed = changed || have != nil
		if err := in.Objects.Delete(ctx, object); err != nil {
			return changed, err
		}
	}
	return changed, nil
}
