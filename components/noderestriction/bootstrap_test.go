// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	bootstrapUser    = "system:bootstrap:abcdef"
	defaultNodeToken = "system:bootstrappers:kubeadm:default-node-token"
)

var allBootRules = []rules.ID{"NR-BOOT-1", "NR-BOOT-2", "NR-BOOT-3", "NR-BOOT-4"}

// bootstrapToken returns the user of a bootstrap token that kubeadm created.
func bootstrapToken() user.Info {
	return &user.DefaultInfo{Name: bootstrapUser,
		Groups: []string{"system:bootstrappers", defaultNodeToken, "system:authenticated"}}
}

// joins returns the request of a bootstrap token for the certificate of a node.
func joins(t testing.TB, node string, edits ...func(*x509Template)) admission.Attributes {
	t.Helper()
	return joinsWith(clientSigner,
		signed(t, append([]func(*x509Template){commonName("system:node:" + node)}, edits...)...))
}

func joinsWith(signer string, request []byte, usages ...certificatesv1.KeyUsage) admission.Attributes {
	if usages == nil {
		usages = usagesOf(signer)
	}
	return write("", admission.Create, "certificatesigningrequests", "", &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "csr-1"},
		Spec:       certificatesv1.CertificateSigningRequestSpec{SignerName: signer, Request: request, Usages: usages},
	}, nil, as(bootstrapToken()))
}

func TestBootstrapSigners(t *testing.T) {
	says := func(signer string) string {
		return deniedSigning + `user "system:bootstrap:abcdef" can only request certificates from the signer ` +
			`kubernetes.io/kube-apiserver-client-kubelet, not from "` + signer + `" [NR-BOOT-1]`
	}
	const admin = "kubernetes.io/kube-apiserver-client"
	other := joinsWith(admin, signed(t, commonName("system:node:new")))
	run(t, restrict(aCluster(), enforce("NR-BOOT-1")), []row{
		{name: "kubelet client certificate: admitted", write: joins(t, "new")},
		{name: "other client certificate: denied", write: other, by: "NR-BOOT-1", says: says(admin)},
		{name: "serving certificate: denied", write: joinsWith(servingSigner, signed(t)), by: "NR-BOOT-1",
			says: says(servingSigner)},
		{name: "legacy signer: denied", write: joinsWith("kubernetes.io/legacy-unknown", nil), by: "NR-BOOT-1",
			says: says("kubernetes.io/legacy-unknown")},
		{name: "no signer: denied", write: joinsWith("", nil), by: "NR-BOOT-1", says: says("")},
		{name: "no object: denied",
			write: write("", admission.Create, "certificatesigningrequests", "", nil, nil, named("csr-1"), as(bootstrapToken())),
			by:    "NR-BOOT-1", says: deniedSigning + "unexpected type <nil> [NR-BOOT-1]"},
		{name: "other object: denied",
			write: write("", admission.Create, "certificatesigningrequests", "", aNode("me"), nil, named("csr-1"),
				as(bootstrapToken())),
			by: "NR-BOOT-1", says: deniedSigning + "unexpected type *v1.Node [NR-BOOT-1]"},
	})
	run(t, restrict(aCluster()), []row{{name: "rule off: admitted", write: other}})
	auditedOnly(t, restrict(aCluster(), inMode(rules.Audit, "NR-BOOT-1")), other, "NR-BOOT-1")
}

