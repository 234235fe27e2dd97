// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
)

// tokenLife is longer than any spec. It is short so that the token of an aborted run expires soon.
const tokenLife = 30 * time.Minute

// BootstrapToken makes a token as `kubeadm token create` does, and waits until the API server
// accepts it. The token is removed at the end of the spec, or of the container whose BeforeAll
// calls this.
func (e *Env) BootstrapToken(ctx context.Context) Bearer {
	ginkgo.GinkgoHelper()
	id, secret := rand.String(6), rand.String(16)
	e.Put(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "bootstrap-token-" + id},
		Type:       corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id": id, "token-secret": secret, "expiration": time.Now().Add(tokenLife).UTC().Format(time.RFC3339),
			"usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true",
			"auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
		},
	})
	var token Bearer
	gomega.Eventually(ctx, func() (err error) {
		token, err = e.ReadToken(ctx, id+"."+secret)
		return err
	}).WithTimeout(Soon).WithPolling(100*time.Millisecond).Should(gomega.Succeed(),
		"the API server accepts the bootstrap token")
	gomega.Expect(token.User).To(gomega.Equal("system:bootstrap:" + id))
	gomega.Expect(token.Groups).To(gomega.ContainElement("system:bootstrappers"))
	return token
}
