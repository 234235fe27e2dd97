// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package interference_test

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
	authorizergenerator "github.com/bulkhead-k8s/bulkhead/components/conformance/nodeauthorizer/generator"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/noderestriction/generator"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

// admissionPairs makes pairs of clusters for NodeRestriction and for node scope at admission.
type admissionPairs struct {
	*generator.Generator
	pair[metav1.Object, *generator.Write]
	claims, volumes, accounts map[string]bool
	tokens                    []user.Info
}

const writesPerPair = 8

func admissionPair(rng harness.RNG) pair[metav1.Object, *generator.Write] {
	p := &admissionPairs{
		Generator: generator.New(rng),
		claims:    map[string]bool{}, volumes: map[string]bool{}, accounts: map[string]bool{},
	}
	for _, node := range p.Cluster.Nodes {
		p.addNode(node)
	}
	for _, pod := range p.Cluster.Pods {
		p.addPod(pod)
	}
	p.addStorage()
	for _, account := range p.Cluster.Accounts {
		if !p.OneIn(3) {
			account.Annotations = map[string]string{nodescope.ScopeAnnotation: harness.Pick(p.RNG, scopeTexts)}
		}
		p.add(account, p.accounts[account.Namespace+"/"+account.Name])
	}
	for _, name := range []string{"ns1", "ns2", "kube-system"} {
		p.add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, true)
	}
	for _, name := range names {
		p.add(p.slice(name))
	}
	for range writesPerPair {
		p.ask()
	}
	return p.pair
}

func (p *admissionPairs) add(o metav1.Object, isRelated bool) {
	if isRelated {
		p.objects = append(p.objects, shared(o))
	} else {
		p.objects = append(p.objects, unrelated(p.RNG, o))
	}
}

var (
	addresses   = []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "host.example.com"}
	providerIDs = []string{"", "p://1", "p://2", "p://3"}
	pools       = []string{"n1", "n2", "n3/x", "pool", "pool2"}
)

func (p *admissionPairs) addNode(node *corev1.Node) {
	p.identify(node)
	p.add(node, node.Name == self)
}

// identify sets what is unique to a Node in a real cluster.
func (p *admissionPairs) identify(node *corev1.Node) {
	node.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: harness.Pick(p.RNG, addresses)}}
	node.Spec.ProviderID = harness.Pick(p.RNG, providerIDs)
}

func (p *admissionPairs) addPod(pod *corev1.Pod) {
	if p.OneIn(4) && pod.Annotations == nil {
		pod.Annotations = map[string]string{nodescope.ScopeAnnotation: harness.Pick(p.RNG, scopeTexts)}
	}
	if pod.Spec.NodeName != self {
		p.add(pod, false)
		return
	}
	p.add(pod, true)
	p.accounts[pod.Namespace+"/"+pod.Spec.ServiceAccountName] = true
	if _, isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; !isMirror {
		p.tokens = append(p.tokens, tokenOf(pod))
	}
	for i := range pod.Spec.Volumes {
		switch volume := &pod.Spec.Volumes[i]; {
		case volume.PersistentVolumeClaim != nil:
			p.claims[pod.Namespace+"/"+volume.PersistentVolumeClaim.ClaimName] = true
		case volume.Ephemeral != nil:
			p.claims[pod.Namespace+"/"+pod.Name+"-"+volume.Name] = true
		}
	}
}

// addStorage adds claims and volumes. Drivers are shared: every node may read them.
func (p *admissionPairs) addStorage() {
	for _, claim := range p.Cluster.Claims {
		isRelated := p.claims[claim.Namespace+"/"+claim.Name]
		if isRelated {
			p.volumes[claim.Spec.VolumeName] = true
		}
		p.add(claim, isRelated)
	}
	for _, volume := range p.Cluster.Volumes {
		p.add(volume, p.volumes[volume.Name])
	}
	for _, driver := range p.Cluster.Drivers {
		p.add(driver, true)
	}
}

// slice returns a ResourceSlice, and whether it is that of the node.
func (p *admissionPairs) slice(name string) (*resourcev1.ResourceSlice, bool) {
	of := harness.Pick(p.RNG, nodes)
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}}
	slice.Spec.Driver, slice.Spec.Pool.Name = "d1", harness.Pick(p.RNG, pools)
	if !p.OneIn(5) {
		slice.Spec.NodeName = &of
	}
	return slice, slice.Spec.NodeName != nil && of == self
}

// ask adds a write of the node, or of a scoped pod on it.
func (p *admissionPairs) ask() {
	w := p.Write()
	switch p.IntN(6) {
	case 0:
		p.writeNode(w)
	case 1:
		p.writeSlice(w)
	}
	w.User = authorizergenerator.Node(self)
	if len(p.tokens) > 0 && p.OneIn(3) {
		w.User = harness.Pick(p.RNG, p.tokens)
	}
	p.questions = append(p.questions, shared(w))
}

// writeNode lets the node report addresses and a providerID.
func (p *admissionPairs) writeNode(w *generator.Write) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: self, UID: "n1-1"}}
	old := node.DeepCopy()
	p.identify(node)
	w.Resource, w.Subresource = corev1.SchemeGroupVersion.WithResource("nodes"), ""
	w.Namespace, w.Name, w.Operation, w.Object, w.Old = "", self, admission.Create, node, nil
	if p.OneIn(2) {
		w.Operation, w.Old, w.Subresource = admission.Update, old, harness.Pick(p.RNG, []string{"", "status"})
	}
}

func (p *admissionPairs) writeSlice(w *generator.Write) {
	slice, _ := p.slice("new")
	own := self
	slice.Spec.NodeName = &own
	w.Resource, w.Subresource = resourcev1.SchemeGroupVersion.WithResource("resourceslices"), ""
	w.Namespace, w.Name, w.Operation, w.Object, w.Old = "", "new", admission.Create, slice, nil
}