func TestBootstrapCertificates(t *testing.T) {
	denied := func(name, problem string, write admission.Attributes) row {
		return row{name: name + ": denied", write: write, by: "NR-BOOT-2", says: deniedSigning + problem + " [NR-BOOT-2]"}
	}
	const notNode = "subject common name is not system:node: and a valid node name"
	cn := func(name string) admission.Attributes { return joinsWith(clientSigner, signed(t, commonName(name))) }
	masters := joins(t, "new", func(r *x509Template) { r.Subject.Organization = []string{"system:masters"} })
	run(t, restrict(aCluster(), enforce("NR-BOOT-2")), []row{
		{name: "kubelet's request: admitted", write: joins(t, "new")},
		{name: "kubelet's request for an RSA key: admitted",
			write: joinsWith(clientSigner, signed(t, commonName("system:node:new.example")),
				certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth, certificatesv1.UsageKeyEncipherment)},
		denied("other organization", "subject organization is not system:nodes", masters),
		denied("second organization", "subject organization is not system:nodes",
			joins(t, "new", func(r *x509Template) {
				r.Subject.Organization = append(r.Subject.Organization, "system:masters")
			})),
		denied("country", "subject has more than an organization and a common name",
			joins(t, "new", func(r *x509Template) { r.Subject.Country = []string{"x"} })),
		denied("second common name", "subject has more than an organization and a common name",
			joins(t, "new", func(r *x509Template) {
				r.Subject.ExtraNames = []pkix.AttributeTypeAndValue{
					{Type: []int{2, 5, 4, 3}, Value: "kubernetes-admin"}, {Type: []int{2, 5, 4, 3}, Value: "system:node:new"},
				}
			})),
		denied("administrator's name", notNode, cn("kubernetes-admin")),
		denied("node without a name", notNode, cn("system:node:")),
		denied("node name in capitals", notNode, cn("system:node:New")),
		denied("node name with a slash", notNode, cn("system:node:a/b")),
		denied("node name that is too long", notNode, cn("system:node:"+strings.Repeat("a", 254))),
		denied("no common name", notNode, cn("")),
		denied("DNS name", "subjectAltNames and other extensions are not allowed", joins(t, "new", sanDNS("new"))),
		denied("IP address", "subjectAltNames and other extensions are not allowed", joins(t, "new", sanIPs("10.0.0.9"))),
		denied("server usage", "usages must be digital signature, client auth and, for an RSA key, key encipherment",
			joinsWith(clientSigner, signed(t, commonName("system:node:new")), certificatesv1.UsageDigitalSignature,
				certificatesv1.UsageServerAuth)),
		denied("further usage", "usages must be digital signature, client auth and, for an RSA key, key encipherment",
			joinsWith(clientSigner, signed(t, commonName("system:node:new")), certificatesv1.UsageDigitalSignature,
				certificatesv1.UsageClientAuth, certificatesv1.UsageCertSign)),
		denied("nothing", "unable to parse csr: PEM block type must be CERTIFICATE REQUEST", joinsWith(clientSigner, nil)),
		denied("not PEM", "unable to parse csr: PEM block type must be CERTIFICATE REQUEST",
			joinsWith(clientSigner, []byte("x"))),
		denied("huge request", "unable to parse csr: it has more than 65536 bytes",
			joinsWith(clientSigner, make([]byte, 3<<20))),
	})
	run(t, restrict(aCluster()), []row{{name: "rule off: admitted", write: masters}})
	auditedOnly(t, restrict(aCluster(), inMode(rules.Audit, "NR-BOOT-2")), masters, "NR-BOOT-2")
}

func TestBootstrapNamesOfExistingNodes(t *testing.T) {
	says := func(name string) string {
		return deniedSigning + `node "` + name + `" exists: its kubelet renews the certificate with the one that it has; ` +
			`if that is lost, an administrator deletes the Node first [NR-BOOT-3]`
	}
	c := aCluster()
	c.nodes["control-plane"] = aNode("control-plane")
	c.nodes["control-plane"].Labels["node-role.kubernetes.io/control-plane"] = ""
	other := joins(t, "other")
	run(t, restrict(c, enforce("NR-BOOT-3")), []row{
		{name: "free name: admitted", write: joins(t, "new")},
		{name: "name that begins like an existing node's: admitted", write: joins(t, "other2")},
		{name: "existing node: denied", write: other, by: "NR-BOOT-3", says: says("other")},
		{name: "existing control-plane node: denied", write: joins(t, "control-plane"), by: "NR-BOOT-3",
			says: says("control-plane")},
		{name: "unreadable request: denied", write: joinsWith(clientSigner, nil), by: "NR-BOOT-3",
			says: deniedSigning + "unable to parse csr: PEM block type must be CERTIFICATE REQUEST [NR-BOOT-3]"},
	})
	delete(c.nodes, "other")
	run(t, restrict(c, enforce("NR-BOOT-3")), []row{{name: "deleted node: admitted", write: other}})
	c.err = errors.New("timeout")
	run(t, restrict(c, enforce("NR-BOOT-3")), []row{
		{name: "existence not known: denied, may be retried", write: joins(t, "new"), by: "NR-BOOT-3", code: 500,
			says: "timeout [NR-BOOT-3]"},
	})
	run(t, restrict(aCluster()), []row{{name: "rule off: admitted", write: other}})
	auditedOnly(t, restrict(aCluster(), inMode(rules.Audit, "NR-BOOT-3")), other, "NR-BOOT-3")
}

