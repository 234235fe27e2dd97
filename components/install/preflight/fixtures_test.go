// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// flags are the flags of a kube-apiserver.
type flags map[string]string

func (f flags) Arg(name string) (string, bool) {
	value, set := f[name]
	return value, set
}

// ReadsManifests is set by the test, in a flag that no server has.
func (f flags) ReadsManifests(string) bool { return f["from-disk"] != "no" }

func (f flags) Gate(name string) (on, said bool) {
	for pair := range strings.SplitSeq(f["feature-gates"], ",") {
		if gate, value, set := strings.Cut(pair, "="); set && gate == name {
			return value == "true", true
		}
	}
	return false, false
}

// kubeadmFlags returns the flags that kubeadm sets, with changes.
func kubeadmFlags(change ...string) flags {
	f := flags{"authorization-mode": "Node,RBAC", "enable-admission-plugins": "NodeRestriction",
		"kubelet-preferred-address-types": "InternalIP,ExternalIP,Hostname"}
	for i := 0; i+1 < len(change); i += 2 {
		f[change[i]] = change[i+1]
	}
	return f
}

func without(f flags, name string) flags {
	delete(f, name)
	return f
}

// HostPath puts every file of the server below /host.
func (f flags) HostPath(file string) string { return "/host" + file }

// fakeHost reports problems that are not empty.
type fakeHost struct {
	signer, port, admission, kubeletCA string
	// empty is true if the other AdmissionConfiguration has no plugins.
	empty bool
}

func (h fakeHost) SignerProblem() string { return h.signer }
func (h fakeHost) PortOwner() string     { return h.port }

func (h fakeHost) KubeletCAProblem(path string) string {
	if h.kubeletCA == "" {
		return ""
	}
	return h.kubeletCA + " at " + path
}

func (h fakeHost) AdmissionPlugins(file, path string) ([]string, error) {
	if h.admission != "" {
		return nil, errors.New(h.admission)
	}
	if h.empty {
		return nil, nil
	}
	return []string{"PodSecurity", "of " + file, "at " + path}, nil
}

// kubeadmObjects returns the objects of a new kubeadm cluster that the checks read.
func kubeadmObjects(more ...runtime.Object) []runtime.Object {
	return append([]runtime.Object{
		controlPlane("cp-0"),
		clusterBinding("system:node", "ClusterRole", "system:node"),
		clusterBinding("kubeadm:node-autoapprove-certificate-rotation", "ClusterRole", "selfnodeclient",
			group("system:nodes")),
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kubeadm:kubelet-config"},
			RoleRef:  rbacv1.RoleRef{Kind: "Role", Name: "kubeadm:kubelet-config"},
			Subjects: []rbacv1.Subject{group("system:nodes")}},
		request("csr-good", "system:node:worker", "system:nodes", "system:node:worker"),
	}, more...)
}

func controlPlane(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name,
		Labels: map[string]string{"node-role.kubernetes.io/control-plane": ""}}}
}

func group(name string) rbacv1.Subject { return rbacv1.Subject{Kind: "Group", Name: name} }

func clusterBinding(name, kind, role string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef: rbacv1.RoleRef{Kind: kind, Name: role}, Subjects: subjects}
}

// request returns a CertificateSigningRequest of user for a certificate with name.
func request(object, user, userGroup, name string) *certificatesv1.CertificateSigningRequest {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: name, Organization: []string{"system:nodes"}}}, key)
	if err != nil {
		panic(err)
	}
	return &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: object},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Username: user, Groups: []string{userGroup}, SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		}}
}
