// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

func (n *testNode) Proxy(context.Context) (Proxy, error) {
	n.proxyMu.Lock()
	defer n.proxyMu.Unlock()
	n.asked++
	if n.apiAway {
		return Proxy{}, errors.New("connection refused")
	}
	if n.proxyLate > 0 {
		n.proxyLate--
		return Proxy{}, nil
	}
	if !n.proxyWanted {
		return Proxy{}, nil
	}
	proxy := Proxy{Address: "192.0.2.1:10250", LoopbackClients: n.clusterLoopback}
	if n.proxyStarts > 0 {
		n.proxyStarts--
		proxy.Starting = "pod kube-system/proxy does not run: ImagePullBackOff"
	}
	return proxy, nil
}

func (n *testNode) ProxyServes(context.Context, string) error {
	n.serveIfFilesExist()
	if have, err := os.ReadFile(filepath.Join(n.layout.KubeletProxy(), "kubelet-serving.pem")); err != nil ||
		string(have) != n.certificate {
		return fmt.Errorf("it serves with %q, %w", have, err)
	}
	if !n.proxyRuns {
		return errors.New("connection refused")
	}
	return nil
}

func (n *testNode) Evict(ctx context.Context) error {
	if n.duringEvict != nil {
		n.duringEvict()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if n.running {
		return errors.New("the kubelet would start it again")
	}
	n.proxyRuns = false
	return nil
}
