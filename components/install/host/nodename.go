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

// NodeName returns the node name of this host, from the kubelet's certificate. If that cannot be
// read, it returns the host name, which is the kubelet's default.
func (l Layout) NodeName() string {
	if name, err := l.kubeletName(); err == nil {
		return name
	}
	name, _ := os.Hostname() // an empty name matches no node
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
		return "", fmt.Errorf("%s is not a node", cert.Subject.CommonName)
	}
	return name, nil
}
