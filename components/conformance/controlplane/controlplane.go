// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/keyutil"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/loopback"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/subprocess"
)

// readyTimeout bounds the start of a program. kube-apiserver first reads all objects from etcd.
const readyTimeout = 3 * time.Minute

// ControlPlane is a kube-apiserver with an etcd, filled with the objects of a cluster.
type ControlPlane struct {
	// Files are the certificates of the API server and of every webhook. The client is a member of
	// system:masters.
	Files loopback.Files
	// Kubeconfig is the path of the client's kubeconfig.
	Kubeconfig string
	Size       Size
	Client     kubernetes.Interface

	dir      string
	etcd     *clientv3.Client
	programs []*subprocess.Process
}

// Start starts etcd and kube-apiserver, with all files in dir. It uses the programs in PATH. It
// builds missing programs, which takes minutes the first time.
func Start(ctx context.Context, root, dir string, size Size) (p *ControlPlane, err error) {
	p = &ControlPlane{dir: dir, Size: size}
	if p.Files, err = loopback.NewFiles(dir, loopback.ClientName, "system:masters"); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context, string) error{p.startEtcd, p.fill, p.startAPIServer} {
		if err := step(ctx, root); err != nil {
			p.Stop()
			return nil, err
		}
	}
	return p, nil
}

// program finds or builds a program.
func (p *ControlPlane) program(ctx context.Context, module, name, path string) (string, error) {
	if found, err := exec.LookPath(name); err == nil {
		return found, nil
	}
	fmt.Fprintf(os.Stderr, "building %s\n", path)
	output := filepath.Join(p.dir, name)
	return output, subprocess.Build(ctx, module, output, path)
}

// Stop stops the programs in reverse order.
func (p *ControlPlane) Stop() {
	if p.etcd != nil {
		_ = p.etcd.Close()
	}
	for i := len(p.programs) - 1; i >= 0; i-- {
		p.programs[i].Stop()
	}
}

// startEtcd starts etcd without fsync, because the data is not needed after the measurement.
func (p *ControlPlane) startEtcd(ctx context.Context, root string) error {
	program, err := p.program(
		ctx,
		filepath.Join(root, "kind", "node-image", "etcd"),
		"etcd",
		"go.etcd.io/etcd/server/v3",
	)
	if err != nil {
		return err
	}
	client, err := loopback.FreePort()
	if err != nil {
		return err
	}
	peer, err := loopback.FreePort()
	if err != nil {
		return err
	}
	clientURL, peerURL := fmt.Sprintf("http://127.0.0.1:%d", client), fmt.Sprintf("http://127.0.0.1:%d", peer)
	etcd, err := subprocess.Start(
		ctx,
		p.dir,
		program,
		nil,
		"--data-dir="+filepath.Join(
			p.dir,
			"data",
		),
		"--unsafe-no-fsync",
		"--quota-backend-bytes=8000000000",
		"--log-level=warn",
		"--listen-client-urls="+clientURL,
		"--advertise-client-urls="+clientURL,
		"--listen-peer-urls="+peerURL,
		"--initial-advertise-peer-urls="+peerURL,
		"--initial-cluster=default="+peerURL,
	)
	if err != nil {
		return err
	}
	p.programs = append(p.programs, etcd)
	if p.etcd, err = clientv3.New(clientv3.Config{Endpoints: []string{clientURL}, Logger: zap.NewNop()}); err != nil {
		return fmt.Errorf("making a client of etcd: %w", err)
	}
	return etcd.WaitUntil(ctx, readyTimeout, func() bool {
		asking, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := p.etcd.Get(asking, "health")
		return err == nil
	})
}

// startAPIServer waits until kube-apiserver is ready. Then it has read all objects from etcd. It
// allows every request, because authorization is not measured here.
func (p *ControlPlane) startAPIServer(ctx context.Context, root string) error {
	module := filepath.Join(root, "kind", "node-image", "kubernetes")
	program, err := p.program(ctx, module, "kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver")
	if err != nil {
		return err
	}
	port, err := loopback.FreePort()
	if err != nil {
		return err
	}
	key, err := p.writeTokenKey()
	if err != nil {
		return err
	}
	server, err := subprocess.Start(
		ctx,
		p.dir,
		program,
		nil,
		"--etcd-servers="+p.etcd.Endpoints()[0],
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--advertise-address=192.0.2.1",
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=198.51.100.0/24",
		"--tls-cert-file="+p.Files.Server.CertFile,
		"--tls-private-key-file="+p.Files.Server.KeyFile,
		"--client-ca-file="+p.Files.CA.CertFile,
		"--service-account-issuer=https://benchmark.invalid",
		"--service-account-key-file="+key,
		"--service-account-signing-key-file="+key,
		"--cert-dir="+filepath.Join(p.dir, "certs"),
		"--authorization-mode=AlwaysAllow",
	)
	if err != nil {
		return err
	}
	p.programs = append(p.programs, server)
	if err := p.connect(fmt.Sprintf("https://127.0.0.1:%d", port)); err != nil {
		return err
	}
	return server.WaitUntil(ctx, readyTimeout, func() bool {
		return p.Client.CoreV1().RESTClient().Get().AbsPath("/readyz").Timeout(time.Second).Do(ctx).Error() == nil
	})
}

// writeTokenKey writes the key for service account tokens, which kube-apiserver requires.
func (p *ControlPlane) writeTokenKey() (file string, err error) {
	key, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return "", fmt.Errorf("making a key: %w", err)
	}
	file = filepath.Join(p.dir, "tokens.key")
	return file, os.WriteFile(file, key, 0o600)
}

// connect writes the kubeconfig, and creates a client with the same certificate.
func (p *ControlPlane) connect(server string) error {
	p.Kubeconfig = filepath.Join(p.dir, "kubeconfig")
	if err := p.Files.WriteKubeconfig(p.Kubeconfig, server); err != nil {
		return err
	}
	var err error
	p.Client, err = kubernetes.NewForConfig(&rest.Config{
		Host: server,
		TLSClientConfig: rest.TLSClientConfig{
			CAFile:   p.Files.CA.CertFile,
			CertFile: p.Files.Client.CertFile,
			KeyFile:  p.Files.Client.KeyFile,
		},
		ContentConfig: rest.ContentConfig{ContentType: runtimeProtobuf, AcceptContentTypes: runtimeProtobuf},
	})
	return err
}

const runtimeProtobuf = "application/vnd.kubernetes.protobuf"
