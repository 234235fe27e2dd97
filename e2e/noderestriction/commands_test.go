// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	annotateSystem = "kubectl annotate namespace kube-system "
	asAdmin        = "KUBECONFIG=/etc/kubernetes/admin.conf "
)

// systemLine returns the line of `bulkhead mirror-labels` about kube-system.
func systemLine(ctx context.Context) string {
	GinkgoHelper()
	all := suite.OnControlPlane(ctx, "bulkhead mirror-labels")
	for line := range strings.Lines(all) {
		if strings.HasPrefix(line, annotateSystem) {
			return strings.TrimSpace(line)
		}
	}
	Fail("there is no line about kube-system in:\n" + all)
	return ""
}

// controlPlanePods returns the mirror pods of the control plane's static pods.
func controlPlanePods(ctx context.Context) []corev1.Pod {
	GinkgoHelper()
	list := must(suite.Client.CoreV1().Pods("kube-system").List(ctx,
		metav1.ListOptions{FieldSelector: "spec.nodeName=" + suite.ControlPlane}))
	pods := slices.DeleteFunc(list.Items,
		func(pod corev1.Pod) bool { return pod.Annotations[fixtures.MirrorAnnotation] == "" })
	Expect(pods).NotTo(BeEmpty(), "kubeadm's control plane consists of static pods")
	return pods
}

// like copies the labels and annotations of the original to a mirror pod.
func like(original *corev1.Pod) func(*Env, *corev1.Pod) {
	return func(_ *Env, pod *corev1.Pod) {
		pod.Labels, pod.Annotations = maps.Clone(original.Labels), maps.Clone(original.Annotations)
	}
}

// The spec applies the output of mirror-labels to a new namespace without annotations: kube-system
// has the installer's annotations.
var _ = Describe("bulkhead mirror-labels", Label(OnHost, OnHardened), func() {
	It("prints a command that allows every label of the static pods of kube-system", Allows("NR-MIRROR-2"),
		func(ctx SpecContext) {
			pods := controlPlanePods(ctx)
			line := systemLine(ctx)
			Expect(strings.Fields(line)).To(ContainElement(fixtures.MirrorAllowed + "=true"))
			_, keys, _ := strings.Cut(line, allowedKeys+"=")
			listed := strings.Split(keys, ",")
			Expect(listed).To(ContainElements("component", "tier"))
			for i := range pods {
				Expect(listed).To(ContainElements(slices.Collect(maps.Keys(pods[i].Labels))), pods[i].Name)
			}
			suite.OnControlPlane(ctx, asAdmin+line+" --dry-run=server")
		})

	It("static pods of kube-system in a namespace without annotations: denied", Denies("NR-MIRROR-2"),
		func(ctx SpecContext) {
			for _, pod := range controlPlanePods(ctx) {
				admit(ctx, onControlPlane(mirror(like(&pod))), "and it does not list ")
			}
		})

	It("static pods of kube-system in a namespace with these annotations: admitted", Allows("NR-MIRROR-2"),
		func(ctx SpecContext) {
			annotateOwn := strings.Replace(annotateSystem, "kube-system", suite.Env().Namespace(ctx), 1)
			suite.OnControlPlane(ctx, asAdmin+strings.Replace(systemLine(ctx), annotateSystem, annotateOwn, 1))
			for _, pod := range controlPlanePods(ctx) {
				admit(ctx, onControlPlane(mirror(like(&pod))))
			}
		})
})

// poolLabel is the label in the only row of [narrow]'s machine table.
const poolLabel = "e2e.bulkhead.dev/pool"

// ofTable creates the Node of a machine that is in the table.
func ofTable(ctx context.Context, labels map[string]string) *corev1.Node {
	GinkgoHelper()
	node := fixtures.Node(suite.Env().NewName("e2e-machine"))
	node.Labels = map[string]string{FakeNodeLabel: "true"}
	maps.Copy(node.Labels, labels)
	suite.Env().Put(ctx, node)
	return node
}

