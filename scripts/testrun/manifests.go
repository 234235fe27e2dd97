// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// manifestsBuild builds every kustomization with the pinned kubectl. That each
// object is one the API takes is asserted by the tests in manifests/ (strict
// decoding) and, against a real server, by manifestsAgainstAPI.
func manifestsBuild(ctx context.Context, l *lane) error {
	kubectl := filepath.Join(l.output, "bin", "kubectl")
	// One that is there is the pinned one.
	if _, err := os.Stat(kubectl); err != nil {
		if err := l.works.refcluster(ctx, l.out, "tools"); err != nil {
			return err
		}
	}
	files, err := l.tracked(ctx, "manifests/*kustomization.yaml", "manifests/**/kustomization.yaml")
	if err == nil && len(files) == 0 {
		err = errors.New("there are no kustomizations below manifests/")
	}
	for _, file := range files {
		err = errors.Join(err, l.command(ctx, kubectl, "kustomize", filepath.Dir(file)))
	}
	return err
}

// manifestsAgainstAPI has the API server judge, without keeping anything, every
// object that production applies and every static pod.
func manifestsAgainstAPI(ctx context.Context, l *lane) (count, error) {
	kubectl := []string{filepath.Join(l.output, "bin", "kubectl"), "--kubeconfig", l.kubeconfig()}
	kustomizations, err := l.tracked(ctx, "manifests/**/kustomization.yaml")
	if err != nil {
		return count{}, err
	}
	pods, err := l.tracked(ctx, "manifests/**/static-pod.yaml")
	if err != nil {
		return count{}, err
	}
	var counted count
	judge := func(args ...string) {
		if err := l.command(ctx, slices.Concat(kubectl, args)...); err != nil {
			fmt.Fprintf(l.out, "    %v: %v\n", args, err)
			counted.failed++
			return
		}
		counted.passed++
	}
	for _, file := range kustomizations {
		judge("apply", "--dry-run=server", "--validate=strict", "--kustomize", filepath.Dir(file))
	}
	for _, file := range pods {
		judge("create", "--dry-run=server", "--validate=strict", "--filename", file)
	}
	return counted, nil
}
