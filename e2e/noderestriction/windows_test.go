// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// A Windows kubelet cannot run in the reference cluster. These specs make its requests, with client
// certificates that the cluster signed (docs/compatibility.md).
const (
	nextBuild = "10.0.26100"
	// windowsEdition is a label that no kubelet sets. It has the domain of the label of the build.
	windowsEdition = "node.kubernetes.io/windows-edition"
	// osTaint is the key in the Kubernetes guide for Windows: --register-with-taints=os=windows:NoSchedule.
	osTaint = "os"

	notTheseTaints = "is not allowed to set the following taints: "
)

// registeringWindows creates the Env's own Node as a Windows kubelet does. The tweaks edit the Node.
func registeringWindows(tweaks ...func(*Env, *corev1.Node)) RequestFunc {
	return func(_ context.Context, e *Env) Request {
		node := fixtures.WindowsNode(e.Own, e.Address())
		for _, tweak := range tweaks {
			tweak(e, node)
		}
		return Create(api.Nodes).With(node)
	}
}

// andLabel adds a label to those of the kubelet.
func andLabel(key, value string) func(*Env, *corev1.Node) {
	return func(_ *Env, node *corev1.Node) { node.Labels[key] = value }
}

// windowsNode creates the Env's own Node, of a Windows node, as the administrator. No pod is
// scheduled to it.
func windowsNode(ctx context.Context, e *Env) {
	GinkgoHelper()
	node := fixtures.WindowsNode(e.Own, e.Address())
	node.Labels[FakeNodeLabel] = "true"
	node.Spec.Unschedulable = true
	e.Put(ctx, node)
}

// toWindowsNode writes to the Env's own Node, of a Windows node.
func toWindowsNode(r Request) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		windowsNode(ctx, e)
		return r.Named(e.Own)
	}
}

// windowsPod creates a pod of Windows containers on a node whose Node exists.
func windowsPod(ctx context.Context, e *Env, node string, tweaks ...fixtures.PodTweak) *corev1.Pod {
	GinkgoHelper()
	pod := fixtures.Pod(e.Namespace(ctx), e.NewName("pod"), node, tweaks...)
	fixtures.ForWindows(pod)
	e.Put(ctx, pod)
	return pod
}

// onHostProcess reports the IP of a HostProcess pod of the Env's own node.
func onHostProcess(ip func(*Env) string) RequestFunc {
	return func(ctx context.Context, e *Env) Request {
		windowsNode(ctx, e)
		otherAddressed(ctx, e)
		pod := windowsPod(ctx, e, e.Own, fixtures.AsHostProcess)
		return aboutPod(Patch(api.Pods).Sub("status").With(podIPs(ip(e))))(pod)
	}
}

var _ = DescribeTable("a Windows node under the policy of profile hardened", Label(OnHardened), admitCertified,
	Entry("registers with the labels of its kubelet, which has the build of Windows: admitted", Allows("NR-LABEL-1"),
		registeringWindows()),
	Entry("registers with another label of the domain node.kubernetes.io: denied", Denies("NR-LABEL-1"),
		registeringWindows(andLabel(windowsEdition, fixtures.WindowsBuild)), notTheseLabels+": "+windowsEdition),
	Entry("changes the label of its build after an update of Windows: admitted", Allows("NR-LABEL-2"),
		toWindowsNode(relabel(corev1.LabelWindowsBuild, nextBuild).Sub("status"))),
	Entry("adds another label of the domain node.kubernetes.io: denied", Denies("NR-LABEL-2"),
		toWindowsNode(relabel(windowsEdition, nextBuild).Sub("status")), notToSetLabels+": "+windowsEdition),

	Entry("registers with a taint of kubelets: admitted", Allows("NR-TAINT-1"),
		registeringWindows(withTaint(corev1.TaintNodeUnschedulable))),
	Entry("registers with the taint os, which is not listed: denied", Denies("NR-TAINT-1"),
		registeringWindows(withTaint(osTaint)), notTheseTaints+osTaint),
)

var _ = DescribeTable("a Windows node", admitCertified,
	Entry("changes the label of its build after an update of Windows: admitted", Allows("NR-LABEL-4"),
		toWindowsNode(relabel(corev1.LabelWindowsBuild, nextBuild).Sub("status"))),
	Entry("changes the label of its operating system: denied", DeniesBeyond("NR-LABEL-4", Behind),
		toWindowsNode(relabel(corev1.LabelOSStable, "linux").Sub("status")), setOnce),
	Entry("reports another kernel after an update of Windows: admitted", Allows("NR-LABEL-4"),
		toWindowsNode(Patch(api.Nodes).Sub("status").With(status("nodeInfo", fields{"kernelVersion": nextBuild})))),
	Entry("reports another operating system: denied", DeniesBeyond("NR-LABEL-4", Behind),
		toWindowsNode(Patch(api.Nodes).Sub("status").With(status("nodeInfo", fields{"operatingSystem": "linux"}))),
		"that its Node reports"),

	Entry("reports its address as the IP of a HostProcess pod: admitted", Allows("NR-PODIP-2"),
		onHostProcess((*Env).Address)),
	Entry("reports another node's address as the IP of a HostProcess pod: denied", DeniesBeyond("NR-PODIP-2", Behind),
		onHostProcess(func(*Env) string { return othersAddress }), "it is that of another node"),
)

// taintsOfWindows is narrow with the setting of docs/compatibility.md.
var taintsOfWindows = strings.Replace(narrow, "allowedTaints: [", "allowedTaints: [os, ", 1)

