// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// comparedRequest is a request whose answers are compared. Bulkhead denies it, or it is about an
// object of the node under test and succeeds.
type comparedRequest struct {
	Request

	who    *Identity
	denied bool
}

// guessedUID is the UID that the node assumes for pods whose UID it does not know.
const guessedUID types.UID = "0f5e7a31-7d0e-4a8e-9d62-1c1a5f0c9b44"

// requests returns the requests of a round. Writes are dry runs.
//
// No two requests make node-authorizer read for the same node, kind and name. It reads again after
// 250 ms only, so the number of reads would depend on the speed of the machine. Therefore the node
// and the pod ask about different names.
//
// The documented differences are left out (docs/threat-model.md, "What a node can notice of other
// nodes"): values that only one node can use, and pods by name in NR-SA-2, NR-SA-3, NR-PCR-3 and
// NR-POD-8. So are requests that the API server answers itself: the deletion and the status of a pod
// that does not exist (404), and the creation of an object that exists (409).
func (p *pair) requests(g *unrelatedGenerator) []comparedRequest {
	var all []comparedRequest
	add := func(who *Identity, denied bool, requests ...Request) {
		for _, request := range requests {
			all = append(all, comparedRequest{request, who, denied})
		}
	}
	half := namesInRound / 2
	add(p.node, false, p.ofNode()...)
	add(p.node, true, readsOfNode(g, g.names[:half])...)
	add(p.node, true, writesOfNode(g, g.names[:half])...)
	add(p.node, true, admittedOfNode(g, g.names[:half], p.env.Own)...)
	if p.agent != nil {
		add(p.agent, false, p.ofAgent()...)
		add(p.agent, true, requestsOfAgent(g, g.names[half:], p.env.Own)...)
	}
	return all
}

// ofNode are requests of the node about its own objects.
func (p *pair) ofNode() []Request {
	return append(p.ofAgent(), Patch(api.Nodes).Named(p.env.Own),
		Create(api.Events).In(p.pod.Namespace).With(fixtures.EventAbout(p.pod, p.pod.Name, p.env.Own)))
}

// ofAgent are requests of the scoped pod about objects of its node.
func (p *pair) ofAgent() []Request {
	return []Request{
		getSecret(p.pod.Namespace, p.secret), Get(api.Pods).In(p.pod.Namespace).Named(p.pod.Name),
		List(api.Pods).Where("spec.nodeName=" + p.env.Own), Get(api.Nodes).Named(p.env.Own),
	}
}

func readsOfNode(g *unrelatedGenerator, names []string) []Request {
	return []Request{
		getSecret(g.namespace, names[0]), listSecret(g.namespace, names[1]),
		Get(api.ConfigMaps).In(g.namespace).Named(names[0]),
		Get(api.PersistentVolumeClaims).In(g.namespace).Named(names[0]),
		Get(api.PersistentVolumes).Named(names[0]), Get(api.VolumeAttachments).Named(names[0]),
		Get(api.ResourceClaims).In(g.namespace).Named(names[0]),
		Get(api.ResourceSlices).Named(names[0]), Get(api.CertificateSigningRequests).Named(names[0]),
		Get(api.Pods).In(g.namespace).Named(names[0]), List(api.Pods).Where("spec.nodeName=" + g.other),
		Get(api.Nodes).Named(g.other), Get(api.CSINodes).Named(g.other),
		Get(api.Leases).In(fixtures.LeaseNamespace).Named(g.other),
	}
}

// writesOfNode are writes that node-authorizer denies.
func writesOfNode(g *unrelatedGenerator, names []string) []Request {
	return []Request{
		Patch(api.Secrets).In(g.namespace).Named(names[0]), Delete(api.ConfigMaps).In(g.namespace).Named(names[0]),
		Patch(api.Pods).In(g.namespace).Named(names[0]), Patch(api.ResourceSlices).Named(names[1]),
		tokenOfAccount(g, names[1]), Patch(api.CertificateSigningRequests).Named(names[0]).Sub("approval"),
		Delete(api.Nodes).Named(g.other), Delete(api.CSINodes).Named(g.other),
		Patch(api.Leases).In(fixtures.LeaseNamespace).Named(g.other),
	}
}

// admittedOfNode are writes that node-restriction denies because of their content.
func admittedOfNode(g *unrelatedGenerator, names []string, own string) []Request {
	about := fixtures.EventAbout(guessedPod(g, names[2]), names[2], own)
	about.InvolvedObject = corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: g.namespace,
		Name: names[2]}
	return []Request{
		Create(api.ResourceSlices).Named(names[2]).With(fixtures.ResourceSlice(names[2], g.other)),
		Create(api.Pods).In(g.namespace).Named(names[2]).With(fixtures.Pod(g.namespace, names[2], own)),
		eventAboutPod(g, names[2], own), Create(api.Events).In(g.namespace).Named(names[2]).With(about),
	}
}

// requestsOfAgent are reads and writes that node scope denies to a pod on the node own.
func requestsOfAgent(g *unrelatedGenerator, names []string, own string) []Request {
	return []Request{
		getSecret(g.namespace, names[0]), Get(api.ConfigMaps).In(g.namespace).Named(names[0]),
		Get(api.Pods).In(g.namespace).Named(names[0]), List(api.Pods).Where("spec.nodeName=" + g.other),
		Get(api.Nodes).Named(g.other), Get(api.Leases).In(fixtures.LeaseNamespace).Named(g.other),
		Patch(api.Secrets).In(g.namespace).Named(names[1]), Patch(api.Pods).In(g.namespace).Named(names[1]),
		Delete(api.Pods).In(g.namespace).Named(names[2]), tokenOfAccount(g, names[1]),
		Patch(api.Nodes).Named(g.other), Patch(api.Leases).In(fixtures.LeaseNamespace).Named(g.other),
		eventAboutPod(g, names[1], own),
	}
}

func guessedPod(g *unrelatedGenerator, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: name, UID: guessedUID}}
}

func tokenOfAccount(g *unrelatedGenerator, account string) Request {
	return Create(api.ServiceAccounts).In(g.namespace).Named(account).Sub("token").
		With(fixtures.TokenRequest(guessedPod(g, account)))
}

func eventAboutPod(g *unrelatedGenerator, pod, own string) Request {
	return Create(api.Events).In(g.namespace).Named(pod).With(fixtures.EventAbout(guessedPod(g, pod), pod, own))
}
