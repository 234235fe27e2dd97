// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	authuser "k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/retry"

	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
)

// Certified returns the node of that name with its own client certificate. The cluster issues it as
// it issues those of kubelets: requested through the API, approved by the administrator, signed by
// kube-controller-manager. It does not use impersonation. It leaves no object behind and is safe
// for concurrent use.
func (c *Cluster) Certified(ctx context.Context, node string) (*Identity, error) {
	user := nodePrefix + node
	return c.certified(ctx, certificatesv1.KubeAPIServerClientKubeletSignerName, user, fixtures.NodeSubject(user))
}

// CertifiedUser returns a user in these groups with a client certificate of the cluster, issued as
// for [Cluster.Certified]. The cluster issues no certificate for system:masters.
func (c *Cluster) CertifiedUser(ctx context.Context, user string, groups ...string) (*Identity, error) {
	return c.certified(ctx, certificatesv1.KubeAPIServerClientSignerName, user, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: user, Organization: groups},
	})
}

func (c *Cluster) certified(ctx context.Context, signer, user string, template *x509.CertificateRequest) (*Identity,
	error) {
	request, key, err := fixtures.SigningRequest("e2e-"+rand.String(10), signer, certificatesv1.UsageClientAuth, template)
	if err != nil {
		return nil, err
	}
	requests := c.Client.CertificatesV1().CertificateSigningRequests()
	if _, err := requests.Create(ctx, request, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("requesting a certificate for %s: %w", user, err)
	}
	//nolint:errcheck // kube-controller-manager removes old ones
	defer requests.Delete(context.WithoutCancel(ctx), request.Name, metav1.DeleteOptions{})
	if err := c.approve(ctx, request.Name); err != nil {
		return nil, fmt.Errorf("approving the certificate of %s: %w", user, err)
	}
	certificate, err := c.issued(ctx, request.Name)
	if err != nil {
		return nil, fmt.Errorf("waiting for the certificate of %s: %w", user, err)
	}
	parsed, err := cert.ParseCertsPEM(certificate)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate of %s: %w", user, err)
	}
	who := c.AsCertificate(user, certificate, key)
	who.Groups = slices.Concat(template.Subject.Organization, []string{authenticated})
	who.Extra = map[string][]string{authuser.CredentialIDKey: {revocationlist.IDOf(parsed[0])}}
	return who, nil
}

// approve retries if the approver of kube-controller-manager changed the request first.
func (c *Cluster) approve(ctx context.Context, name string) error {
	requests := c.Client.CertificatesV1().CertificateSigningRequests()
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		request, err := requests.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range request.Status.Conditions {
			if c.Type == certificatesv1.CertificateApproved {
				return nil
			}
		}
		request.Status.Conditions = append(request.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "EndToEnd",
			Message: "a spec asked for it",
		})
		_, err = requests.UpdateApproval(ctx, name, request, metav1.UpdateOptions{})
		return err
	})
}

func (c *Cluster) issued(ctx context.Context, name string) (certificate []byte, err error) {
	const look = 100 * time.Millisecond
	requests := c.Client.CertificatesV1().CertificateSigningRequests()
	err = wait.PollUntilContextTimeout(ctx, look, ControllerManager, true, func(ctx context.Context) (bool, error) {
		request, err := requests.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, ignoreBusy(err)
		}
		certificate = request.Status.Certificate
		return len(certificate) > 0, nil
	})
	return certificate, err
}

// ignoreBusy returns nil for an error after which a retry may succeed.
func ignoreBusy(err error) error {
	if apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) {
		return nil
	}
	return err
}
