// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/staticpod"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// hostFile reads a manifest that names files on the host.
func (l Layout) hostFile(name string) ([]byte, error) {
	data, err := manifests.FS.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return []byte(strings.ReplaceAll(string(data), DefaultStateDir, l.State)), nil
}

// nodeAuthorizerPod is the node authorizer's static pod for these options and this
// API server.
func (l Layout) nodeAuthorizerPod(o Options, server *apiserver.Manifest) ([]byte, error) {
	pod, err := l.pod(manifests.NodeAuthorizerStaticPod, "node-authorizer", o)
	if err != nil {
		return nil, err
	}
	pod.SetArg("mode", o.Profile.mode())
	o.Beyond.setArgs(pod, o.Profile)
	o.NodeScope.setArgs(pod)
	features := nodeauthorizer.DefaultFeatures()
	setGates(pod, server, features.ByGate())
	return pod.YAML()
}

// nodeRestrictionPod is node-restriction's. configured is true if it has a policy to
// read.
func (l Layout) nodeRestrictionPod(o Options, server *apiserver.Manifest, configured bool) ([]byte, error) {
	pod, err := l.pod(manifests.NodeRestrictionStaticPod, "node-restriction", o)
	if err != nil {
		return nil, err
	}
	if configured {
		pod.SetArg("config", l.RestrictionPolicy())
	}
	if audiences := server.Audiences(); len(audiences) > 0 {
		pod.SetArg("api-audiences", strings.Join(audiences, ","))
	}
	o.Beyond.setModes(pod, o.Profile, restrictionRules)
	o.NodeScope.setArgs(pod)
	features := noderestriction.DefaultFeatures()
	setGates(pod, server, features.ByGate())
	return pod.YAML()
}

// pod reads the manifest of a component.
func (l Layout) pod(manifest, container string, o Options) (*staticpod.Pod, error) {
	data, err := l.hostFile(manifest)
	if err != nil {
		return nil, err
	}
	pod, err := staticpod.Parse(data, container)
	if err != nil {
		return nil, err
	}
	pod.SetImage(o.Image)
	return pod, nil
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

// approverPod is the static pod that approves kubelets' serving certificates; nil in
// a profile that has none.
func (l Layout) approverPod(o Options) ([]byte, error) {
	if !o.GuardsKubelets() {
		return nil, nil
	}
	pod, err := l.pod(manifests.KubeletApproverStaticPod, approverContainer, o)
	if err != nil {
		return nil, err
	}
	return pod.YAML()
}

// kubeconfig is how the component in dir reaches the API server on its own host.
func (l Layout) kubeconfig(endpoint, dir, user string) ([]byte, error) {
	const name = "kube-apiserver"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{
		Server: endpoint, CertificateAuthority: path.Join(dir, "kube-ca.crt"),
	}
	client := pair(dir, "client")
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{
		ClientCertificate: client.CertFile, ClientKey: client.KeyFile,
	}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	config.CurrentContext = name
	return clientcmd.Write(*config)
}

// apiObjects are the API objects of our components, as their kustomizations list
// them.
func apiObjects() ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, dir := range []string{"node-authorizer", "node-restriction", "flowcontrol"} {
		objects, err := objectsIn(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, nil
}

// guardObjects are who may what where the kubelets' API is guarded.
func guardObjects() ([]*unstructured.Unstructured, error) {
	approver, err := objectsIn("kubelet-approver")
	if err != nil {
		return nil, err
	}
	api, err := objectsIn("kubelet-api")
	return append(approver, api...), err
}

func objectsIn(dir string) ([]*unstructured.Unstructured, error) {
	index, err := manifests.FS.ReadFile(path.Join(dir, "kustomization.yaml"))
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
		data, err := manifests.FS.ReadFile(path.Join(dir, name))
		if err != nil {
			return nil, err
		}
		object, err := objectOf(data)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// objectOf reads one object with its numbers as the API server gives them back.
func objectOf(manifest []byte) (*unstructured.Unstructured, error) {
	data, err := yaml.YAMLToJSON(manifest)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	return object, utiljson.Unmarshal(data, &object.Object)
}
