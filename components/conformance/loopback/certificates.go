// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// ClientName is the common name of the client that the server accepts.
const ClientName = "bulkhead:kube-apiserver"

// Files are the certificates for both ends of a connection on loopback, from one CA.
type Files struct {
	CA, Server, Client Pair
}

// Pair contains the paths of a certificate and its key.
type Pair struct{ CertFile, KeyFile string }

// NewFiles creates the files in a directory. The certificates are valid for a day. The client has
// this name and group.
func NewFiles(dir, clientName, group string) (Files, error) {
	pair := func(name string) Pair {
		return Pair{CertFile: filepath.Join(dir, name+".crt"), KeyFile: filepath.Join(dir, name+".key")}
	}
	files := Files{CA: pair("ca"), Server: pair("server"), Client: pair("client")}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return files, fmt.Errorf("making certificates: %w", err)
	}
	ca, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "benchmark"}, key)
	if err != nil {
		return files, fmt.Errorf("making certificates: %w", err)
	}
	server := &x509.Certificate{
		Subject: pkix.Name{CommonName: "localhost"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	client := &x509.Certificate{
		Subject:     pkix.Name{CommonName: clientName, Organization: []string{group}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	return files, errors.Join(files.CA.write(ca.Raw, key), files.Server.sign(server, ca, key),
		files.Client.sign(client, ca, key))
}

// sign writes a certificate from the template, and a new key.
func (p Pair) sign(template, ca *x509.Certificate, caKey *ecdsa.PrivateKey) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making certificates: %w", err)
	}
	now := time.Now()
	template.SerialNumber = big.NewInt(now.UnixNano())
	template.NotBefore, template.NotAfter = now.Add(-time.Minute), now.Add(24*time.Hour)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, ca, &key.PublicKey, caKey)
	if err != nil {
		return fmt.Errorf("making certificates: %w", err)
	}
	return p.write(der, key)
}

func (p Pair) write(der []byte, key *ecdsa.PrivateKey) error {
	data, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return fmt.Errorf("making certificates: %w", err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
	return errors.Join(cert.WriteCert(p.CertFile, block), keyutil.WriteKey(p.KeyFile, data))
}

// WriteKubeconfig writes a kubeconfig for the client and a server at this URL.
func (f Files) WriteKubeconfig(file, server string) error {
	const name = "benchmark"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthority: f.CA.CertFile}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificate: f.Client.CertFile, ClientKey: f.Client.KeyFile}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		return fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return nil
}

// FreePort returns a port on which no program listens at this moment. It is below the range that
// the kernel uses for outgoing connections. A run leaves thousands of those ports in use, and any
// could be the port.
func FreePort() (int, error) {
	var err error
	for range 100 {
		port := 20_000 + mathrand.IntN(10_000) //nolint:gosec // which one does not matter
		var listener net.Listener
		//nolint:noctx // it is closed at once
		if listener, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("finding a port: %w", err)
}
