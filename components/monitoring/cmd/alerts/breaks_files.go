// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

const (
	restrictionConfig = bulkheadDir + "/node-restriction/configuration.yaml"
	authorizerServing = bulkheadDir + "/node-authorizer/serving.crt"
	bulkheadCA        = bulkheadDir + "/pki/ca"
	clusterCA         = "/etc/kubernetes/pki/ca"
)

func configurationInvalid(c *cluster) *breakage {
	return &breakage{
		causes:   one("BulkheadConfigurationInvalid"),
		broken:   "The configuration of node-restriction gets a line that is not valid YAML.",
		repaired: "The file is restored.",
		begin:    c.script(saved(restrictionConfig) + replaced(restrictionConfig, "printf '\\nunknown: {' >>$f")),
		repair:   c.script(restored(restrictionConfig)),
	}
}

func certificateExpires(c *cluster) *breakage {
	return &breakage{
		causes: []cause{{"BulkheadCertificateExpires", map[string]string{"job": jobAuthorizer}}},
		broken: "The serving certificate of node-authorizer is replaced by one for the same key that is valid for " +
			"3 days.",
		repaired: "The file is restored.",
		begin: func(ctx context.Context) error {
			ca, err := c.authority(ctx, bulkheadCA)
			if err != nil {
				return err
			}
			text, err := c.sh(ctx, c.controlPlane, "cat "+authorizerServing)
			if err != nil {
				return err
			}
			block, _ := pem.Decode([]byte(text))
			if block == nil {
				return errors.New("the serving certificate of node-authorizer is not PEM")
			}
			template, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return err
			}
			template.NotAfter = time.Now().Add(3 * 24 * time.Hour)
			der, err := x509.CreateCertificate(rand.Reader, template, ca.Leaf, template.PublicKey, ca.PrivateKey)
			if err != nil {
				return err
			}
			return c.onControlPlane(ctx, saved(authorizerServing)+replaced(authorizerServing, decoded("CERTIFICATE", der)))
		},
		repair: c.script(restored(authorizerServing)),
	}
}

// authority reads the certificate and the key of a CA from the control-plane node.
func (c *cluster) authority(ctx context.Context, path string) (tls.Certificate, error) {
	certificate, err := c.sh(ctx, c.controlPlane, "cat "+path+".crt")
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := c.sh(ctx, c.controlPlane, "cat "+path+".key")
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair([]byte(certificate), []byte(key))
}

// decoded is a command that writes a PEM block to the file $f.
func decoded(kind string, der []byte) string {
	text := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	return "echo " + text + " | base64 -d >$f"
}

const (
	proxyDir   = bulkheadDir + "/kubelet-auth-proxy"
	crlFile    = proxyDir + "/crl/bulkhead-alerts.pem"
	crlState   = proxyDir + "/crl-state"
	crlUsed    = proxyDir + "/crl"
	crlRestore = "A revocation list that is valid for 30 days replaces it."
)

// writeCRL writes a revocation list of the cluster's CA, without entries, for the worker's proxy.
func (c *cluster) writeCRL(ctx context.Context, valid time.Duration) error {
	ca, err := c.authority(ctx, clusterCA)
	if err != nil {
		return err
	}
	now := time.Now()
	key, ok := ca.PrivateKey.(crypto.Signer)
	if !ok {
		return fmt.Errorf("cannot sign with a key of type %T", ca.PrivateKey)
	}
	// kubeadm's CAs lack this key usage, which Go requires here. KA-CRL-1 does not.
	issuer := *ca.Leaf
	issuer.KeyUsage |= x509.KeyUsageCRLSign
	der, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
		Number: big.NewInt(now.Unix()), ThisUpdate: now, NextUpdate: now.Add(valid),
	}, &issuer, key)
	if err != nil {
		return err
	}
	// The proxy does not read files whose names begin with a dot.
	return c.onWorker(ctx, fmt.Sprintf("set -e; f=%s/.new; %s; chown root:65532 $f; chmod 640 $f; mv $f %s", crlUsed,
		decoded("X509 CRL", der), crlFile))
}

// crlPrepared saves the folders of lists, so that crlRemoved can restore them.
func (c *cluster) crlPrepared(ctx context.Context) error {
	return c.onWorker(ctx, saved(crlUsed)+saved(crlState))
}

// crlRemoved restores the folders of lists. A proxy never forgets a list that it has used, so it is
// replaced.
func (c *cluster) crlRemoved(ctx context.Context) error {
	return restoreAndReplace(ctx, c.shWorker, c.replaceProxy, crlUsed, crlState)
}

func crlExpires(c *cluster) *breakage {
	return &breakage{
		causes:   one("BulkheadKubeletCRLExpires"),
		broken:   "The worker's proxy gets a revocation list of the cluster's CA that is valid for 12 hours.",
		repaired: crlRestore,
		prepare:  c.crlPrepared,
		begin:    func(ctx context.Context) error { return c.writeCRL(ctx, 12*time.Hour) },
		repair: func(ctx context.Context) error {
			if out, err := c.sh(ctx, c.worker, "ls "+crlFile+" 2>/dev/null || true"); err != nil || out == "" {
				return err
			}
			return c.writeCRL(ctx, 30*24*time.Hour)
		},
		restore: c.crlRemoved,
	}
}

func crlFailed(c *cluster) *breakage {
	return &breakage{
		causes:   one("BulkheadKubeletCRLFailed"),
		broken:   "The worker's proxy gets a file that is not a revocation list.",
		repaired: "The file is removed.",
		prepare:  c.crlPrepared,
		begin: func(ctx context.Context) error {
			return c.onWorker(ctx, fmt.Sprintf("set -e; echo 'not a list' >%[1]s; chown root:65532 %[1]s; chmod 640 %[1]s",
				crlFile))
		},
		repair:  func(ctx context.Context) error { return c.onWorker(ctx, "rm -f "+crlFile) },
		restore: c.crlRemoved,
	}
}
