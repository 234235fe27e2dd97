// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"crypto/x509"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

// ClientName is the common name of the client that the server serves.
const ClientName = "bulkhead:kube-apiserver"

// Files are certificates for both ends of a connection on loopback, of one CA.
type Files struct{ CA, Server, Client pki.Pair }

// NewFiles makes them in a directory. They are good for a day. The client is of
// the given name and group.
func NewFiles(dir, clientName, group string) (Files, error) {
	pair := func(name string) pki.Pair {
		return pki.Pair{CertFile: filepath.Join(dir, name+".crt"), KeyFile: filepath.Join(dir, name+".key")}
	}
	files := Files{CA: pair("ca"), Server: pair("server"), Client: pair("client")}
	if _, err := pki.EnsureCA(files.CA, "benchmark", time.Now()); err != nil {
		return files, fmt.Errorf("making certificates: %w", err)
	}
	keeper := pki.Keeper{
		Now: time.Now, Policy: pki.Policy{Validity: 24 * time.Hour, RenewBefore: time.Hour},
		Leaves: []pki.Leaf{
			{
				Name:       "server",
				Pair:       files.Server,
				Signer:     files.CA,
				CommonName: "localhost",
				DNSNames:   []string{"localhost"},
				IPs:        []net.IP{net.IPv4(127, 0, 0, 1)},
				Usage:      x509.ExtKeyUsageServerAuth,
				Mode:       0o600,
			},
			{
				Name:         "client",
				Pair:         files.Client,
				Signer:       files.CA,
				CommonName:   clientName,
				Organization: []string{group},
				Usage:        x509.ExtKeyUsageClientAuth,
				Mode:         0o600,
			},
		},
	}
	if _, err := keeper.Renew(true); err != nil {
		return files, fmt.Errorf("making certificates: %w", err)
	}
	return files, nil
}

// WriteKubeconfig writes one for the client, of a server at that URL.
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

// FreePort is one that no program listens on at this moment. It is below those that the kernel
// gives to connections: a run leaves thousands of these, and any could be the port.
func FreePort() (int, error) {
	var err error
	for range 100 {
		port := 20_000 + rand.IntN(10_000) //nolint:gosec // which one does not matter
		var listener net.Listener
		//nolint:noctx // it is closed at once
		if listener, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("finding a port: %w", err)
}
