// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var _ = tell(Story{
	ID: "T18", Title: "A node writes objects in the name of another node",
	Source: "plugin/pkg/admission/noderestriction/admission.go; kubernetes#134624",
	Effect: "The scheduler, controllers and signers believe these objects, which say what devices a node has, how " +
		"many volumes fit there, and whether it is alive. A signer issues the certificate of another node, which reads " +
		"its secrets.",
	Stops: "A node writes only objects that name itself. A bootstrap token gets no certificate of a node that exists.",
	Attempts: []Attempt{
		{
			Name: "a ResourceSlice", Effect: "a ResourceSlice lists a device of the other node that does not exist",
			By: kubelet, Rights: []rbacv1.PolicyRule{right("resource.k8s.io", []string{"create"}, "resourceslices")},
			Rule: "NR-SLICE-1", Text: "can only create ResourceSlice",
			Attack: sends(func(r *Run) Request { return sliceOf(r, r.Victim()) }),
			Show: func(ctx context.Context, r *Run, _ Answer) {
				found := must(suite.Client.ResourceV1().ResourceSlices().Get(ctx, r.Names["slice"], metav1.GetOptions{}))
				Expect(found.Spec.NodeName).To(HaveValue(Equal(r.Victim())))
				Expect(found.Spec.Devices).NotTo(BeEmpty())
			},
			TwinIs: "a ResourceSlice of the own node",
			Twin:   sends(func(r *Run) Request { return sliceOf(r, r.Attacker()) }),
		},
		{
			Name: "a CSINode", Effect: "the CSINode of the other node says that no volume fits there",
			By: kubelet, Rule: "NA-CSINODE-2",
			Prepare: func(ctx context.Context, r *Run) { r.Put(ctx, fixtures.CSINode(r.Other)) },
			Attack:  sends(func(r *Run) Request { return driversOf(r.Other) }),
			Show: func(ctx context.Context, r *Run, _ Answer) {
				found := must(suite.Client.StorageV1().CSINodes().Get(ctx, r.Other, metav1.GetOptions{}))
				Expect(found.Spec.Drivers).To(ContainElement(HaveField("Allocatable.Count", HaveValue(BeZero()))))
			},
			TwinIs: "the CSINode of the own node",
			Twin: func(ctx context.Context, r *Run, who *Identity) Answer {
				restoreDrivers(ctx, r.Attacker())
				return r.Send(ctx, who, driversOf(r.Attacker()))
			},
		},
		{
			Name: "a lease", Effect: "the lease with the name of another node has a new time of renewal",
			By: kubelet, Rule: "NA-LEASE-3",
			Prepare: func(ctx context.Context, r *Run) { r.Put(ctx, fixtures.Lease(fixtures.LeaseNamespace, r.Other)) },
			Attack:  sends(func(r *Run) Request { return renewed(r.Other) }),
			Show: func(ctx context.Context, r *Run, _ Answer) {
				found := must(suite.Client.CoordinationV1().Leases(fixtures.LeaseNamespace).Get(ctx, r.Other,
					metav1.GetOptions{}))
				Expect(found.Spec.RenewTime).NotTo(BeNil())
				r.Say("The lease of %s was renewed at %s.", r.Other, found.Spec.RenewTime)
			},
			TwinIs: "the lease of the own node",
			Twin:   sends(func(r *Run) Request { return renewed(r.Attacker()) }),
		},
		{
			Name: "a PodCertificateRequest", Effect: "a signer finds a request for the certificate of the other node's pod",
			By: kubelet, Rule: "NR-PCR-3", Text: "is not running on node",
			Attack: func(ctx context.Context, r *Run, who *Identity) Answer {
				return r.Send(ctx, who, certificateOf(ctx, r, r.Victim()))
			},
			Show: func(ctx context.Context, r *Run, answer Answer) {
				found := must(suite.Client.CertificatesV1().PodCertificateRequests(answer.Request.Namespace).
					Get(ctx, r.Name, metav1.GetOptions{}))
				Expect(found.Spec.PodName).To(Equal(r.Pod.Name))
			},
			TwinIs: "the certificate of a pod on the own node",
			Twin: func(ctx context.Context, r *Run, who *Identity) Answer {
				return r.Send(ctx, who, certificateOf(ctx, r, r.Attacker()))
			},
		},
		{
			Name: "a CertificateSigningRequest with the name of another node", Effect: "the certificate reads the secret " +
				"of a pod on the other node",
			By: kubelet, Rights: mayJoin, Rule: "NR-CSR-1", Text: "can only create a node CSR with CN=system:node:",
			Prepare: secretsOfBoth,
			Attack:  joins((*Run).Victim), Show: showCertificate((*Run).Victim),
			TwinIs: "the name of the own node", Twin: joins((*Run).Attacker),
		},
		{
			Name: "a bootstrap token and the name of a node that exists", Effect: "the certificate reads the secret of a " +
				"pod on that node",
			By: bootstrap, Rights: mayJoin, Rule: "NR-BOOT-3", Text: "exists: its kubelet renews",
			Prepare: secretsOfBoth,
			Attack:  joins((*Run).Victim), Show: showCertificate((*Run).Victim),
			TwinIs: "a name that no node has", Twin: joins(func(r *Run) string { return r.Other }),
		},
	},
	Also: []string{"e2e/noderestriction/bootstrap_test.go"},
})

