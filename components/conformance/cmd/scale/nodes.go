// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/keyutil"
)

// registering bounds how many nodes register or are removed at the same time.
const registering = 16

// authority signs client certificates of nodes, as the cluster's own signer does.
type authority struct {
	certificate *x509.Certificate
	key         any
}

// readAuthority reads the certificate authority of the reference cluster from its control plane.
// That needs root on the host, so it works only with a cluster of this machine.
func readAuthority(ctx context.Context, h host) (*authority, error) {
	text, err := h.run(ctx, "cat /etc/kubernetes/pki/ca.crt /etc/kubernetes/pki/ca.key")
	if err != nil {
		return nil, fmt.Errorf("cannot read the cluster's certificate authority: %w", err)
	}
	block, rest := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("cannot read the cluster's certificate authority: ca.crt has no certificate")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("cannot read the cluster's certificate authority: %w", err)
	}
	key, err := keyutil.ParsePrivateKeyPEM(rest)
	if err != nil {
		return nil, fmt.Errorf("cannot read the key of the cluster's certificate authority: %w", err)
	}
	return &authority{certificate, key}, nil
}

// configOf returns the configuration of a client with a certificate of the node.
func (a *authority) configOf(node string, config *rest.Config) (*rest.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}},
		NotBefore:    time.Now().Add(-time.Minute), NotAfter: time.Now().Add(3 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("cannot sign a certificate for %s: %w", node, err)
	}
	own := rest.AnonymousClientConfig(config)
	own.CertData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if own.KeyData, err = keyutil.MarshalPrivateKeyToPEM(key); err != nil {
		return nil, err
	}
	own.QPS, own.ContentType, own.Timeout = -1, "application/vnd.kubernetes.protobuf", 0
	return own, nil
}

// registerAll creates kubelets with their Nodes. Each has connections of its own, because it has a
// certificate of its own.
func registerAll(ctx context.Context, a *authority, config *rest.Config, names []string, r *results) (
	[]*kubelet, error) {
	kubelets := make([]*kubelet, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(registering)
	for i, name := range names {
		group.Go(func() error {
			own, err := a.configOf(name, config)
			if err != nil {
				return err
			}
			client, err := kubernetes.NewForConfig(own)
			if err != nil {
				return err
			}
			kubelets[i] = newKubelet(name, client, r)
			return kubelets[i].register(ctx)
		})
	}
	return kubelets, group.Wait()
}

// removeAll deletes Nodes and their leases.
func removeAll(ctx context.Context, admin kubernetes.Interface, names []string) error {
	var group errgroup.Group
	group.SetLimit(registering)
	leases := admin.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	for _, name := range names {
		group.Go(func() error {
			return errors.Join(unlessGone(admin.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})),
				unlessGone(leases.Delete(ctx, name, metav1.DeleteOptions{})))
		})
	}
	return group.Wait()
}
