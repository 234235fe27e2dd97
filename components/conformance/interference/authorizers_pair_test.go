// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package interference_test

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/nodeauthorizer/generator"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

// authorizerPairs makes pairs of clusters for the node authorizer and node scope.
type authorizerPairs struct {
	*generator.Generator
	pair[object, authorizer.AttributesRecord]
	// claims and accounts are those that pods on the node name.
	claims, accounts map[generator.Key]bool
	// tokens are of pods on the node, strangers are other users.
	tokens, strangers []user.Info
}

const (
	clusterSteps     = 16
	questionsPerPair = 6
)

func authorizerPair(rng harness.RNG) pair[object, authorizer.AttributesRecord] {
	p := &authorizerPairs{
		Generator: generator.New(rng),
		claims:    map[generator.Key]bool{}, accounts: map[generator.Key]bool{},
		strangers: []user.Info{generator.Node("n2"), generator.Node("n3")},
	}
	// If watches lag, strangers ask nothing: the live read for a stranger may show an object that the
	// node would have to read itself.
	p.lag = p.OneIn(2)
	state := generator.NewState()
	for range clusterSteps {
		state.Apply(p.Step())
	}
	for _, pod := range state.Seen(graph.Pod) {
		p.addPod(pod.(generator.Pod))
	}
	for _, kind := range generator.Kinds()[1:] {
		for _, o := range state.Seen(kind) {
			p.addNamed(o)
		}
	}
	p.addOthers()
	for range questionsPerPair {
		p.ask()
	}
	return p.pair
}

// add adds an object. An object of the node is in both clusters.
func (p *authorizerPairs) add(o metav1.Object, isRelated bool) {
	added := object{api: o, gone: p.OneIn(10)}
	if isRelated {
		added.lags = p.lag && p.OneIn(3)
		p.objects = append(p.objects, shared(added))
		return
	}
	added.lags = p.lag && p.OneIn(3)
	p.objects = append(p.objects, unrelated(p.RNG, added))
}

func (p *authorizerPairs) addPod(of generator.Pod) {
	pod := of.API().(*corev1.Pod)
	if pod.Spec.ServiceAccountName == "" && !p.OneIn(10) {
		pod.Spec.ServiceAccountName = harness.Pick(p.RNG, names)
	}
	if !of.Mirror && p.OneIn(3) {
		pod.Annotations = map[string]string{nodescope.ScopeAnnotation: harness.Pick(p.RNG, scopeTexts)}
	}
	token := tokenOf(pod)
	if pod.Spec.ServiceAccountName == "" {
		token = generator.Node(pod.Spec.NodeName)
	}
	if of.Node != self {
		p.strangers = append(p.strangers, token)
		p.add(pod, false)
		return
	}
	if !of.Mirror {
		for _, key := range of.Named() {
			if key.Kind == graph.PersistentVolumeClaim {
				p.claims[key] = true
			}
		}
	}
	p.accounts[generator.Key{Namespace: of.Namespace, Name: pod.Spec.ServiceAccountName}] = true
	p.tokens = append(p.tokens, token)
	p.add(pod, true)
}

// addNamed adds an object that names its node or its claim.
func (p *authorizerPairs) addNamed(o generator.Object) {
	switch o := o.(type) {
	case generator.Volume:
		p.add(o.API(), p.claims[generator.Key{
			Kind: graph.PersistentVolumeClaim, Namespace: o.ClaimNamespace, Name: o.ClaimName}])
	case generator.Attachment:
		p.add(o.API(), o.Node == self)
	case generator.Slice:
		p.add(o.API(), o.Node == self)
	case generator.Certificate:
		p.add(o.API(), o.Node == self)
	}
}

var (
	namespaces = []string{"ns1", "ns2"}
	names      = []string{"a", "b", "c", "d"}
	nodes      = []string{"n1", "n2", "n3"}
	scopeTexts = []string{"*", "pods,nodes,secrets", "pods,widgets.example.com,configmaps", "nodes/status", "secrets", "%"}
)

// addOthers adds the objects that the generator does not have.
func (p *authorizerPairs) addOthers() {
	for _, node := range nodes {
		if !p.OneIn(4) {
			p.add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, node == self)
		}
	}
	for _, name := range names {
		of := harness.Pick(p.RNG, nodes)
		request := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name}}
		request.Spec.Username = "system:node:" + of
		request.Spec.Groups = []string{user.NodesGroup}
		p.add(request, of == self)
	}
	for _, namespace := range namespaces {
		for _, name := range names {
			p.addNamespaced(metav1.ObjectMeta{Namespace: namespace, Name: name})
		}
		for _, name := range []string{"a-a", "a-b", "b-a"} {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			yes := true
			claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: name[:1],
				UID: "1", Controller: &yes}}
			p.add(claim, p.claims[generator.Key{Kind: graph.PersistentVolumeClaim, Namespace: namespace, Name: name}])
		}
	}
}

func (p *authorizerPairs) addNamespaced(meta metav1.ObjectMeta) {
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	if !p.OneIn(3) {
		account.Annotations = map[string]string{nodescope.ScopeAnnotation: harness.Pick(p.RNG, scopeTexts)}
		if p.OneIn(6) {
			account.Annotations[nodescope.ModeAnnotation] = "audit"
		}
	}
	isRelated := p.accounts[generator.Key{Namespace: meta.Namespace, Name: meta.Name}]
	added := object{api: account}
	if isRelated {
		p.objects = append(p.objects, shared(added))
	} else {
		p.objects = append(p.objects, unrelated(p.RNG, added))
	}
	of := harness.Pick(p.RNG, nodes)
	p.add(&widget{ObjectMeta: meta, Node: of}, of == self)
}

// tokenOf is the user of a pod's token.
func tokenOf(pod *corev1.Pod) user.Info {
	extra := map[string][]string{serviceaccount.PodNameKey: {pod.Name}, serviceaccount.PodUIDKey: {string(pod.UID)}}
	if pod.Spec.NodeName != "" {
		extra[serviceaccount.NodeNameKey] = []string{pod.Spec.NodeName}
	}
	return &user.DefaultInfo{
		Name:   serviceaccount.MakeUsername(pod.Namespace, pod.Spec.ServiceAccountName),
		Groups: serviceaccount.MakeGroupNames(pod.Namespace), Extra: extra,
	}
}

// ask adds a question of the node or of a pod on it, and in one of the clusters some of others.
func (p *authorizerPairs) ask() {
	for !p.lag && p.OneIn(3) {
		q := p.Request()
		q.User = harness.Pick(p.RNG, p.strangers)
		p.questions = append(p.questions, member[authorizer.AttributesRecord]{q, false, true})
	}
	q := p.Request()
	if p.OneIn(12) {
		q.APIGroup, q.Resource, q.Subresource, q.Path = "certificates.k8s.io", "certificatesigningrequests", "", ""
		q.Verb, q.Name, q.ResourceRequest = "get", harness.Pick(p.RNG, names), true
	}
	q.User = generator.Node(self)
	if len(p.tokens) > 0 && !p.OneIn(3) {
		q.User = harness.Pick(p.RNG, p.tokens)
		if p.OneIn(6) {
			q.APIGroup, q.Resource, q.Subresource, q.Path = "example.com", "widgets", "", ""
			q.Verb, q.Name, q.ResourceRequest = "get", harness.Pick(p.RNG, names), true
			q.Namespace = harness.Pick(p.RNG, namespaces)
		}
	}
	p.questions = append(p.questions, shared(q))
	if p.OneIn(4) {
		p.questions = append(p.questions, shared(q))
	}
}
