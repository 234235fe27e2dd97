// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"fmt"
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

// staticPods is the directory where kubeadm's kubelets look for static pods.
const staticPods = "/etc/kubernetes/manifests"

// static returns the manifest of a static pod with a label.
func static(name, label string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata:\n  name: %s\n  namespace: kube-system\n  labels: {%s: e2e}\n"+
		"spec:\n  terminationGracePeriodSeconds: 0\n  containers:\n  - name: pause\n    image: %s\n", name, label,
		fixtures.PauseImage)
}

// putStatic runs a static pod on the worker until the spec ends. It returns the name of its mirror
// pod.
func putStatic(ctx context.Context, name, label string) string {
	GinkgoHelper()
	return putManifest(ctx, name, func(manifest string) string { return manifest }, label)
}

// putManifest is putStatic with a change of the manifest.
func putManifest(ctx context.Context, name string, change func(string) string, label string) string {
	GinkgoHelper()
	file := staticPods + "/" + name + ".yaml"
	DeferCleanup(func(ctx context.Context) error {
		_, err := suite.Host.Run(ctx, suite.Worker, "rm -f "+file)
		return err
	})
	_, err := suite.Host.Run(ctx, suite.Worker,
		"cat >"+file+".new <<'END' && mv "+file+".new "+file+"\n"+change(static(name, label))+"END\n")
	Expect(err).NotTo(HaveOccurred())
	return name + "-" + suite.Worker
}

func mirrored(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := suite.Client.CoreV1().Pods("kube-system").Get(ctx, name, metav1.GetOptions{})
		return err
	}
}

// These specs use the cluster's real kubelets and their credentials.
var _ = Describe("a real kubelet", Label(OnHost, OnWorker), func() {
	It("creates a mirror pod for every static pod of the control plane", Allows("NR-MIRROR-4"), func(ctx SpecContext) {
		names := suite.OnControlPlane(ctx, "grep -h -m1 '^  name:' "+staticPods+"/*.yaml | sed 's/.*: //'")
		Expect(strings.Fields(names)).To(ContainElement("kube-apiserver"))
		for _, name := range strings.Fields(names) {
			Eventually(ctx, mirrored(name+"-"+suite.ControlPlane)).WithTimeout(mirrorRetry).WithPolling(time.Second).Should(
				Succeed())
		}
	})

	It("creates a mirror pod with a label that its namespace lists", Allows("NR-MIRROR-2"), func(ctx SpecContext) {
		name := putStatic(ctx, suite.Env().NewName("static"), "component")
		Eventually(ctx, mirrored(name)).WithTimeout(mirrorRetry).WithPolling(time.Second).Should(Succeed())
	})

	It("is denied a mirror pod with another label", Denies("NR-MIRROR-2"), Label(OnHardened), func(ctx SpecContext) {
		since := time.Now()
		name := putStatic(ctx, suite.Env().NewName("static"), "app")
		Eventually(ctx, func() ([]string, error) { return refused(ctx, suite.Worker, since) }).
			WithTimeout(mirrorRetry).WithPolling(time.Second).Should(
			ContainElement(And(ContainSubstring(name), ContainSubstring("[NR-MIRROR-2]"))))
		Expect(mirrored(name)(ctx)).NotTo(Succeed())
	})

	It("starts a pod with every kind of volume that needs no driver", Allows("NR-SA-4"), func(ctx SpecContext) {
		env := suite.Env()
		secret, config := fixtures.Secret(env.Namespace(ctx), "secret"), fixtures.ConfigMap(env.Namespace(ctx), "config")
		env.Put(ctx, secret, config)
		pod := env.Pod(ctx, suite.Worker,
			fixtures.WithSecret(secret.Name), fixtures.WithConfigMap(config.Name), fixtures.WithTokenFor(audience),
			fixtures.Using("empty", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}),
			fixtures.Using("host", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/etc"}}),
			fixtures.Using("downward",
				corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{{
					Path: "name", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"},
				}}}}),
		)
		expectRunning(ctx, pod)
	})
})

