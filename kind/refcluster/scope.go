// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package refcluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"
)

const (
	// scopeAnnotation is the annotation with the scope of an account.
	scopeAnnotation = "bulkhead.dev/node-scoped-resources"
	// kubeProxy is the ServiceAccount of kubeadm's DaemonSet, in kubeSystem.
	kubeProxy  = "kube-proxy"
	kubeSystem = "kube-system"
)

// MarkKubeProxy annotates kube-proxy's account as in the example in docs/. The scope applies as
// soon as node scope is on. kubeadm creates the account, so it is not in Bulkhead's manifests.
func (c *Cluster) MarkKubeProxy(ctx context.Context) error {
	value, err := exampleScope(filepath.Join(c.Root, "docs", "examples", "node-scope", "kube-proxy.yaml"))
	if err != nil {
		return err
	}
	return c.annotateKubeProxy(ctx, "annotating kube-proxy with a node scope", scopeAnnotation+"="+value)
}

// UnmarkKubeProxy removes the annotation of MarkKubeProxy.
func (c *Cluster) UnmarkKubeProxy(ctx context.Context) error {
	return c.annotateKubeProxy(ctx, "removing the node scope of kube-proxy", scopeAnnotation+"-")
}

func (c *Cluster) annotateKubeProxy(ctx context.Context, title, change string) error {
	return c.Progress.Step(ctx, title, func(ctx context.Context, log io.Writer) error {
		return c.kubectl("annotate", "--overwrite", "--namespace="+kubeSystem, "serviceaccount", kubeProxy, change).Run(ctx,
			log)
	})
}

// AwaitKubeProxy waits until the node scope of kube-proxy is live.
func (c *Cluster) AwaitKubeProxy(ctx context.Context) error {
	return c.Progress.Step(ctx, "waiting until the node scope of kube-proxy is live",
		func(ctx context.Context, log io.Writer) error {
			return poll(ctx, 2*time.Minute, func() (bool, error) {
				list, err := c.exec(ctx, log, c.ControlPlane(), "bulkhead", "scope", "list", "--output=json",
					"--kubeconfig=/etc/kubernetes/admin.conf")
				if err != nil {
					return false, fmt.Errorf("bulkhead scope list: %w", err)
				}
				err = kubeProxyScoped([]byte(list))
				return err == nil, err
			})
		})
}

// kubeProxyScoped parses the output of `bulkhead scope list`. It returns an error with the reason if
// kube-proxy's scope is not live yet.
func kubeProxyScoped(list []byte) error {
	var told struct {
		Accounts []struct{ Namespace, ServiceAccount, Authorization, Admission string }
		Hosts    []struct{ Node, Problem string }
	}
	if err := json.Unmarshal(list, &told); err != nil {
		return fmt.Errorf("reading what bulkhead scope list prints: %w", err)
	}
	err := errors.New("node scope does not know the account kube-proxy")
	for _, a := range told.Accounts {
		if a.Namespace != kubeSystem || a.ServiceAccount != kubeProxy {
			continue
		}
		if a.Authorization == "live" && a.Admission == "live" {
			return nil
		}
		err = fmt.Errorf("of kube-proxy authorization is %s and admission is %s", a.Authorization, a.Admission)
	}
	for _, h := range told.Hosts {
		if h.Problem != "" {
			err = fmt.Errorf("%w; %s: %s", err, h.Node, h.Problem)
		}
	}
	return err
}

// exampleScope returns the scope annotation of the account at the beginning of an example.
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
