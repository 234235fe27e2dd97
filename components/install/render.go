// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/components/install/staticpod"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// rbacDir is the kustomization with the node authorizer's API objects.
const rbacDir = "node-authorizer"

// hostFile reads a manifest that names files on the host.
func (l Layout) hostFile(name string) ([]byte, error) {
	data, err := manifests.FS.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return []byte(strings.ReplaceAll(string(data), DefaultStateDir, l.State)), nil
}

// nodeAuthorizerPod is the node authorizer's static pod for these options and
// these feature gates of the API server.
func (l Layout) nodeAuthorizerPod(o Options, gates string) ([]byte, error) {
	data, err := l.hostFile(manifests.NodeAuthorizerStaticPod)
	if err != nil {
		return nil, err
	}
	pod, err := staticpod.Parse(data, "node-authorizer")
	if err != nil {
		return nil, err
	}
	pod.SetImage(o.Image)
	pod.SetArg("mode", o.Profile.mode())
	if gates != "" {
		pod.SetArg("feature-gates", gates)
	}
	return pod.YAML()
}

// certsPod is the static pod that renews certificates.
func (l Layout) certsPod(o Options) ([]byte, error) {
	data, err := l.hostFile("certs/static-pod.yaml")
	if err != nil {
		return nil, err
	}
	data = []byte(strings.ReplaceAll(string(data), "/etc/kubernetes/pki", l.KubePKI))
	pod, err := staticpod.Parse(data, "certs")
	if err != nil {
		return nil, err
	}
	pod.SetImage(o.Image)
	pod.SetArg("cert-validity", o.Certificates.Validity.String())
	pod.SetArg("cert-renew-before", o.Certificates.RenewBefore.String())
	return pod.YAML()
}

// nodeAuthorizerKubeconfig is how the node authorizer reaches the API server on
// its own host.
func (l Layout) nodeAuthorizerKubeconfig(endpoint string) ([]byte, error) {
	const name = "kube-apiserver"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{
		Server: endpoint, CertificateAuthority: path.Join(l.NodeAuthorizer(), "kube-ca.crt"),
	}
	client := pair(l.NodeAuthorizer(), "client")
	config.AuthInfos[NodeAuthorizerUser] = &clientcmdapi.AuthInfo{
		ClientCertificate: client.CertFile, ClientKey: client.KeyFile,
	}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: NodeAuthorizerUser}
	config.CurrentContext = name
	return clientcmd.Write(*config)
}

// rbacObjects are the API objects of the node authorizer, as its kustomization
// lists them.
func rbacObjects() ([]*unstructured.Unstructured, error) {
	index, err := manifests.FS.ReadFile(path.Join(rbacDir, "kustomization.yaml"))
	if err != nil {
		return nil, err
	}
	var kustomization struct {
		Resources []string `json:"resources"`
	}
	if err := yaml.Unmarshal(index, &kustomization); err != nil {
		return nil, fmt.Errorf("reading kustomization: %w", err)
	}
	var objects []*unstructured.Unstructured
	for _, name := range kustomization.Resources {
		data, err := manifests.FS.ReadFile(path.Join(rbacDir, name))
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(data, &object.Object); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}
