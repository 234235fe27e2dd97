// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// connected bounds the first calls to the cluster.
const connected = 15 * time.Second

// prepare writes a kubeconfig that has only the selected context to the directory, and checks that
// the cluster answers and that the caller is an administrator.
func prepare(ctx context.Context, o options, dir string) (kubeconfig string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: o.Context})
	client, err := loader.ClientConfig()
	if err != nil {
		return "", fmt.Errorf("cannot read the credentials: %w; name a file with --kubeconfig", err)
	}
	client.Timeout = connected
	kube, err := kubernetes.NewForConfig(client)
	if err != nil {
		return "", fmt.Errorf("cannot use the credentials: %w", err)
	}
	if err := checkAdministrator(ctx, kube); err != nil {
		return "", err
	}
	raw, err := loader.RawConfig()
	if err != nil {
		return "", fmt.Errorf("cannot read the credentials: %w", err)
	}
	if o.Context != "" {
		raw.CurrentContext = o.Context
	}
	if err := clientcmd.ResolveLocalPaths(&raw); err != nil {
		return "", fmt.Errorf("cannot resolve the files of the kubeconfig: %w", err)
	}
	kubeconfig = filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(raw, kubeconfig); err != nil {
		return "", fmt.Errorf("cannot write %s: %w", kubeconfig, err)
	}
	return kubeconfig, nil
}

func checkAdministrator(ctx context.Context, kube kubernetes.Interface) error {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Version: "*", Resource: "*"},
	}}
	got, err := kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("cannot ask the cluster: %w", err)
	}
	if !got.Status.Allowed {
		return fmt.Errorf("these credentials are not an administrator's: use some that may do everything (cluster-admin)")
	}
	return nil
}
