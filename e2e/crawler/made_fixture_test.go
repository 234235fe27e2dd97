// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// requestCertificates makes the real kubelets of both nodes request one more client certificate.
// The node that such a request belongs to is its creator.
func (st stage) requestCertificates(ctx context.Context, e *Env) {
	GinkgoHelper()
	for _, node := range []string{suite.Worker, suite.ControlPlane} {
		kubelet, err := suite.RealKubelet(ctx, node)
		Expect(err).NotTo(HaveOccurred())
		e.PutAs(ctx, kubelet, signingRequest(e.NewName("request"), "system:node:"+node))
	}
}

// signingRequest is a kubelet's request for a client certificate of a node.
func signingRequest(name, user string) *certificatesv1.CertificateSigningRequest {
	GinkgoHelper()
	request, _, err := fixtures.CertificateSigningRequest(name, certificatesv1.KubeAPIServerClientKubeletSignerName, user)
	Expect(err).NotTo(HaveOccurred())
	return request
}

// made returns objects to create where a copy of an existing object is not suitable.
func (st stage) made() map[schema.GroupResource][]object {
	all := map[schema.GroupResource][]object{}
	for name, review := range reviews(st.namespace) {
		all[schema.ParseGroupResource(name)] = []object{review}
	}
	add := func(r schema.GroupVersionResource, o ...object) {
		all[r.GroupResource()] = append(all[r.GroupResource()], o...)
	}
	for _, side := range []struct {
		whose relation
		name  string
	}{{own, ofOwnNode}, {other, ofOtherNode}} {
		pod, node := st.pods[side.name], st.nodes[side.whose]
		copied := fixtures.Pod(st.namespace, newName, node.Name, fixtures.As(pod.Spec.ServiceAccountName))
		mirror := fixtures.Pod(st.namespace, newName, node.Name, fixtures.Mirror(node))
		add(api.Pods, asObject(side.whose, mirror), asObject(side.whose, copied))
		add(api.Events, asObject(side.whose, fixtures.EventAbout(pod, newName, node.Name)),
			asObject(side.whose, fixtures.EventAboutNode(node, newName, node.Name)))
		add(api.NewEvents, asObject(side.whose, fixtures.NewEventAbout(pod, newName, node.Name)))
		add(api.CertificateSigningRequests, asObject(side.whose, signingRequest(newName, "system:node:"+node.Name)))
	}
	add(api.Pods, asObject(unrelated, fixtures.Pod(st.namespace, newName, "")))
	user := signingRequest(newName, "e2e-crawled")
	user.Spec.SignerName = certificatesv1.KubeAPIServerClientSignerName
	add(api.CertificateSigningRequests, asObject(unrelated, user))
	bindings := schema.GroupVersionResource{Version: "v1", Resource: "bindings"}
	add(bindings, asObject(unrelated, fixtures.Binding(st.namespace, unused, suite.Worker)))
	return all
}

// tokens returns token requests for pods on both nodes, for a pod of an account that both nodes
// run, and for no pod.
func (st stage) tokens() []object {
	bound := func(whose relation, pod *corev1.Pod) object {
		o := asTokenRequest(whose, fixtures.TokenRequest(pod))
		o.Namespace, o.Name = pod.Namespace, pod.Spec.ServiceAccountName
		return o
	}
	free := func(whose relation, account string) object {
		o := asTokenRequest(whose, &authenticationv1.TokenRequest{})
		o.Namespace, o.Name = st.namespace, account
		return o
	}
	return []object{
		bound(own, st.pods[ofOwnNode]), bound(own, st.pods[collector+"-"+ofOwnNode]), bound(other, st.pods[ofOtherNode]),
		bound(other, st.pods[collector+"-"+ofOtherNode]),
		free(unrelated, app), free(other, elsewhere), free(unrelated, idle),
	}
}

func asTokenRequest(whose relation, request *authenticationv1.TokenRequest) object {
	o := asObject(whose, request)
	delete(o.Body, "metadata")
	delete(o.Body, "status")
	return o
}
