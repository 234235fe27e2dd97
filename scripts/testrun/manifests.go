// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"path/filepath"
)

// manifestsBuild builds every kustomization with the pinned kubectl. That each
// object is one the API takes is asserted by the tests in manifests/ (strict
// decoding) and, against a real server, by the end-to-end suite.
func manifestsBuild(ctx context.Context, r *run) error {
	kubectl := filepath.Join(r.output, "bin", "kubectl")
	if err := r.command(ctx, "go", "build", "-C", filepath.Join("kind", "node-image", "kubernetes"), "-trimpath", "-ldflags=-s -w",
		"-o", kubectl, "k8s.io/kubernetes/cmd/kubectl"); err != nil {
		return err
	}
	files, err := r.tracked(ctx, "manifests/*kustomization.yaml", "manifests/**/kustomization.yaml")
	if err == nil && len(files) == 0 {
		err = errors.New("there are no kustomizations below manifests/")
	}
	for _, file := range files {
		err = errors.Join(err, r.command(ctx, kubectl, "kustomize", filepath.Dir(file)))
	}
	return err
}
