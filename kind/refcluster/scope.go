// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// scopeAnnotation is what an account is held to its node on.
const scopeAnnotation = "bulkhead.dev/node-scoped-resources"

// ScopeKubeProxy has kube-proxy held to its node, as the example in docs/ says, or held no
// more. It is kubeadm's, and not in a manifest of ours.
func (c *Cluster) ScopeKubeProxy(ctx context.Context, held bool) error {
	change, title := scopeAnnotation+"-", "leaving kube-proxy to RBAC"
	if held {
		value, err := exampleScope(filepath.Join(c.Root, "docs", "examples", "node-scope", "kube-proxy.yaml"))
		if err != nil {
			return err
		}
		change, title = scopeAnnotation+"="+value, "holding kube-proxy to its node"
	}
	return c.Progress.Step(ctx, title, func(ctx context.Context, log io.Writer) error {
		return c.kubectl("annotate", "--overwrite", "--namespace=kube-system", "serviceaccount", "kube-proxy", change).Run(ctx, log)
	})
}

// exampleScope is the annotation of the account that an example begins with.
func exampleScope(file string) (string, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("reading an example: %w", err)
	}
	first, _, _ := bytes.Cut(raw, []byte("\n---\n"))
	var account struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal(first, &account); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	value := account.Metadata.Annotations[scopeAnnotation]
	if value == "" {
		return "", fmt.Errorf("%s: its account has no annotation %s", file, scopeAnnotation)
	}
	return value, nil
}
