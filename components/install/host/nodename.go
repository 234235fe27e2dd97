// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"os"
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
