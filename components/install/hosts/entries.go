// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

// ConfigMapName is the name of the ConfigMap in kube-system with one entry for each host. The key is
// the node name.
const ConfigMapName = "bulkhead-hosts"

const fieldManager = "bulkhead"

// ConfigMaps are the ConfigMaps of kube-system. client-go's client implements it.
type ConfigMaps interface {
	Get(context.Context, string, metav1.GetOptions) (*corev1.ConfigMap, error)
	Create(context.Context, *corev1.ConfigMap, metav1.CreateOptions) (*corev1.ConfigMap, error)
	Update(context.Context, *corev1.ConfigMap, metav1.UpdateOptions) (*corev1.ConfigMap, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
}

// Entries returns the entries of all hosts, by node name. It returns nil if the ConfigMap does not exist.
func Entries(ctx context.Context, configs ConfigMaps) (map[string]string, error) {
	config, err := configs.Get(ctx, ConfigMapName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read ConfigMap %s: %w", ConfigMapName, err)
	}
	return config.Data, nil
}

// Update changes the entries. It creates the ConfigMap for the first entry, and deletes it after the
// last one. If another host writes at the same time, Update reads again and calls change again. It
// writes nothing if change changes nothing.
func Update(ctx context.Context, configs ConfigMaps, change func(entries map[string]string)) (changed bool, err error) {
	err = retry.OnError(retry.DefaultBackoff, isConflict, func() error {
		changed, err = updateOnce(ctx, configs, change)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("cannot change ConfigMap %s: %w. Run this again", ConfigMapName, err)
	}
	return changed, nil
}

// isConflict is true if another program has changed, created or deleted the object since it was read.
func isConflict(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

func updateOnce(ctx context.Context, configs ConfigMaps, change func(map[string]string)) (bool, error) {
	config, err := configs.Get(ctx, ConfigMapName, metav1.GetOptions{})
	exists := !apierrors.IsNotFound(err)
	if exists && err != nil {
		return false, err
	}
	if !exists {
		config = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: ConfigMapName, Namespace: metav1.NamespaceSystem,
			Labels: map[string]string{"app.kubernetes.io/part-of": "bulkhead"}}}
	}
	before := maps.Clone(config.Data)
	if config.Data == nil {
		config.Data = map[string]string{}
	}
	change(config.Data)
	switch {
	case exists && len(config.Data) == 0:
		return true, configs.Delete(ctx, ConfigMapName, asRead(config))
	case maps.Equal(before, config.Data):
		return false, nil
	case exists:
		_, err = configs.Update(ctx, config, metav1.UpdateOptions{FieldManager: fieldManager})
	default:
		_, err = configs.Create(ctx, config, metav1.CreateOptions{FieldManager: fieldManager})
	}
	return true, err
}

// asRead deletes an object only if it has not changed since it was read.
func asRead(object metav1.Object) metav1.DeleteOptions {
	uid, version := object.GetUID(), object.GetResourceVersion()
	return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}}
}