// mayJoin are the rights of bootstrap tokens, with which kube-controller-manager approves their
// requests.
var mayJoin = []rbacv1.PolicyRule{
	right("certificates.k8s.io", []string{"create"}, "certificatesigningrequests",
		"certificatesigningrequests/nodeclient"),
}

// bootstrap is the attacker with a bootstrap token. Without protection means an account with the same
// rights.
var bootstrap = Credential{
	Words: "a bootstrap token, which every machine has before it joins",
	Real: func(ctx context.Context, r *Run, _ []rbacv1.PolicyRule) *Identity {
		r.Say("The attacker has a bootstrap token.")
		return suite.AsBearer(r.BootstrapToken(ctx))
	},
	Unprotected: func(ctx context.Context, r *Run, rights []rbacv1.PolicyRule) *Identity {
		r.Say("The attacker has the token of an account with the rights of bootstrap tokens.")
		return granted(ctx, r, plain, rights)
	},
}

func sliceOf(r *Run, node string) Request {
	slice := fixtures.ResourceSlice(r.NewName("slice"), node)
	r.Names["slice"] = slice.Name
	afterwards(func(ctx context.Context) error {
		return suite.Client.ResourceV1().ResourceSlices().Delete(ctx, slice.Name, metav1.DeleteOptions{})
	})
	return Create(api.ResourceSlices).With(slice).Stored()
}

// driversOf writes a driver with no room for volumes into a CSINode.
func driversOf(node string) Request {
	full := storagev1.CSINodeDriver{Name: fixtures.Driver, NodeID: node,
		Allocatable: &storagev1.VolumeNodeResources{Count: ptr.To[int32](0)}}
	return Patch(api.CSINodes).Named(node).With(fields{"spec": fields{"drivers": []any{full}}}).Stored()
}

// restoreDrivers writes the drivers of a CSINode again when the spec ends.
func restoreDrivers(ctx context.Context, node string) {
	GinkgoHelper()
	before := must(suite.Client.StorageV1().CSINodes().Get(ctx, node, metav1.GetOptions{})).Spec.Drivers
	patch := must(json.Marshal(fields{"spec": fields{"drivers": before}}))
	afterwards(func(ctx context.Context) error {
		_, err := suite.Client.StorageV1().CSINodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
}

func renewed(node string) Request {
	return Patch(api.Leases).In(fixtures.LeaseNamespace).Named(node).Stored().
		With(fields{"spec": fields{"renewTime": metav1.NowMicro()}})
}

// certificateOf requests the certificate of a pod on a node. The request names the worker.
func certificateOf(ctx context.Context, r *Run, node string) Request {
	GinkgoHelper()
	worker := must(suite.Client.CoreV1().Nodes().Get(ctx, r.Attacker(), metav1.GetOptions{}))
	r.Pod = r.Env.Pod(ctx, node, fixtures.WithCertificate(fixtures.Signer))
	r.Name = r.NewName("request")
	request := must(fixtures.PodCertificateRequest(r.Name, r.Pod, r.Account(ctx), worker))
	return Create(api.PodCertificateRequests).In(request.Namespace).With(request).Stored()
}

// joins requests the client certificate of a node, as its kubelet does. [Run.Names] has the key.
func joins(node func(*Run) string) Act {
	return sends(func(r *Run) Request {
		made, key, err := fixtures.CertificateSigningRequest(r.NewName("csr"),
			certificatesv1.KubeAPIServerClientKubeletSignerName, "system:node:"+node(r))
		Expect(err).NotTo(HaveOccurred())
		r.Name, r.Names["key"] = made.Name, string(key)
		afterwards(func(ctx context.Context) error {
			return suite.Client.CertificatesV1().CertificateSigningRequests().Delete(ctx, made.Name, metav1.DeleteOptions{})
		})
		return Create(api.CertificateSigningRequests).With(made).Stored()
	})
}

// signingTime bounds how long kube-controller-manager may take: see the framework's Certified.
const signingTime = 7 * time.Minute

// showCertificate waits for the certificate that [joins] requested, and reads a secret with it.
func showCertificate(node func(*Run) string) func(context.Context, *Run, Answer) {
	return func(ctx context.Context, r *Run, _ Answer) {
		GinkgoHelper()
		var certificate []byte
		Eventually(ctx, func() (int, error) {
			found, err := suite.Client.CertificatesV1().CertificateSigningRequests().Get(ctx, r.Name, metav1.GetOptions{})
			if err != nil {
				return 0, err
			}
			certificate = found.Status.Certificate
			return len(certificate), nil
		}).WithTimeout(signingTime).WithPolling(200 * time.Millisecond).Should(BeNumerically(">", 0))
		r.Say("kube-controller-manager has approved and signed the certificate of system:node:%s.", node(r))
		expectSecret(ctx, r, suite.AsCertificate("system:node:"+node(r), certificate, []byte(r.Names["key"])))
	}
}

// afterwards runs at the end of the spec. The object may not exist.
func afterwards(remove func(context.Context) error) {
	DeferCleanup(func(ctx context.Context) error {
		if err := remove(ctx); !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
}
