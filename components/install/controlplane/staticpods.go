// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/render"
	"github.com/bulkhead-k8s/bulkhead/components/install/staticpod"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// nodeAuthorizerPod returns node-authorizer's static pod for these options and this API server.
func nodeAuthorizerPod(l host.Layout, o Options, server *apiserver.Manifest) ([]byte, error) {
	pod, err := render.Pod(l, manifests.NodeAuthorizerStaticPod, "node-authorizer", o.Image)
	if err != nil {
		return nil, err
	}
	pod.SetArg("mode", o.Profile.mode())
	o.Extensions.setArgs(pod, o.Profile)
	o.NodeScope.SetArgs(pod)
	features := nodeauthorizer.DefaultFeatures()
	setGates(pod, server, features.ByGate())
	return pod.YAML()
}

// nodeRestrictionPod returns node-restriction's static pod. configured is true if it reads a
// configuration file.
func nodeRestrictionPod(l host.Layout, o Options, server *apiserver.Manifest, configured bool) ([]byte, error) {
	pod, err := render.Pod(l, manifests.NodeRestrictionStaticPod, "node-restriction", o.Image)
	if err != nil {
		return nil, err
	}
	if configured {
		pod.SetArg("config", l.RestrictionPolicy())
	}
	if audiences := server.Audiences(); len(audiences) > 0 {
		pod.SetArg("api-audiences", strings.Join(audiences, ","))
	}
	o.Extensions.setModes(pod, o.Profile, restrictionRules)
	o.NodeScope.SetArgs(pod)
	features := noderestriction.DefaultFeatures()
	setGates(pod, server, features.ByGate())
	return pod.YAML()
}

// certsPod returns the static pod that renews certificates.
func certsPod(l host.Layout, o Options) ([]byte, error) {
	data, err := render.HostFile(l, manifests.CertsStaticPod)
	if err != nil {
		return nil, err
	}
	data = []byte(strings.ReplaceAll(string(data), "/etc/kubernetes/pki", l.KubePKI))
	pod, err := staticpod.Parse(data, CertsContainer)
	if err != nil {
		return nil, err
	}
	pod.SetImage(o.Image)
	pod.SetArg("cert-validity", o.Certificates.Validity.String())
	pod.SetArg("cert-renew-before", o.Certificates.RenewBefore.String())
	return pod.YAML()
}

// approverPod returns the static pod that approves kubelets' serving certificates. It returns nil
// if the options do not include it.
func approverPod(l host.Layout, o Options) ([]byte, error) {
	if !o.GuardsKubelets() {
		return nil, nil
	}
	pod, err := render.Pod(l, manifests.KubeletApproverStaticPod, ApproverContainer, o.Image)
	if err != nil {
		return nil, err
	}
	return pod.YAML()
}

// apiObjects returns the API objects of Bulkhead's components, as their kustomizations list them.
func apiObjects() ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, dir := range []string{"node-authorizer", "node-restriction", "flowcontrol"} {
		objects, err := render.Objects(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, nil
}

// guardObjects returns the RBAC objects for the protection of the kubelets' API.
func guardObjects() ([]*unstructured.Unstructured, error) {
	approver, err := render.Objects("kubelet-approver")
	if err != nil {
		return nil, err
	}
	api, err := render.Objects("kubelet-api")
	return append(approver, api...), err
}

// setGates copies those feature gates of kube-apiserver that change what a node may do. A component
// with different gates would deny requests that the in-tree code allows.
func setGates(pod *staticpod.Pod, server *apiserver.Manifest, known map[string]*bool) {
	if gates := gatesOf(server, known); gates != "" {
		pod.SetArg("feature-gates", gates)
	}
}

// gatesOf returns the known gates, parsed as the server does, in a fixed order.
func gatesOf(server *apiserver.Manifest, known map[string]*bool) string {
	var gates []string
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if on, said := server.Gate(name); said {
			gates = append(gates, fmt.Sprintf("%s=%t", name, on))
		}
	}
	return strings.Join(gates, ",")
}
