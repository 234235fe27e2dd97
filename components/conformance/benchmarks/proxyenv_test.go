// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/fake"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/loopback"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/subprocess"
)

// memoryLimit is the memory limit of the DaemonSet. Both proxies get it.
const memoryLimit = "GOMEMLIMIT=650MiB"

// fakeNode has a fake kubelet and a fake kube-apiserver, and the files that a proxy between them
// needs.
type fakeNode struct {
	dir, kubelet, kubeconfig string
	// node is signed by the CA that the kubelet trusts, callers by the cluster's CA.
	node, callers loopback.Files
}

// theNode is created once.
var theNode = sync.OnceValues(func() (*fakeNode, error) {
	n := &fakeNode{dir: filepath.Join(shared.dir, "node")}
	for _, dir := range []string{n.dir, n.in("node"), n.in("callers"), n.in("crl")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
	}
	err := subprocess.Build(context.Background(), root, n.dir+"/", "./components/cmd/kubelet-auth-proxy")
	if err != nil {
		return nil, err
	}
	if n.node, err = loopback.NewFiles(n.in("node"), "bulkhead:kubelet-auth-proxy", "system:nodes"); err != nil {
		return nil, err
	}
	if n.callers, err = loopback.NewFiles(n.in("callers"), "monitoring:scraper", "monitoring:scrapers"); err != nil {
		return nil, err
	}
	if n.kubelet, err = n.serve(fake.Kubelet()); err != nil {
		return nil, err
	}
	apiServer, err := n.serve(fake.APIServer())
	if err != nil {
		return nil, err
	}
	n.kubeconfig = n.in("kubeconfig")
	return n, n.node.WriteKubeconfig(n.kubeconfig, "https://"+apiServer)
})

func (n *fakeNode) in(name string) string { return filepath.Join(n.dir, name) }

// serve serves in this process until it ends. Clients need a certificate.
func (n *fakeNode) serve(handler http.Handler) (address string, err error) {
	pair, err := tls.LoadX509KeyPair(n.node.Server.CertFile, n.node.Server.KeyFile)
	if err != nil {
		return "", err
	}
	clients, err := cert.NewPool(n.node.CA.CertFile)
	if err != nil {
		return "", err
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients,
	})
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	return listener.Addr().String(), nil
}

// proxy is a running proxy.
type proxy struct {
	*subprocess.Process
	address string
	// health is empty for the bare proxy.
	health subprocess.Health
	roots  *x509.CertPool
	caller tls.Certificate
}

// startProxy starts kubelet-auth-proxy with the flags of its DaemonSet, or the bare proxy.
func startProxy(b *testing.B, subject string) *proxy {
	b.Helper()
	n, err := theNode()
	if err != nil {
		b.Fatal(err)
	}
	port, err := loopback.FreePort()
	if err != nil {
		b.Fatal(err)
	}
	health, err := loopback.FreePort()
	if err != nil {
		b.Fatal(err)
	}
	p := &proxy{address: loopback.Address(port)}
	program, env, args := n.in("kubelet-auth-proxy"), []string{memoryLimit}, []string{
		"--node-name=node",
		"--bind-addresses=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--health-port=" + strconv.Itoa(health),
		"--mode=strict",
		"--kubelet-address=" + n.kubelet,
		"--kubeconfig=" + n.kubeconfig,
		"--tls-cert-file=" + n.node.Server.CertFile,
		"--tls-private-key-file=" + n.node.Server.KeyFile,
		"--kubelet-client-certificate=" + n.node.Client.CertFile,
		"--kubelet-client-key=" + n.node.Client.KeyFile,
		"--client-ca-file=" + n.callers.CA.CertFile,
		"--client-crl=" + n.in("crl"),
		"--audit-log-path=" + n.in("audit.log"),
	}
	if subject == "bare" {
		program, env, args = os.Args[0], append(env, subjectVariable+"="+bareProxy), []string{
			"-address=" + p.address, "-kubelet=" + n.kubelet, "-kubelet-ca=" + n.node.CA.CertFile,
			"-cert=" + n.node.Server.CertFile, "-key=" + n.node.Server.KeyFile, "-client-ca=" + n.callers.CA.CertFile,
			"-kubelet-client-cert=" + n.node.Client.CertFile, "-kubelet-client-key=" + n.node.Client.KeyFile,
		}
	} else {
		p.health = subprocess.Health("http://" + loopback.Address(health))
	}
	if p.Process, err = subprocess.Start(context.Background(), n.dir, program, env, args...); err != nil {
		b.Fatal(err)
	}
	ready := func() bool {
		return loopback.Listens(p.address) && (p.health == "" || p.health.Ready(context.Background()))
	}
	if err := p.WaitUntil(context.Background(), 30*time.Second, ready); err != nil {
		p.Stop()
		b.Fatal(err)
	}
	if p.roots, err = cert.NewPool(n.node.CA.CertFile); err == nil {
		p.caller, err = tls.LoadX509KeyPair(n.callers.Client.CertFile, n.callers.Client.KeyFile)
	}
	if err != nil {
		b.Fatal(err)
	}
	return p
}

func (p *proxy) tls(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: p.roots, ServerName: "localhost",
		Certificates: []tls.Certificate{p.caller}, NextProtos: protocols,
	}
}

// dial opens a connection for a stream, with HTTP/1.1.
func (p *proxy) dial(ctx context.Context) (net.Conn, error) {
	return (&tls.Dialer{Config: p.tls("http/1.1")}).DialContext(ctx, "tcp", p.address)
}
