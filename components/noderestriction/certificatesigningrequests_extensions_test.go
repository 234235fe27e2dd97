// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"errors"
	"net"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const asManySigning = deniedSigning + `node "me" has as many CertificateSigningRequests for `

// madeBy returns a cluster in which the node me has created n requests for a signer.
func madeBy(of Signers, n int) *fakeCluster {
	c := aCluster()
	c.signing = map[askedOf]int{{"me", of}: n}
	return c
}

func TestCertificateCap(t *testing.T) {
	five, enforced := configured(configuration.Configuration{Caps: configuration.Caps{CertificateSigningRequests: 5}}),
		enforce("NR-CSR-5")
	client, serving, other := signs(clientSigner, signed(t)), signs(servingSigner, signed(t)),
		signs("example.com/any", nil)
	another := signs("example.com/another", nil)
	for _, tt := range []struct {
		of    Signers
		full  []admission.Attributes
		free  []admission.Attributes
		named string
	}{
		{ClientSigner, []admission.Attributes{client}, []admission.Attributes{serving, other},
			"kubernetes.io/kube-apiserver-client-kubelet"},
		{ServingSigner, []admission.Attributes{serving}, []admission.Attributes{client, other},
			"kubernetes.io/kubelet-serving"},
		{OtherSigners, []admission.Attributes{other, another}, []admission.Attributes{client, serving},
			"signers other than those of kubelets"},
	} {
		says := asManySigning + tt.named + " as one node may have: 5 [NR-CSR-5]"
		for _, full := range tt.full {
			run(t, restrict(madeBy(tt.of, 4), five, enforced),
				[]row{{name: tt.named + ": the fifth of five is admitted", write: full}})
			run(t, restrict(madeBy(tt.of, 5), five, enforced),
				[]row{{name: tt.named + ": the sixth is refused", write: full, by: "NR-CSR-5", says: says}})
			run(t, restrict(madeBy(tt.of, 5), five), []row{{name: tt.named + ": off, it is admitted", write: full}})
			run(t, restrict(madeBy(tt.of, 5), enforced), []row{{name: tt.named + ": without a configuration too", write: full}})
			auditedOnly(t, restrict(madeBy(tt.of, 5), five, inMode(rules.Audit, "NR-CSR-5")), full, "NR-CSR-5")
		}
		for _, free := range tt.free {
			run(t, restrict(madeBy(tt.of, 5), five, enforced), []row{{name: tt.named + ": others are no matter", write: free}})
		}
	}
}

// An admitted request is counted at once, so the limit applies to the next one before any list. A
// denied request and a dry run are not counted.
func TestAdmittedSigningRequestsAreCounted(t *testing.T) {
	two, enforced := configured(configuration.Configuration{Caps: configuration.Caps{CertificateSigningRequests: 2}}),
		enforce("NR-CSR-5", "NR-CSR-4", "NR-CSR-6")
	c := madeBy(ClientSigner, 0)
	r := restrict(c, two, enforced)
	client, other := signs(clientSigner, signed(t)), signs("example.com/any", nil)
	for range 3 {
		r.Review(t.Context(), dryRunOf(client))
		r.Review(t.Context(), other)
	}
	if n := c.signing[askedOf{"me", ClientSigner}] + c.signing[askedOf{"me", OtherSigners}]; n != 0 {
		t.Errorf("%d are counted of dry runs and refusals", n)
	}
	c.err = errors.New("nothing can be looked up")
	for i, admitted := range []bool{true, true, false, false} {
		if got := r.Review(t.Context(), client); got.Allowed() != admitted {
			t.Errorf("request %d: %+v", i+1, got)
		}
	}
}

// dryRunOf returns the same write as a dry run.
func dryRunOf(a admission.Attributes) admission.Attributes {
	return admission.NewAttributesRecord(a.GetObject(), a.GetOldObject(), a.GetKind(), a.GetNamespace(), a.GetName(),
		a.GetResource(),
		a.GetSubresource(), a.GetOperation(), a.GetOperationOptions(), true, a.GetUserInfo())
}

