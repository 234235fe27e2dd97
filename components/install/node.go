// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
)

// NodeName is what the cluster calls this host: the name in the kubelet's
// certificate. Where that cannot be read it is the host's name, as it is for a
// kubelet that has been told nothing else.
func (l Layout) NodeName() string {
	if name, err := l.kubeletName(); err == nil {
		return name
	}
	name, _ := os.Hostname() // no name is no node's name
	return strings.ToLower(strings.TrimSpace(name))
}

func (l Layout) kubeletName() (string, error) {
	config, err := clientcmd.LoadFromFile(l.KubeletConf)
	if err != nil {
		return "", err
	}
	if err := clientcmd.ResolveLocalPaths(config); err != nil {
		return "", err
	}
	current := config.Contexts[config.CurrentContext]
	if current == nil || config.AuthInfos[current.AuthInfo] == nil {
		return "", errors.New("it names no user")
	}
	data := config.AuthInfos[current.AuthInfo].ClientCertificateData
	if len(data) == 0 {
		if data, err = os.ReadFile(config.AuthInfos[current.AuthInfo].ClientCertificate); err != nil {
			return "", err
		}
	}
	cert, err := pki.ParseCert(data)
	if err != nil {
		return "", err
	}
	name, isNode := strings.CutPrefix(cert.Subject.CommonName, "system:node:")
	if !isNode {
		return "", fmt.Errorf("%s is no node", cert.Subject.CommonName)
	}
	return name, nil
}

// elsewhere names the other hosts on which a component of ours runs. What is
// shared in the API stays while there is one.
func (in *Installer) elsewhere(ctx context.Context) (string, error) {
	return in.runningElsewhere(ctx, NodeAuthorizer.Name, NodeRestriction.Name)
}

// runningElsewhere names the other hosts on which one of these components runs.
func (in *Installer) runningElsewhere(ctx context.Context, components ...string) (string, error) {
	var others []string
	for _, component := range components {
		nodes, err := in.API.ComponentNodes(ctx, component)
		if err != nil {
			return "", err
		}
		others = append(others, nodes...)
	}
	// Every kubelet can make a mirror pod of that name. No node gives itself the label
	// of a control plane.
	hosts, err := in.API.ControlPlaneNodes(ctx)
	if err != nil {
		return "", err
	}
	own := in.Layout.NodeName()
	others = slices.DeleteFunc(others, func(node string) bool { return node == own || !slices.Contains(hosts, node) })
	slices.Sort(others)
	return strings.Join(slices.Compact(others), ", "), nil
}