var _ = Describe("the operator's configuration of taints", Serial, Ordered, Label(Disruptive, OnHost, OnHardened),
	func() {
		BeforeAll(func(ctx SpecContext) { suite.Configure(ctx, taintsOfWindows) })

		DescribeTable("for Windows nodes:", admitCertified,
			Entry("registers with the taint os, which is listed: admitted", Allows("NR-TAINT-1"),
				registeringWindows(withTaint(osTaint))),
			Entry("registers with the taint node.kubernetes.io/os, which is not listed: denied", Denies("NR-TAINT-1"),
				registeringWindows(withTaint("node.kubernetes.io/"+osTaint)), notTheseTaints+"node.kubernetes.io/"+osTaint),
		)
	})

// The requests take effect, in the order of a kubelet that joins. They use one certificate.
var _ = Describe("a Windows node that joins", Ordered, Label(OnHardened), func() {
	var (
		env         *Env
		node        *Identity
		pod, others *corev1.Pod
	)

	BeforeAll(func(ctx SpecContext) {
		env = suite.Env()
		node = must(suite.Certified(ctx, env.Own))
		env.PutAs(ctx, node, fixtures.WindowsNode(env.Own, env.Address()))
		setAside(ctx, env.Own)
		env.Node(ctx, env.Other)
		pod, others = windowsPod(ctx, env, env.Own), windowsPod(ctx, env, env.Other)
	})

	It("has the labels of its kubelet, and does not register another Node", Allows("NR-NODE-1"), func(ctx SpecContext) {
		for key, value := range fixtures.WindowsNode(env.Own, env.Address()).Labels {
			Expect(labelsOf(ctx, env.Own)).To(HaveKeyWithValue(key, value))
		}
		another := fixtures.WindowsNode(env.NewName("e2e-windows"), env.Address())
		suite.ExpectRefusedWrite(ctx, node, Create(api.Nodes).With(another), Refusal{By: "NR-NODE-1", Text: onlyItself})
	})

	It("updates its status, and not that of another Node", Allows("NR-NODE-1"), func(ctx SpecContext) {
		update := Patch(api.Nodes).Sub("status").With(status("nodeInfo", fields{"kernelVersion": nextBuild})).Stored()
		suite.ExpectWritten(ctx, node, update.Named(env.Own))
		suite.ExpectRefusedWrite(ctx, node, update.Named(env.Other), Refusal{By: "NR-NODE-1", Text: onlyItself})
	})

	It("creates and renews its lease, and creates no lease of another node", Allows("NR-LEASE-1"), func(ctx SpecContext) {
		lease := fixtures.Lease(fixtures.LeaseNamespace, env.Own)
		env.PutAs(ctx, node, lease)
		lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
		suite.ExpectWritten(ctx, node, Update(api.Leases).In(lease.Namespace).Named(lease.Name).With(lease).Stored())
		suite.ExpectRefusedWrite(ctx, node,
			Create(api.Leases).In(lease.Namespace).With(fixtures.Lease(lease.Namespace, env.Other)),
			Refusal{By: "NR-LEASE-1", Text: "can only access node lease with the same name as the requesting node"})
	})

	It("reports the status of its pod, and not of another node's pod", Allows("NR-POD-6"), func(ctx SpecContext) {
		report := Patch(api.Pods).Sub("status").With(status("phase", "Running")).Stored()
		suite.ExpectWritten(ctx, node, aboutPod(report)(pod))
		suite.ExpectRefusedWrite(ctx, node, aboutPod(report)(others), Refusal{By: "NR-POD-6", Text: ownStatusOnly})
	})

	It("gets a serving certificate for its address, and requests none for another name", Allows("NR-CSR-2"),
		func(ctx SpecContext) {
			asked := servingRequest(env, env.Own)
			env.PutAs(ctx, node, asked)
			Eventually(ctx, func() ([]byte, error) {
				got, err := suite.Client.CertificatesV1().CertificateSigningRequests().Get(ctx, asked.Name, metav1.GetOptions{})
				if err != nil {
					return nil, err
				}
				return got.Status.Certificate, nil
			}).WithTimeout(ControllerManager).WithPolling(100*time.Millisecond).ShouldNot(BeEmpty(),
				"kubelet-csr-approver approves it, kube-controller-manager signs it")
			suite.ExpectRefusedWrite(ctx, node, Create(api.CertificateSigningRequests).With(servingRequest(env, env.Other)),
				Refusal{By: "NR-CSR-2", Text: env.Other})
		})
})

// setAside keeps pods away from a Node without a kubelet.
func setAside(ctx context.Context, node string) {
	GinkgoHelper()
	patch := must(json.Marshal(fields{"metadata": fields{"labels": fields{FakeNodeLabel: "true"}},
		"spec": fields{"unschedulable": true}}))
	_, err := suite.Client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// servingRequest requests a serving certificate of the Env's own node with a DNS name.
func servingRequest(e *Env, name string) *certificatesv1.CertificateSigningRequest {
	GinkgoHelper()
	template := fixtures.NodeSubject("system:node:" + e.Own)
	template.DNSNames, template.IPAddresses = []string{name}, []net.IP{net.ParseIP(e.Address())}
	request, _, err := fixtures.SigningRequest(e.NewName("csr"), serving, certificatesv1.UsageServerAuth, template)
	Expect(err).NotTo(HaveOccurred())
	return request
}
