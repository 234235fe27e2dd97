// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"path/filepath"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/child"
)

// programs puts etcd, kube-apiserver and our two programs into a directory. The
// former two come out of the node image; where there is none, they are built
// from the modules that the node image is built from.
func programs(ctx context.Context, root, dir string, say func(string, ...any)) error {
	if err := child.Build(ctx, root, "-o", dir+string(filepath.Separator), "./components/cmd/node-authorizer", "./components/cmd/node-restriction"); err != nil {
		return err
	}
	err := fromNodeImage(ctx, dir, "etcd", "kube-apiserver")
	if err == nil || ctx.Err() != nil {
		return err
	}
	say("whole process: %v: building kube-apiserver and etcd, which may take minutes", err)
	modules := filepath.Join(root, "kind", "node-image")
	if err := child.Build(ctx, filepath.Join(modules, "etcd"), "-o", filepath.Join(dir, "etcd"), "go.etcd.io/etcd/server/v3"); err != nil {
		return err
	}
	return child.Build(ctx, filepath.Join(modules, "kubernetes"), "-o", filepath.Join(dir, "kube-apiserver"), "k8s.io/kubernetes/cmd/kube-apiserver")
}
