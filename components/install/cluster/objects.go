// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"
)

const (
	fieldManager  = "bulkhead"
	kubeSystem    = metav1.NamespaceSystem
	kubeadmConfig = "kubeadm-config"
	kubeadmKey    = "ClusterConfiguration"
)

var createOptions = metav1.CreateOptions{FieldManager: fieldManager}

// resource maps the kinds that the installer applies. An unknown kind is a bug in manifests/.
func resource(kind schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	rbac := schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}
	fairness := schema.GroupVersion{Group: "flowcontrol.apiserver.k8s.io", Version: "v1"}
	admission := schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}
	known := map[schema.GroupVersionKind]schema.GroupVersionResource{
		rbac.WithKind("ClusterRole"):                           rbac.WithResource("clusterroles"),
		rbac.WithKind("ClusterRoleBinding"):                    rbac.WithResource("clusterrolebindings"),
		rbac.WithKind("Role"):                                  rbac.WithResource("roles"),
		rbac.WithKind("RoleBinding"):                           rbac.WithResource("rolebindings"),
		{Version: "v1", Kind: "ServiceAccount"}:                {Version: "v1", Resource: "serviceaccounts"},
		{Group: "apps", Version: "v1", Kind: "DaemonSet"}:      {Group: "apps", Version: "v1", Resource: "daemonsets"},
		{Version: "v1", Kind: "ConfigMap"}:                     {Version: "v1", Resource: "configmaps"},
		fairness.WithKind("FlowSchema"):                        fairness.WithResource("flowschemas"),
		fairness.WithKind("PriorityLevelConfiguration"):        fairness.WithResource("prioritylevelconfigurations"),
		admission.WithKind("ValidatingWebhookConfiguration"):   admission.WithResource("validatingwebhookconfigurations"),
		admission.WithKind("ValidatingAdmissionPolicy"):        admission.WithResource("validatingadmissionpolicies"),
		admission.WithKind("ValidatingAdmissionPolicyBinding"): admission.WithResource("validatingadmissionpolicybindings"),
	}
	if gvr, ok := known[kind]; ok {
		return gvr, nil
	}
	return schema.GroupVersionResource{}, fmt.Errorf("applying %s: the installer does not know this kind", kind)
}

func (c *Client) objects(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvr, err := resource(object.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if namespace := object.GetNamespace(); namespace != "" {
		return c.dynamic.Resource(gvr).Namespace(namespace), nil
	}
	return c.dynamic.Resource(gvr), nil
}

// Get returns the object from the API, or nil if it does not exist.
func (c *Client) Get(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	objects, err := c.objects(object)
	if err != nil {
		return nil, err
	}
	have, err := objects.Get(ctx, object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return have, err
}

// Apply applies the manifest by server-side apply.
func (c *Client) Apply(ctx context.Context, object *unstructured.Unstructured) error {
	objects, err := c.objects(object)
	if err != nil {
		return err
	}
	data, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	force := true
	_, err = objects.Patch(ctx, object.GetName(), types.ApplyPatchType, data,
		metav1.PatchOptions{FieldManager: fieldManager, Force: &force})
	return err
}

// Delete deletes the object. It returns nil if the object does not exist.
func (c *Client) Delete(ctx context.Context, object *unstructured.Unstructured) error {
	objects, err := c.objects(object)
	if err != nil {
		return err
	}
	err = objects.Delete(ctx, object.GetName(), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// KubeadmConfig returns kubeadm's ClusterConfiguration. It is empty if the cluster has none.
func (c *Client) KubeadmConfig(ctx context.Context) (string, error) {
	config, err := c.Kubernetes.CoreV1().ConfigMaps(kubeSystem).Get(ctx, kubeadmConfig, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return config.Data[kubeadmKey], nil
}

// EditKubeadmConfig replaces kubeadm's ClusterConfiguration by what edit returns for it. If another
// program writes the ConfigMap at the same time, it reads again and calls edit again. It does
// nothing if the cluster has no ConfigMap, or if edit returns the same text.
func (c *Client) EditKubeadmConfig(ctx context.Context, edit func(string) (string, error)) (changed bool, err error) {
	configs := c.Kubernetes.CoreV1().ConfigMaps(kubeSystem)
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		changed = false
		config, err := configs.Get(ctx, kubeadmConfig, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		// An empty text means that kubeadm does not manage this cluster.
		text := config.Data[kubeadmKey]
		if text == "" {
			return nil
		}
		edited, err := edit(text)
		if err != nil || edited == text {
			return err
		}
		config.Data[kubeadmKey], changed = edited, true
		_, err = configs.Update(ctx, config, metav1.UpdateOptions{FieldManager: fieldManager})
		return err
	})
	if apierrors.IsConflict(err) {
		return false, fmt.Errorf("cannot edit ConfigMap %s: another program changes it all the time: %w. Run this again",
			kubeadmConfig, err)
	}
	return changed && err == nil, err
}
