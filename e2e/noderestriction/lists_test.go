// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// lists is narrow with the options for what a proposal of Kubernetes has, and Bulkhead by default has
// not: taints that a node may change, and label keys of mirror pods for the whole cluster.
var lists = strings.NewReplacer(
	"stickyTaints:", "changeableTaints: [\"e2e.bulkhead.dev/*\"]\nstickyTaints:",
	"  requireNamespaceAnnotation: true\n", "  requireNamespaceAnnotation: true\n"+
		"  allowedLabelKeys: [component, \"e2e.bulkhead.dev/*\"]\n  deniedLabelKeys: [\"e2e.bulkhead.dev/app*\"]\n",
).Replace(narrow)

// retainted returns a review of a node that replaces the taint with the key before by one with the key
// after.
func retainted(before, after string) string {
	taints := func(key string) string {
		return `"metadata":{"name":"e2e-any"},"spec":{"taints":[{"key":"` + key + `","effect":"NoSchedule"}]}`
	}
	return review("e2e-any", `"CREATE"`, `"UPDATE"`, `"metadata":{"name":"e2e-any"}},"oldObject":null`,
		taints(after)+`},"oldObject":{"apiVersion":"v1","kind":"Node",`+taints(before)+`}`)
}

var _ = Describe("the operator's lists of keys", Serial, Ordered, Label(Disruptive, OnHost, OnHardened), func() {
	BeforeAll(func(ctx SpecContext) { suite.Configure(ctx, lists) })

	DescribeTable("for mirror pods of the whole cluster:", admit,
		Entry("label with a listed prefix: admitted", Allows("NR-MIRROR-2"), mirror(labels("e2e.bulkhead.dev/rack"))),
		Entry("label that is not listed: denied", Denies("NR-MIRROR-2"), mirror(labels("tier")), "it does not list tier"),
		Entry("label that is listed: admitted", Allows("NR-MIRROR-3"), mirror(labels("component"))),
		Entry("label with a denied prefix: denied", Denies("NR-MIRROR-3"), mirror(labels("e2e.bulkhead.dev/app-name")),
			"the following labels: e2e.bulkhead.dev/app-name"),
	)

	// On this API server, the in-tree plugin denies every change of taints, so the webhook is asked.
	It("for taints of an existing Node: change of a listed taint: admitted", Allows("NR-NODE-4"),
		func(ctx SpecContext) { expectAdmitted(ctx, retainted("e2e.bulkhead.dev/a", "e2e.bulkhead.dev/b")) })
	It("for taints of an existing Node: removal of another taint: denied", Denies("NR-NODE-4"),
		func(ctx SpecContext) {
			expectForbidden(ctx, retainted("e2e.example/a", "e2e.bulkhead.dev/b"), "modify taints [NR-NODE-4]")
		})
	It("for taints of an existing Node: removal of a listed taint that is sticky: denied", Denies("NR-NODE-4"),
		func(ctx SpecContext) {
			expectForbidden(ctx, retainted(sticky, "e2e.bulkhead.dev/b"), "taints [NR-NODE-4]")
		})
})

// warned sends the creation of a mirror pod with a label as the node, as a dry run. It returns the
// status and the warnings.
func warned(ctx context.Context, label string) (int, []string) {
	GinkgoHelper()
	env := suite.Env()
	pod := fixtures.Pod(env.Namespace(ctx), env.NewName("mirror"), env.Own, fixtures.Mirror(env.Node(ctx, env.Own)),
		func(pod *corev1.Pod) { pod.Labels = map[string]string{label: "e2e"} })
	pod.APIVersion, pod.Kind = "v1", "Pod"
	client, host, err := suite.AsNode(env.Own).HTTP()
	Expect(err).NotTo(HaveOccurred())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		host+"/api/v1/namespaces/"+pod.Namespace+"/pods?dryRun=All", bytes.NewReader(must(json.Marshal(pod))))
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(request)
	Expect(err).NotTo(HaveOccurred())
	Expect(answer.Body.Close()).To(Succeed())
	return answer.StatusCode, answer.Header.Values("Warning")
}

// warning is narrow with the gate of mirror pods in mode warn.
var warning = strings.Replace(narrow, "mode: enforce", "mode: warn", 1)

var _ = It("a mirror pod with a label that is not listed, in mode warn: "+
	"admitted with a warning and an audit annotation",
	Serial, Label(Disruptive, OnHost, OnHardened), Allows("NR-MIRROR-2"), func(ctx SpecContext) {
		suite.Configure(ctx, warning)
		since := time.Now()
		code, warnings := warned(ctx, "app")
		Expect(code).To(Equal(http.StatusCreated))
		// The API server cuts a warning off, so the ID at its end is missing.
		Expect(warnings).To(ContainElement(ContainSubstring("can only create mirror pods with labels that the annotation")))
		Eventually(ctx, func() ([]string, error) {
			var keys []string
			events, err := suite.AuditedWhere(ctx, since, suite.Env().Own, "refused-label-keys")
			for _, event := range events {
				for name, value := range event.Annotations {
					if strings.HasSuffix(name, "/refused-label-keys") {
						keys = append(keys, value)
					}
				}
			}
			return keys, err
		}).WithTimeout(Soon).WithPolling(time.Second).Should(ContainElement("app"))
	})
