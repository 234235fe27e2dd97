// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/keyutil"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/child"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/loopback"
)

// readyTimeout bounds the start of etcd and kube-apiserver, which reads everything
// from etcd first.
const readyTimeout = 3 * time.Minute

// controlPlane is a kube-apiserver on an etcd.
type controlPlane struct {
	dir        string
	files      loopback.Files
	kubeconfig string
	client     kubernetes.Interface
	etcd       *clientv3.Client
	store      *store
	children   []*child.Process
}

// stop ends what runs, last first.
func (p *controlPlane) stop() {
	if p.etcd != nil {
		_ = p.etcd.Close()
	}
	for i := len(p.children) - 1; i >= 0; i-- {
		p.children[i].Stop()
	}
}

// startEtcd does not wait for the disk: nothing in it outlives the measurement.
func (p *controlPlane) startEtcd(ctx context.Context) error {
	client, err := loopback.FreePort()
	if err != nil {
		return err
	}
	peer, err := loopback.FreePort()
	if err != nil {
		return err
	}
	clientURL, peerURL := fmt.Sprintf("http://127.0.0.1:%d", client), fmt.Sprintf("http://127.0.0.1:%d", peer)
	etcd, err := child.Start(ctx, p.dir, "etcd", nil,
		"--data-dir="+filepath.Join(p.dir, "data"), "--unsafe-no-fsync", "--quota-backend-bytes=8000000000", "--log-level=warn",
		"--listen-client-urls="+clientURL, "--advertise-client-urls="+clientURL,
		"--listen-peer-urls="+peerURL, "--initial-advertise-peer-urls="+peerURL, "--initial-cluster=default="+peerURL)
	if err != nil {
		return err
	}
	p.children = append(p.children, etcd)
	if p.etcd, err = clientv3.New(clientv3.Config{Endpoints: []string{clientURL}, Logger: zap.NewNop()}); err != nil {
		return fmt.Errorf("making a client of etcd: %w", err)
	}
	p.store = newStore(p.etcd)
	return etcd.WaitUntil(ctx, readyTimeout, func() bool {
		asking, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := p.etcd.Get(asking, "health")
		return err == nil
	})
}

// startAPIServer waits until kube-apiserver says that it is ready, which includes
// that it has read all objects from etcd. Authorization is not what is measured
// here, so everything is allowed.
func (p *controlPlane) startAPIServer(ctx context.Context) error {
	port, err := loopback.FreePort()
	if err != nil {
		return err
	}
	key, err := p.writeTokenKey()
	if err != nil {
		return err
	}
	server, err := child.Start(ctx, p.dir, "kube-apiserver", nil,
		"--etcd-servers="+p.etcd.Endpoints()[0], "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none", "--service-cluster-ip-range=198.51.100.0/24",
		"--tls-cert-file="+p.files.Server.CertFile, "--tls-private-key-file="+p.files.Server.KeyFile, "--client-ca-file="+p.files.CA.CertFile,
		"--service-account-issuer=https://benchmark.invalid", "--service-account-key-file="+key,
		"--service-account-signing-key-file="+key, "--cert-dir="+filepath.Join(p.dir, "certs"),
		"--authorization-mode=AlwaysAllow")
	if err != nil {
		return err
	}
	p.children = append(p.children, server)
	if err := p.connect(fmt.Sprintf("https://127.0.0.1:%d", port)); err != nil {
		return err
	}
	return server.WaitUntil(ctx, readyTimeout, func() bool {
		return p.client.CoreV1().RESTClient().Get().AbsPath("/readyz").Timeout(time.Second).Do(ctx).Error() == nil
	})
}

// writeTokenKey makes the key that kube-apiserver will not start without.
func (p *controlPlane) writeTokenKey() (file string, err error) {
	key, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return "", fmt.Errorf("making a key: %w", err)
	}
	file = filepath.Join(p.dir, "tokens.key")
	return file, os.WriteFile(file, key, 0o600)
}

// connect writes the kubeconfig that the node-authorizer is given, and makes a
// client of our own with the same certificate.
func (p *controlPlane) connect(server string) error {
	p.kubeconfig = filepath.Join(p.dir, "kubeconfig")
	if err := p.files.WriteKubeconfig(p.kubeconfig, server); err != nil {
		return err
	}
	var err error
	p.client, err = kubernetes.NewForConfig(&rest.Config{
		Host:            server,
		TLSClientConfig: rest.TLSClientConfig{CAFile: p.files.CA.CertFile, CertFile: p.files.Client.CertFile, KeyFile: p.files.Client.KeyFile},
		ContentConfig:   rest.ContentConfig{ContentType: runtimeProtobuf, AcceptContentTypes: runtimeProtobuf},
	})
	return err
}

const runtimeProtobuf = "application/vnd.kubernetes.protobuf"