func TestSigningRequestMetadata(t *testing.T) {
	with := func(edit func(*metav1.ObjectMeta)) admission.Attributes {
		a := signs(clientSigner, signed(t))
		if asked, ok := a.GetObject().(*certificatesv1.CertificateSigningRequest); ok {
			edit(&asked.ObjectMeta)
		}
		return a
	}
	const says = deniedSigning +
		`node "me" can only create CertificateSigningRequests without labels, annotations, finalizers and owners [NR-CSR-6]`
	labelled := with(func(m *metav1.ObjectMeta) { m.Labels = tenThousand() })
	run(t, restrict(aCluster(), enforce("NR-CSR-6")), []row{
		{name: "metadata with a name only: allowed", write: with(func(*metav1.ObjectMeta) {})},
		{name: "labels: denied", write: labelled, by: "NR-CSR-6", says: says},
		{name: "annotations: denied", write: with(func(m *metav1.ObjectMeta) { m.Annotations = map[string]string{"a": "b"} }),
			by: "NR-CSR-6", says: says},
		{name: "finalizers: denied", write: with(func(m *metav1.ObjectMeta) { m.Finalizers = []string{"a"} }), by: "NR-CSR-6",
			says: says},
		{name: "owner references: denied",
			write: with(func(m *metav1.ObjectMeta) { m.OwnerReferences = make([]metav1.OwnerReference, 1) }),
			by:    "NR-CSR-6", says: says},
	})
	run(t, restrict(aCluster()), []row{{name: "rule off, all metadata: allowed", write: labelled}})
	auditedOnly(t, restrict(aCluster(), inMode(rules.Audit, "NR-CSR-6")), labelled, "NR-CSR-6")
}

// alsoWith returns a cluster in which the Node me has one more address.
func alsoWith(kind corev1.NodeAddressType, address string) *fakeCluster {
	c := addressed()
	c.nodes["me"].Status.Addresses = append(c.nodes["me"].Status.Addresses,
		corev1.NodeAddress{Type: kind, Address: address})
	return c
}

