// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"crypto/x509"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// asBootstrapToken is the body of entries that use a real bootstrap token.
func asBootstrapToken(ctx SpecContext, makeRequest RequestFunc, text ...string) {
	suite.ExpectWriteClaim(ctx, suite.AsBearer(suite.Env().BootstrapToken(ctx)), makeRequest, text...)
}

// joining requests a certificate of a node that joins.
func joining(signer string, node func(context.Context, *Env) string,
	tweaks ...func(*x509.CertificateRequest)) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		template := fixtures.NodeSubject("system:node:" + node(ctx, e))
		for _, tweak := range tweaks {
			tweak(template)
		}
		request, _, err := fixtures.SigningRequest(e.NewName("csr"), signer, certificatesv1.UsageClientAuth, template)
		Expect(err).NotTo(HaveOccurred())
		return Create(api.CertificateSigningRequests).With(request)
	}
}

func freeName(_ context.Context, e *Env) string    { return e.Own }
func ofControlPlane(context.Context, *Env) string  { return suite.ControlPlane }
func ofRealWorker(context.Context, *Env) string    { return suite.Worker }
func takenName(ctx context.Context, e *Env) string { return e.Node(ctx, e.Own).Name }
func deletedName(ctx context.Context, e *Env) string {
	e.Remove(ctx, e.Node(ctx, e.Own))
	return e.Own
}

var _ = DescribeTable("a bootstrap token that requests a certificate:", asBootstrapToken,
	Entry("kubelet client certificate: allowed", Allows("NR-BOOT-1"), joining(client, freeName)),
	Entry("serving certificate: denied", DeniesBeyond("NR-BOOT-1", Behind), joining(serving, freeName),
		"can only request certificates from the signer"),
	Entry("other client certificate: denied", DeniesBeyond("NR-BOOT-1", Behind),
		joining(certificatesv1.KubeAPIServerClientSignerName, freeName), "can only request certificates from the signer"),

	Entry("subject of a node: allowed", Allows("NR-BOOT-2"), joining(client, freeName)),
	Entry("subject of an administrator: denied", DeniesBeyond("NR-BOOT-2", Behind),
		joining(client, freeName, func(r *x509.CertificateRequest) { r.Subject.Organization = []string{"system:masters"} }),
		"subject organization is not system:nodes"),
	Entry("common name of no node: denied", DeniesBeyond("NR-BOOT-2", Behind),
		joining(client, freeName, func(r *x509.CertificateRequest) { r.Subject.CommonName = "kubernetes-admin" }),
		"subject common name is not system:node: and a valid node name"),
	Entry("subjectAltName: denied", DeniesBeyond("NR-BOOT-2", Behind),
		joining(client, freeName, func(r *x509.CertificateRequest) { r.DNSNames = []string{"kubernetes"} }),
		"subjectAltNames and other extensions are not allowed"),

	Entry("name that no Node has: allowed", Allows("NR-BOOT-3"), joining(client, freeName)),
	Entry("name of a Node that was deleted: allowed", Allows("NR-BOOT-3"), joining(client, deletedName)),
	Entry("name of a Node that was just created: denied", DeniesBeyond("NR-BOOT-3", Behind), joining(client, takenName),
		"exists: its kubelet renews"),
	Entry("name of the control plane's node: denied", DeniesBeyond("NR-BOOT-3", Behind), joining(client, ofControlPlane),
		"exists: its kubelet renews"),
	Entry("name of a worker: denied", Label(OnWorker), DeniesBeyond("NR-BOOT-3", Behind), joining(client, ofRealWorker),
		"exists: its kubelet renews"),

	Entry("any free name without a list: allowed", Allows("NR-BOOT-4"), joining(client, freeName)),
)

// listedNames is a policy that limits bootstrap tokens to the names of workers.
const listedNames = `apiVersion: noderestriction.admission.k8s.io/v1
kind: Configuration
allowedLabels: ["topology.*"]
allowedTaints: []
bootstrapNodeNames:
- group: system:bootstrappers:kubeadm:default-node-token
  names: ["e2e-own-*"]
`

var _ = Describe("a list of names for bootstrap tokens", Serial, Ordered, Label(Disruptive, OnHost, OnHardened),
	func() {
		BeforeAll(func(ctx SpecContext) { suite.Configure(ctx, listedNames) })

		named := func(name string) func(context.Context, *Env) string {
			return func(context.Context, *Env) string { return name }
		}
		DescribeTable("restricts a token to its names:", asBootstrapToken,
			Entry("name on the list: allowed", Allows("NR-BOOT-4"), joining(client, freeName)),
			Entry("name of a future control-plane node: denied", Denies("NR-BOOT-4"), joining(client, named("control-plane-2")),
				`does not allow the node name "control-plane-2"`),
		)
	})