func TestBootstrapNamesAllowed(t *testing.T) {
	named := func(rows ...configuration.BootstrapNames) func(*Config) {
		return configured(configuration.Configuration{BootstrapNames: rows})
	}
	byGroup := configuration.BootstrapNames{Group: defaultNodeToken, Names: configuration.NewKeys("worker-*", "gpu-1")}
	byUser := configuration.BootstrapNames{User: bootstrapUser, Names: configuration.NewKeys("edge-1")}
	says := func(name string) string {
		return deniedSigning + `bootstrapNodeNames in the configuration does not allow the node name "` + name +
			`" for user "system:bootstrap:abcdef" [NR-BOOT-4]`
	}
	other := joins(t, "other")
	run(t, restrict(aCluster(), enforce("NR-BOOT-4"), named(byGroup, byUser)), []row{
		{name: "pattern of the group: admitted", write: joins(t, "worker-7")},
		{name: "name of the group: admitted", write: joins(t, "gpu-1")},
		{name: "name of the user: admitted", write: joins(t, "edge-1")},
		{name: "name that only begins like a listed one: denied", write: joins(t, "gpu-12"), by: "NR-BOOT-4",
			says: says("gpu-12")},
		{name: "control-plane name: denied", write: joins(t, "control-plane-2"), by: "NR-BOOT-4",
			says: says("control-plane-2")},
		{name: "unreadable request: denied", write: joinsWith(clientSigner, nil), by: "NR-BOOT-4",
			says: deniedSigning + "unable to parse csr: PEM block type must be CERTIFICATE REQUEST [NR-BOOT-4]"},
	})
	elsewhere := configuration.BootstrapNames{User: "system:bootstrap:zzzzzz", Names: configuration.NewKeys("*")}
	run(t, restrict(aCluster(), enforce("NR-BOOT-4"), named(elsewhere)), []row{
		{name: "row of another token: denied", write: other, by: "NR-BOOT-4", says: says("other")},
	})
	run(t, restrict(aCluster(), enforce("NR-BOOT-4")), []row{{name: "no configuration: admitted", write: other}})
	run(t, restrict(aCluster(), enforce("NR-BOOT-4"), configured(configuration.Configuration{})),
		[]row{{name: "no list: admitted", write: other}})
	run(t, restrict(aCluster(), enforce("NR-BOOT-4"), named([]configuration.BootstrapNames{}...)), []row{
		{name: "empty list: denied", write: other, by: "NR-BOOT-4", says: says("other")},
	})
	run(t, restrict(aCluster(), named(elsewhere)), []row{{name: "rule off: admitted", write: other}})
	auditedOnly(t, restrict(aCluster(), named(elsewhere), inMode(rules.Audit, "NR-BOOT-4")), other, "NR-BOOT-4")
}

// Requests of other users, and other writes of bootstrap users, have no rules.
func TestBootstrapOthers(t *testing.T) {
	who := func(name string, groups ...string) func(*attributes) {
		return as(&user.DefaultInfo{Name: name, Groups: groups})
	}
	request := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "csr-1"}}
	run(t, restrict(aCluster(), enforce(allBootRules...)), []row{
		{name: "administrator: admitted",
			write: write("", admission.Create, "certificatesigningrequests", "", request, nil, who("admin", "system:masters"))},
		{name: "user in the token's name only: admitted",
			write: write("", admission.Create, "certificatesigningrequests", "", request, nil, who(bootstrapUser))},
		{name: "group below system:bootstrappers: denied",
			write: write("", admission.Create, "certificatesigningrequests", "", request, nil,
				who("x", "system:bootstrappers:x")),
			by: "NR-BOOT-1", says: deniedSigning +
				`user "x" can only request certificates from the signer ` +
				`kubernetes.io/kube-apiserver-client-kubelet, not from "" [NR-BOOT-1]`},
		{name: "update by a bootstrapper: admitted",
			write: write("", admission.Update, "certificatesigningrequests", "", request, request, as(bootstrapToken()))},
		{name: "node created by a bootstrapper: admitted",
			write: write("", admission.Create, "nodes", "", aNode("new"), nil, as(bootstrapToken()))},
		{name: "node's own request: not a bootstrapper's", write: signs(servingSigner, signed(t))},
	})
}

// FuzzBootstrapRequest checks that only a kubelet's request for an unused node name is admitted.
func FuzzBootstrapRequest(f *testing.F) {
	own := signed(f, commonName("system:node:new"))
	f.Add(clientSigner, own)
	f.Add(clientSigner, signed(f, commonName("system:node:other")))
	f.Add(servingSigner, own)
	f.Add(clientSigner, own[:len(own)/2])
	f.Add(clientSigner, []byte(strings.Repeat("-----BEGIN CERTIFICATE REQUEST-----\n", 10)))
	r := restrict(aCluster(), enforce(allBootRules...))
	f.Fuzz(func(t *testing.T, signer string, request []byte) {
		if !r.Review(t.Context(), joinsWith(signer, request, usagesOf(clientSigner)...)).Allowed() {
			return
		}
		parsed, err := parseFirst(request)
		if signer != clientSigner || err != nil || parsed.Subject.CommonName == "system:node:other" ||
			!strings.HasPrefix(parsed.Subject.CommonName, "system:node:") {
			t.Errorf("admitted: %q from %q", request, signer)
		}
	})
}

// parseFirst parses a request independently of the code under test.
func parseFirst(request []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(request)
	if block == nil {
		return nil, errors.New("not PEM")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}
