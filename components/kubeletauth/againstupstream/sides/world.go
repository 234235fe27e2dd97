// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sides

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/child"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/loopback"
)

// readyTimeout bounds the start of a program.
const readyTimeout = 30 * time.Second

// World is a stand-in for a kubelet and one for a kube-apiserver that run, and the
// files that proxies between them need.
type World struct {
	dir string
	// node is of the CA that the kubelet trusts: its serving certificate, and the
	// client certificate of the proxies. callers is of the cluster's CA, with a caller's.
	node, callers       loopback.Files
	kubeconfig, kubelet string
	standins            *child.Process
}

// CallerGroup is the group of the caller that has a certificate, who is called
// [CallerName].
const (
	CallerName  = "monitoring:scraper"
	CallerGroup = "monitoring:scrapers"
)

// New builds the programs and starts the stand-ins, with everything in a directory.
func New(ctx context.Context, root, dir string) (*World, error) {
	w := &World{dir: dir}
	err := errors.Join(
		child.Build(ctx, root, "-o", filepath.Join(dir, ours), "./components/cmd/kubelet-auth-proxy"),
		child.Build(ctx, filepath.Join(root, "components/kubeletauth/againstupstream"), "-o", dir+string(filepath.Separator), "./cmd/standins", "./cmd/bareproxy"),
		w.writeFiles(),
	)
	if err != nil {
		return nil, err
	}
	return w, w.startStandins(ctx)
}

func (w *World) writeFiles() (err error) {
	for _, files := range []struct {
		to                *loopback.Files
		name, user, group string
	}{{&w.node, "node", "bulkhead:kubelet-auth-proxy", "system:nodes"}, {&w.callers, "callers", CallerName, CallerGroup}} {
		dir := filepath.Join(w.dir, files.name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		if *files.to, err = loopback.NewFiles(dir, files.user, files.group); err != nil {
			return err
		}
	}
	// As on a node: a folder of revocation lists, without one.
	return os.Mkdir(w.revocation(), 0o700)
}

func (w *World) revocation() string { return filepath.Join(w.dir, "crl") }

func (w *World) startStandins(ctx context.Context) (err error) {
	apiServer, err := freeAddress()
	if err != nil {
		return err
	}
	if w.kubelet, err = freeAddress(); err != nil {
		return err
	}
	w.kubeconfig = filepath.Join(w.dir, "kubeconfig")
	if err := w.node.WriteKubeconfig(w.kubeconfig, "https://"+apiServer); err != nil {
		return err
	}
	w.standins, err = child.Start(ctx, w.dir, "standins", nil,
		"-kubelet="+w.kubelet, "-apiserver="+apiServer, "-latency="+Latency.String(),
		"-cert="+w.node.Server.CertFile, "-key="+w.node.Server.KeyFile, "-client-ca="+w.node.CA.CertFile)
	if err != nil {
		return err
	}
	return w.standins.WaitUntil(ctx, readyTimeout, func() bool { return listens(w.kubelet) && listens(apiServer) })
}

// Stop ends the stand-ins.
func (w *World) Stop() { w.standins.Stop() }

func freeAddress() (string, error) {
	port, err := loopback.FreePort()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), err
}

func listens(address string) bool {
	connection, err := net.DialTimeout("tcp", address, time.Second) //nolint:noctx // bounded by its own time
	if err != nil {
		return false
	}
	return connection.Close() == nil
}

// InWorld does the work in a world that is gone after it.
func InWorld(ctx context.Context, plan Plan, work func(*World) error) error {
	return loopback.InDirectory(func(dir string) error {
		plan.Say("building kubelet-auth-proxy and what it is measured with")
		w, err := New(ctx, plan.Root, dir)
		if err != nil {
			return fmt.Errorf("starting what stands in for a node: %w", err)
		}
		defer w.Stop()
		return work(w)
	})
}
