// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
)

// createAccount creates the account of the pod. It may read pods. In profile hardened its scope
// limits it to the pods of its node.
func (w *workload) createAccount(ctx context.Context) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Name: name, Annotations: map[string]string{"bulkhead.dev/node-scoped-resources": "pods"},
	}}
	if _, err := w.admin.CoreV1().ServiceAccounts(w.namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return err
	}
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list"}},
		},
	}
	if _, err := w.admin.RbacV1().Roles(w.namespace).Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return err
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: name}},
	}
	_, err := w.admin.RbacV1().RoleBindings(w.namespace).Create(ctx, binding, metav1.CreateOptions{})
	return err
}

// scopedClient returns a client with a token of the pod. If limited, it waits until the account's
// scope is in force: then the account may not list the pods of all nodes.
func (w *workload) scopedClient(ctx context.Context, config *rest.Config, limited bool) (kubernetes.Interface, error) {
	token, err := w.admin.CoreV1().ServiceAccounts(w.namespace).CreateToken(ctx, name, w.tokenRequest(),
		metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot create a token of the pod: %w", err)
	}
	own := rest.AnonymousClientConfig(config)
	own.BearerToken, own.QPS = token.Status.Token, -1
	own.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(own)
	if err != nil || !limited {
		return client, err
	}
	err = wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			_, err := client.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{})
			return apierrors.IsForbidden(err), nil
		})
	if err != nil {
		return nil, fmt.Errorf("the scope of the account did not come into force within a minute: "+
			"is node scope installed? %w", err)
	}
	return client, nil
}

// others are calls that are not a kubelet's: those of a scoped account, and those of an administrator
// that reach the kubelet through the API server. These are slow, so they are made less often.
func (w *workload) others(scoped kubernetes.Interface, config *rest.Config) []call {
	pods, admins := scoped.CoreV1().Pods(w.namespace), w.admin.CoreV1().Pods(w.namespace)
	return []call{
		{name: "scoped account: get pod", make: func(ctx context.Context) error {
			_, err := pods.Get(ctx, name, metav1.GetOptions{})
			return err
		}},
		{name: "scoped account: list pods", make: func(ctx context.Context) error {
			_, err := pods.List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + w.node})
			return err
		}},
		{name: "kubectl logs", few: true, make: func(ctx context.Context) error {
			stream, err := admins.GetLogs(name, &corev1.PodLogOptions{}).Stream(ctx)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, stream)
			return errors.Join(err, stream.Close())
		}},
		{name: "kubectl exec", few: true, make: func(ctx context.Context) error { return w.exec(ctx, config) }},
	}
}

// exec runs a command in the pod over a WebSocket, as kubectl exec does. It makes a new connection to
// the API server, because a client cannot use that of an earlier stream.
func (w *workload) exec(ctx context.Context, config *rest.Config) error {
	url := w.admin.CoreV1().RESTClient().Get().Namespace(w.namespace).Resource("pods").Name(name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: []string{"/pause", "-v"}, Stdout: true}, scheme.ParameterCodec).
		URL()
	executor, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, url.String())
	if err != nil {
		return err
	}
	var version strings.Builder
	if err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &version}); err != nil {
		return err
	}
	if !strings.Contains(version.String(), "pause") {
		return fmt.Errorf("the command in the pod printed %q, not its name and version", version.String())
	}
	return nil
}