// A node chooses the addresses in its status when it registers, so an address in its status may
// belong to another owner. Here each address is in the status. An address without another owner is
// the positive case.
func TestServingCertificatesOfOthersAddresses(t *testing.T) {
	const isAPIServer, asWell = ` is the API server's, and node "me" has no label node-role.kubernetes.io/control-plane`,
		` is that of another node as well`
	for _, tt := range []struct {
		what string
		kind corev1.NodeAddressType
		is   string
		says string
	}{
		{"address that no object has: allowed", corev1.NodeExternalIP, "192.0.2.77", ""},
		{"name that no object has: allowed", corev1.NodeInternalDNS, "spare.internal", ""},
		{"another node's address", corev1.NodeExternalIP, "10.0.0.2", `"10.0.0.2"` + asWell},
		{"another node's address in IPv6", corev1.NodeExternalIP, "2001:db8::2", `"2001:db8::2"` + asWell},
		{"another node's name", corev1.NodeInternalDNS, "other", `"other"` + asWell},
		{"another node's name in capitals", corev1.NodeInternalDNS, "OTHER.", `"other"` + asWell},
		{"another node's address by name", corev1.NodeInternalDNS, "other.example", `"other.example"` + asWell},
		{"a cluster IP", corev1.NodeExternalIP, "10.96.0.9", `10.96.0.9 is the cluster IP of Service n/s`},
		{"a cluster IP in IPv6", corev1.NodeExternalIP, "2001:db8:96::9", `2001:db8:96::9 is the cluster IP of Service n/s`},
		{"the cluster IP of the API server", corev1.NodeExternalIP, "10.96.0.1",
			`10.96.0.1 is the cluster IP of Service default/kubernetes`},
		{"an endpoint of the API server", corev1.NodeExternalIP, "192.0.2.6", `"192.0.2.6"` + isAPIServer},
		{"a name of the API server", corev1.NodeExternalDNS, "api.example", `"api.example"` + isAPIServer},
		{"a name of the API server in capitals", corev1.NodeExternalDNS, "API.example", `"api.example"` + isAPIServer},
		{"loopback", corev1.NodeExternalIP, "127.1.2.3", "127.1.2.3 is an address of no node"},
		{"loopback in IPv6", corev1.NodeExternalIP, "::1", "::1 is an address of no node"},
		{"loopback as IPv4 in IPv6", corev1.NodeExternalIP, "::ffff:127.0.0.1", "127.0.0.1 is an address of no node"},
		{"link-local", corev1.NodeExternalIP, "169.254.169.254", "169.254.169.254 is an address of no node"},
		{"link-local in IPv6", corev1.NodeExternalIP, "fe80::1", "fe80::1 is an address of no node"},
		{"multicast", corev1.NodeExternalIP, "224.0.0.1", "224.0.0.1 is an address of no node"},
		{"multicast in IPv6", corev1.NodeExternalIP, "ff02::1", "ff02::1 is an address of no node"},
		{"unspecified", corev1.NodeExternalIP, "0.0.0.0", "0.0.0.0 is an address of no node"},
		{"unspecified in IPv6", corev1.NodeExternalIP, "::", ":: is an address of no node"},
		{"a name of the loopback", corev1.NodeInternalDNS, "localhost", `"localhost" is not a node name`},
		{"a number for a name", corev1.NodeInternalDNS, "2130706433", `"2130706433" is not a node name`},
	} {
		c := alsoWith(tt.kind, tt.is)
		c.addresses = map[string]string{"10.0.0.2": "other", "2001:db8::2": "other", "other.example": "other",
			"10.0.0.1": "me"}
		c.services = map[string]string{"10.96.0.9": "Service n/s", "2001:db8:96::9": "Service n/s",
			"10.96.0.1": "Service default/kubernetes"}
		c.apiServer = []string{"192.0.2.6", "api.example"}
		san := sanIPs(tt.is)
		if net.ParseIP(tt.is) == nil {
			san = sanDNS(tt.is)
		}
		r := row{name: tt.what, write: signs(servingSigner, serving(t, san))}
		if tt.says != "" {
			r.by, r.says = "NR-CSR-2", deniedSigning+"subjectAltName "+tt.says+" [NR-CSR-2]"
		}
		run(t, restrict(c, enforce("NR-CSR-2")), []row{r})
		r.by, r.says = "", ""
		r.name += ", while the rule is off"
		run(t, restrict(c), []row{r})
	}
}

// The address of a control-plane node is also an address of the API server.
func TestServingCertificatesOfControlPlanes(t *testing.T) {
	c := addressed()
	c.apiServer = []string{"10.0.0.1", "me"}
	own := signs(servingSigner, serving(t))
	run(t, restrict(c, enforce("NR-CSR-2")), []row{
		{name: "address of a control-plane node without its label: denied", write: own, by: "NR-CSR-2",
			says: deniedSigning +
				`subjectAltName "10.0.0.1" is the API server's, ` +
				`and node "me" has no label node-role.kubernetes.io/control-plane [NR-CSR-2]`},
	})
	c.nodes["me"].Labels["node-role.kubernetes.io/control-plane"] = ""
	run(t, restrict(c, enforce("NR-CSR-2")), []row{{name: "address of a control-plane node with its label: allowed",
		write: own}})
	c.addresses = map[string]string{"10.0.0.1": "other"}
	run(t, restrict(c, enforce("NR-CSR-2")), []row{
		{name: "label set, address of another Node: denied", write: own, by: "NR-CSR-2",
			says: deniedSigning + `subjectAltName "10.0.0.1" is that of another node as well [NR-CSR-2]`},
	})
	c.addresses, c.services = nil, map[string]string{"10.0.0.1": "Service n/s"}
	run(t, restrict(c, enforce("NR-CSR-2")), []row{
		{name: "label set, cluster IP: denied", write: own, by: "NR-CSR-2",
			says: deniedSigning + `subjectAltName 10.0.0.1 is the cluster IP of Service n/s [NR-CSR-2]`},
	})
}