func labelsOf(ctx context.Context, node string) map[string]string {
	GinkgoHelper()
	return must(suite.Client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})).Labels
}

// writesPool writes the label as the node.
func writesPool(node *corev1.Node, value string) RequestFunc {
	return func(context.Context, *Env) Request {
		return Patch(api.Nodes).Named(node.Name).With(metadata("labels", fields{poolLabel: value}))
	}
}

var _ = Describe("bulkhead commands for operators", Serial, Ordered, Label(Disruptive, OnHost, OnHardened), func() {
	BeforeAll(func(ctx SpecContext) { suite.Configure(ctx, narrow) })

	Describe("with node-labels apply:", func() {
		It("sets the labels of its row on a new Node, and none on other Nodes", Allows("NR-MACHINE-2"),
			func(ctx SpecContext) {
				node, stranger := ofTable(ctx, nil), suite.Env().Node(ctx, suite.Env().Own)
				apply := "bulkhead node-labels apply " + node.Name + " " + stranger.Name
				Expect(suite.OnControlPlane(ctx, apply)).To(Equal(node.Name + ": " + poolLabel + "=pii"))
				Expect(labelsOf(ctx, node.Name)).To(HaveKeyWithValue(poolLabel, "pii"))
				Expect(labelsOf(ctx, stranger.Name)).NotTo(HaveKey(poolLabel))
				Expect(suite.OnControlPlane(ctx, apply)).To(Equal("all labels are as the machine table has them"))
				suite.ExpectWriteClaim(ctx, suite.AsNode(node.Name), writesPool(node, "pii"))
			})

		It("restores a changed label, which the node cannot change again", Denies("NR-MACHINE-2"), func(ctx SpecContext) {
			node := ofTable(ctx, map[string]string{poolLabel: "general"})
			out := suite.OnControlPlane(ctx, "bulkhead node-labels apply")
			Expect(strings.Split(out, "\n")).To(ContainElement(node.Name + ": " + poolLabel + `=pii (was "general")`))
			Expect(labelsOf(ctx, node.Name)).To(HaveKeyWithValue(poolLabel, "pii"))
			suite.ExpectWriteClaim(ctx, suite.AsNode(node.Name), writesPool(node, "general"), poolLabel)
		})
	})

	Describe("with taints:", func() {
		remembersIt := func(ctx context.Context, node string) bool {
			GinkgoHelper()
			row := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(node) + `\s+` + regexp.QuoteMeta(sticky+"=yes:NoSchedule"))
			return row.MatchString(suite.OnControlPlane(ctx, "bulkhead taints list"))
		}

		It("lists the taints that a node must register with", Denies("NR-STICKY-1"), func(ctx SpecContext) {
			compromised(ctx)
			own := suite.Env().Own
			Expect(remembersIt(ctx, own)).To(BeTrue())
			out := suite.OnControlPlane(ctx, "bulkhead taints clear "+own+" e2e.bulkhead.dev/sticky-other")
			Expect(out).To(Equal("no such taint is stored"))
			Expect(remembersIt(ctx, own)).To(BeTrue())
			admit(ctx, registering(), sticky)
		})

		It("clears these taints, so that the node registers without them", Allows("NR-STICKY-1"), func(ctx SpecContext) {
			compromised(ctx)
			own := suite.Env().Own
			out := suite.OnControlPlane(ctx, "bulkhead taints clear "+own+" "+sticky)
			Expect(out).To(Equal("removed: " + sticky + "=yes:NoSchedule"))
			Expect(remembersIt(ctx, own)).To(BeFalse())
			who, request := suite.AsNode(own), registering()(ctx, suite.Env())
			Eventually(ctx, func() (int, error) {
				code, _, err := who.Send(ctx, request)
				return code, err
			}).WithTimeout(Soon).WithPolling(100 * time.Millisecond).Should(Equal(http.StatusCreated))
		})
	})
})
