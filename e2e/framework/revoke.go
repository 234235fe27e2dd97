// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/util/retry"

	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
)

// CredentialID returns the credential ID that kube-apiserver gives to the identity's credential.
func (i *Identity) CredentialID() string {
	ginkgo.GinkgoHelper()
	gomega.Expect(i.Extra[user.CredentialIDKey]).To(gomega.HaveLen(1), "%s has no credential of its own", i.User)
	return i.Extra[user.CredentialIDKey][0]
}

// Revoke adds a credential to the cluster's revocation list, as `bulkhead revoke` does. It removes
// the credential at the end of the spec, or of the container whose BeforeAll calls this.
func (e *Env) Revoke(ctx context.Context, id string) {
	ginkgo.GinkgoHelper()
	ginkgo.DeferCleanup(func(ctx context.Context) error {
		return e.editRevoked(ctx, func(text string) string { return revocationlist.Remove(text, id) })
	})
	gomega.Expect(e.editRevoked(ctx, func(text string) string {
		return revocationlist.Add(text, revocationlist.Entry{ID: id, Comment: "e2e"})
	})).To(gomega.Succeed())
}

// Unrevoke removes a credential from the revocation list.
func (e *Env) Unrevoke(ctx context.Context, id string) {
	ginkgo.GinkgoHelper()
	gomega.Expect(e.editRevoked(ctx, func(text string) string { return revocationlist.Remove(text, id) })).To(
		gomega.Succeed())
}

func (c *Cluster) editRevoked(ctx context.Context, edit func(string) string) error {
	configMaps := c.Client.CoreV1().ConfigMaps(revocationlist.Namespace)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		list, err := configMaps.Get(ctx, revocationlist.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			list = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: revocationlist.Namespace,
				Name: revocationlist.Name}}
			list.Data = map[string]string{revocationlist.IDsKey: edit("")}
			_, err = configMaps.Create(ctx, list, metav1.CreateOptions{})
			return err
		}
		if err != nil {
			return err
		}
		if list.Data == nil {
			list.Data = map[string]string{}
		}
		list.Data[revocationlist.IDsKey] = edit(list.Data[revocationlist.IDsKey])
		_, err = configMaps.Update(ctx, list, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("changing the list of revoked credentials: %w", err)
	}
	return nil
}