// Over a whole run, a healthy kubelet receives three kinds of denials. The first is for events about a static pod
// before its mirror pod exists, and about pods that were deleted before the lookup. The kubelet
// drops such events. The second is for the volume of a pod that was deleted with grace 0 before its
// volume was reported in use. The third is for a lookup without an answer from a busy API server.
// After these two, the kubelet writes again.
var (
	eventTooEarly = regexp.MustCompile(`^create events .*\[NR-EVENT-2\]$`)
	volumeTooLate = regexp.MustCompile(`^patch nodes .*: ("kubernetes\.io/csi/` + regexp.QuoteMeta(fixtures.Driver) +
		`\^volume-[^"]+"(, )?)+ \[NR-VOLUME-2\]$`)
	unanswered = regexp.MustCompile(`cannot look up [a-z ]+: the API server has not answered within `)
)

// mostUnanswered is more than a busy machine causes in the whole run, and less than a component
// with broken lookups would cause. Such a component rejects most writes of a kubelet. The kubelet
// repeats its writes every few seconds, so this makes hundreds of denials within minutes. The
// window of the specs is as old as the API server, so a few slow moments of each suite add up.
const mostUnanswered = 100

var _ = DescribeTable("since the API server started, admission denied only writes on the list to a kubelet:",
	Label(OnHost, OnWorker), Serial, Allows("NR-EVENT-2"),
	func(ctx SpecContext, node func() string) {
		expectRefusalsOnList(ctx, node(), must(suite.Registered(ctx, node())), "since the API server started", volumeTooLate)
	},
	Entry("the worker's kubelet", func() string { return suite.Worker }),
	Entry("the control plane's kubelet", func() string { return suite.ControlPlane }),
)

// expectRefusalsOnList expects that admission has rejected only those writes of a node's kubelet
// that it also rejects for a healthy kubelet, and those that match also. The name of the measurement
// has the window.
func expectRefusalsOnList(ctx context.Context, node string, since time.Time, window string, also ...*regexp.Regexp) {
	GinkgoHelper()
	refusals := must(refused(ctx, node, since))
	unexpected, late := notOnList(refusals, also...)
	Measured("refusals by admission of the kubelet of "+node+", "+window,
		fmt.Sprintf("%d on the list, %d of these look-ups without an answer; %d not",
			len(refusals)-len(unexpected), late, len(unexpected)))
	Expect(unexpected).To(BeEmpty())
	Expect(late).To(BeNumerically("<=", mostUnanswered))
}

// notOnList returns the denials that no healthy kubelet receives. late is the number of lookups
// without an answer among the others. It ignores the denials that specs cause: a spec of this file
// runs a pod that must be rejected, and a spec of labels_kubelet_test.go starts the kubelet with another
// value of oldZone.
func notOnList(refusals []string, also ...*regexp.Regexp) (unexpected []string, late int) {
	for _, refusal := range refusals {
		switch {
		case eventTooEarly.MatchString(refusal), strings.Contains(refusal, "static-"):
		case slices.ContainsFunc(also, func(r *regexp.Regexp) bool { return r.MatchString(refusal) }):
		case strings.HasSuffix(refusal, ": "+oldZone+" [NR-LABEL-4]"):
		case unanswered.MatchString(refusal):
			late++
		default:
			unexpected = append(unexpected, refusal)
		}
	}
	return unexpected, late
}

// refused returns the writes of the node's own kubelet that Bulkhead's rules rejected.
func refused(ctx context.Context, node string, since time.Time) ([]string, error) {
	events, err := suite.AuditedWhere(ctx, since, `"user":{"username":"system:node:`+node+`"`, "[NR-")
	var all []string
	for _, event := range events {
		if event.ImpersonatedUser != nil || !strings.HasPrefix(event.UserAgent, "kubelet/") || event.ResponseStatus == nil ||
			event.ObjectRef == nil {
			continue
		}
		all = append(all, fmt.Sprintf("%s %s %s/%s: %s", event.Verb, event.ObjectRef.Resource, event.ObjectRef.Namespace,
			event.ObjectRef.Name, event.ResponseStatus.Message))
	}
	return all, err
}
