// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
)

// requestToken creates a request for a pod's token, for an audience that the pod names or for
// another.
func (m *Generator) requestToken(w *Write) {
	w.at("", "v1", "serviceaccounts", "token")
	pod := m.anyPod()
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: m.audiencesOf(),
		BoundObjectRef: &authenticationv1.BoundObjectReference{
			APIVersion: "v1",
			Kind:       "Pod",
			Name:       pod.Name,
			UID:        pod.UID,
		},
	}}
	if m.OneIn(3) {
		token.Name, token.Namespace = pod.Spec.ServiceAccountName, pod.Namespace
	}
	if m.OneIn(5) {
		m.spoilBinding(&token.Spec)
	}
	w.Operation, w.Object = admission.Create, token
	w.to(pod.Namespace, pod.Spec.ServiceAccountName)
}

func (m *Generator) audiencesOf() []string {
	switch m.IntN(8) {
	case 0:
		return nil
	case 1:
		return []string{m.audience(), m.audience()}
	case 2:
		return append([]string(nil), m.Cluster.APIAudiences...)
	default:
		return []string{m.audience()}
	}
}

func (m *Generator) spoilBinding(spec *authenticationv1.TokenRequestSpec) {
	switch m.IntN(5) {
	case 0:
		spec.BoundObjectRef = nil
	case 1:
		spec.BoundObjectRef.APIVersion = harness.Pick(m.RNG, []string{"", "v2", "core/v1"})
	case 2:
		spec.BoundObjectRef.Kind = harness.Pick(m.RNG, []string{"", "pod", "Node", "Secret"})
	case 3:
		spec.BoundObjectRef.Name = harness.Pick(m.RNG, []string{"", "gone", "a", "n1"})
	default:
		spec.BoundObjectRef.UID = harness.Pick(m.RNG, []types.UID{"", "other", "a-1"})
	}
}

// otherAccount creates writes to service accounts that nodes do not make.
func (m *Generator) otherAccount(w *Write) {
	w.at("", "v1", "serviceaccounts", harness.Pick(m.RNG, []string{"", "", "token", "x"}))
	account := &corev1.ServiceAccount{
		ObjectMeta: m.meta(harness.Pick(m.RNG, namespaces), harness.Pick(m.RNG, accountNames)),
	}
	w.Operation, w.Object, w.Old = harness.Pick(
		m.RNG,
		[]admission.Operation{admission.Create, admission.Update, admission.Delete},
	), account, account
	w.to(account.Namespace, account.Name)
}

func (m *Generator) podCertificate(w *Write) *certificatesv1.PodCertificateRequest {
	pod := m.anyPod()
	request := &certificatesv1.PodCertificateRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: "request"},
		Spec: certificatesv1.PodCertificateRequestSpec{
			SignerName: harness.Pick(
				m.RNG,
				signers,
			),
			PodName:            pod.Name,
			PodUID:             pod.UID,
			ServiceAccountName: pod.Spec.ServiceAccountName,
			ServiceAccountUID:  m.uidOfAccount(pod.Namespace, pod.Spec.ServiceAccountName),
			NodeName:           types.NodeName(w.node()),
			NodeUID:            m.uidOfNode(w.node()),
		},
	}
	if m.OneIn(2) {
		request.Name, request.GenerateName = "", "request-"
	}
	return request
}

func (m *Generator) uidOfAccount(namespace, name string) types.UID {
	for _, account := range m.Cluster.Accounts {
		if account.Namespace == namespace && account.Name == name {
			return account.UID
		}
	}
	return ""
}

func (m *Generator) requestPodCertificate(w *Write) {
	request := m.podCertificate(w)
	if m.OneIn(2) {
		m.spoilPodCertificate(&request.Spec)
	}
	w.at(certificatesv1.GroupName, "v1", "podcertificaterequests", "")
	w.Operation, w.Object = admission.Create, request
	w.to(request.Namespace, request.Name)
	if m.OneIn(6) {
		w.Resource.Version, w.Object = "v1beta1", olderPodCertificate(request)
	}
}

// olderPodCertificate converts a request to the previous API version.
func olderPodCertificate(r *certificatesv1.PodCertificateRequest) *certificatesv1beta1.PodCertificateRequest {
	return &certificatesv1beta1.PodCertificateRequest{
		ObjectMeta: r.ObjectMeta,
		Spec: certificatesv1beta1.PodCertificateRequestSpec{
			SignerName: r.Spec.SignerName, PodName: r.Spec.PodName, PodUID: r.Spec.PodUID,
			ServiceAccountName: r.Spec.ServiceAccountName, ServiceAccountUID: r.Spec.ServiceAccountUID,
			NodeName: r.Spec.NodeName, NodeUID: r.Spec.NodeUID,
		},
	}
}

func (m *Generator) spoilPodCertificate(spec *certificatesv1.PodCertificateRequestSpec) {
	switch m.IntN(7) {
	case 0:
		spec.NodeName = types.NodeName(m.nodeName())
	case 1:
		spec.NodeUID = "other"
	case 2:
		spec.PodName = harness.Pick(m.RNG, []string{"a", "gone", ""})
	case 3:
		spec.PodUID = harness.Pick(m.RNG, []types.UID{"a-1", "other", ""})
	case 4:
		spec.ServiceAccountName = harness.Pick(m.RNG, []string{"sa1", "gone", ""})
	case 5:
		spec.ServiceAccountUID = harness.Pick(m.RNG, []types.UID{"other", ""})
	default:
		spec.SignerName = harness.Pick(m.RNG, []string{"", "example.com/other", "example.com/s1"})
	}
}

// otherPodCertificate creates writes to pod certificate requests that nodes do not make.
func (m *Generator) otherPodCertificate(w *Write) {
	request := m.podCertificate(w)
	w.at(certificatesv1.GroupName, "v1", "podcertificaterequests", harness.Pick(m.RNG, []string{"", "status", "x"}))
	w.Operation, w.Object, w.Old = harness.Pick(
		m.RNG,
		[]admission.Operation{admission.Create, admission.Update, admission.Delete},
	), request, request
	w.to(request.Namespace, "request")
}
