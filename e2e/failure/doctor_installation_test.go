// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/bulkhead-k8s/bulkhead/components/clusterstatus"
	"github.com/bulkhead-k8s/bulkhead/components/doctor"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// The specs damage files of kubelet-approver: while it does not run, only new requests of kubelets for
	// serving certificates wait.
	approver       = "kubelet-approver"
	approverClient = StateDirectory + "/" + approver + "/client"
	approverPod    = "/etc/kubernetes/manifests/bulkhead-" + approver + ".yaml"
	// podAside is in another directory: the kubelet runs every file in the directory of the manifests.
	podAside     = "/etc/kubernetes/e2e-doctor-" + approver + ".yaml"
	kubernetesCA = "/etc/kubernetes/pki/ca"

	// otherImage is another name of Bulkhead's image, so a pod with it runs.
	otherImage = "127.0.0.1:1/bulkhead:e2e-doctor"
	ctrImages  = "ctr --namespace k8s.io images "
)

var _ = Describe("bulkhead doctor finds", Serial, Label(Disruptive, OnHost, OnHardened, Slow),
	AllowsBy("NA-DEFAULT", "NA-UNI-SERVICES"), func() {
		It("a certificate that ends soon", func(ctx SpecContext) {
			expectCertificateFound(ctx, doctor.Soon, "is due for renewal: it has ", "run this again in an hour",
				func(ctx context.Context) { reissue(ctx, time.Now().Add(time.Hour)) })
		})

		It("a certificate that has expired", func(ctx SpecContext) {
			end := time.Now().Add(-time.Hour)
			expectCertificateFound(ctx, doctor.Urgent, "expired at "+end.UTC().Format(time.RFC3339),
				"run `bulkhead certs renew` on this host", func(ctx context.Context) { reissue(ctx, end) })
		})

		It("a certificate that cannot be read", func(ctx SpecContext) {
			expectCertificateFound(ctx, doctor.Urgent, "cannot be used: ", "run `bulkhead certs renew` on this host",
				func(ctx context.Context) {
					suite.OnControlPlane(ctx, "f="+approverClient+".crt; truncate -s $(($(stat -c %s $f) / 2)) $f")
				})
		})

		It("a manifest with another image than was installed", func(ctx SpecContext) { expectImageFound(ctx) })

		It("a ClusterRole of Bulkhead with another rule, and removes the rule with --fix=objects",
			func(ctx SpecContext) { expectRuleFound(ctx) })

		It("hosts with different configurations", func(ctx SpecContext) {
			expectDifferenceFound(ctx, doctor.Urgent, "configuration",
				"run `bulkhead install --config=FILE` on the hosts that differ",
				func(h *hosts.Host) { h.ConfigHash = h.ConfigHash[:8] + "zzzz" },
				func(h hosts.Host) string { return clusterstatus.Short(h.ConfigHash) })
		})

		It("hosts with different versions of Bulkhead", func(ctx SpecContext) {
			expectDifferenceFound(ctx, doctor.Soon, "version",
				"run `bulkhead install` of the newer version on the hosts with the older one",
				func(h *hosts.Host) { h.Version += "-e2e" }, func(h hosts.Host) string { return h.Version })
		})

		It("API servers with different versions of Kubernetes", func(ctx SpecContext) { expectServerFound(ctx) })
	})

// expectCertificateFound damages the certificate of kubelet-approver, and renews it as the remedy says.
// Then it restores the original certificate.
func expectCertificateFound(ctx SpecContext, severity doctor.Severity, problem, remedy string,
	damage func(context.Context)) {
	GinkgoHelper()
	files := []string{approverClient + ".crt", approverClient + ".key"}
	before := exactly(ctx, files[0]) + exactly(ctx, files[1])
	// It could renew the certificate before doctor sees it.
	signal := func(ctx context.Context, name string) {
		suite.OnControlPlane(ctx, "kill -"+name+" $("+certificateRotator+")")
	}
	DeferCleanup(signal, "CONT")
	expectFound(ctx, cause{severity: severity, repair: remedy,
		finding: fmt.Sprintf("certificates: [%s]: certificate %s-client %s", suite.ControlPlane, approver, problem),
		begin: func(ctx context.Context) {
			signal(ctx, "STOP")
			saveFiles(ctx, files)
			damage(ctx)
		},
		follow: func(ctx context.Context) {
			Expect(suite.OnControlPlane(ctx, "bulkhead certs renew")).To(Equal("renewed " + approver + "-client"))
		},
		undo: restoreFiles})
	Expect(exactly(ctx, files[0])+exactly(ctx, files[1])).To(Equal(before), "the certificate is the original one")
}

// reissue replaces the certificate of kubelet-approver by one for the same key with another end.
func reissue(ctx context.Context, end time.Time) {
	GinkgoHelper()
	read := func(file string) []byte { return []byte(exactly(ctx, file)) }
	ca, err := tls.X509KeyPair(read(kubernetesCA+".crt"), read(kubernetesCA+".key"))
	Expect(err).NotTo(HaveOccurred())
	pair, err := tls.X509KeyPair(read(approverClient+".crt"), read(approverClient+".key"))
	Expect(err).NotTo(HaveOccurred())
	template := *pair.Leaf
	template.NotBefore, template.NotAfter = end.Add(-2*time.Hour), end
	der, err := x509.CreateCertificate(rand.Reader, &template, ca.Leaf, template.PublicKey, ca.PrivateKey)
	Expect(err).NotTo(HaveOccurred())
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	suite.OnControlPlane(ctx, "echo "+base64.StdEncoding.EncodeToString(text)+" | base64 -d >"+approverClient+".crt")
}

// expectImageFound gives the static pod of kubelet-approver another image, and installs again as the
// remedy says.
func expectImageFound(ctx SpecContext) {
	GinkgoHelper()
	installed, err := suite.ReadInstallation(ctx)
	Expect(err).NotTo(HaveOccurred())
	before := exactly(ctx, approverPod)
	Expect(before).To(ContainSubstring("image: " + installed.Image + "\n"))
	expectFound(ctx, cause{severity: doctor.Urgent, repair: "run `bulkhead install` on this host again",
		finding: fmt.Sprintf("hosts: [%s]: %s runs image %s, but %s was installed", suite.ControlPlane, approver,
			otherImage, installed.Image),
		begin: func(ctx context.Context) {
			suite.OnControlPlane(ctx, fmt.Sprintf("set -e; %stag --force %s %s; cp -a %s %s; cp -a %[5]s %[5]s.new",
				ctrImages, installed.Image, otherImage, approverPod, podAside))
			suite.OnControlPlane(ctx, fmt.Sprintf("sed -i 's|image: %s$|image: %s|' %[3]s.new && mv %[3]s.new %[4]s",
				installed.Image, otherImage, podAside, approverPod))
		},
		follow: func(ctx context.Context) {
			suite.OnControlPlane(ctx, installed.Command())
			Expect(exactly(ctx, approverPod)).To(Equal(before))
		},
		undo: func(ctx context.Context) {
			suite.OnControlPlane(ctx, fmt.Sprintf("set -e; test ! -e %[1]s || mv %[1]s %[2]s; rm -f %[1]s.new; "+
				"%[3]srm %[4]s", podAside, approverPod, ctrImages, otherImage))
		}})
	Expect(exactly(ctx, approverPod)).To(Equal(before))
}

// expectRuleFound adds a rule that gives no right to a ClusterRole of Bulkhead.
func expectRuleFound(ctx SpecContext) {
	GinkgoHelper()
	client := suite.Client.RbacV1().ClusterRoles()
	before, err := client.Get(ctx, deletedRole, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	set := func(rules ...rbacv1.PolicyRule) func(context.Context) {
		return func(ctx context.Context) {
			GinkgoHelper()
			Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
				role, err := client.Get(ctx, deletedRole, metav1.GetOptions{})
				if err != nil || equality.Semantic.DeepEqual(role.Rules, rules) {
					return err
				}
				role.Rules = rules
				_, err = client.Update(ctx, role, metav1.UpdateOptions{})
				return err
			})).To(Succeed())
		}
	}
	expectFound(ctx, cause{severity: doctor.Urgent,
		finding: "objects: [ClusterRole " + deletedRole + "]: these objects of Bulkhead are not as installed",
		repair:  "run `bulkhead install` on a control-plane host again, or use the fix",
		begin: set(append(slices.Clone(before.Rules), rbacv1.PolicyRule{
			APIGroups: []string{"e2e.bulkhead.dev"}, Resources: []string{"none"}, Verbs: []string{"get"}})...),
		follow: func(ctx context.Context) {
			Expect(suite.OnControlPlane(ctx, repair)).To(ContainSubstring("apply ClusterRole " + deletedRole))
		},
		undo: set(before.Rules...)})
	after, err := client.Get(ctx, deletedRole, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	Expect(after.Rules).To(Equal(before.Rules))
}

// secondHost returns the Node of a control-plane host without a kubelet: the cluster may have only one
// host.
func secondHost() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: suite.Env().Other,
			Labels: map[string]string{FakeNodeLabel: "true", clusterstatus.ControlPlaneLabel: ""}},
		Spec: corev1.NodeSpec{Unschedulable: true},
	}
}

// expectDifferenceFound adds a second host, whose entry differs from the entry of the first one. shown is
// the part of an entry that doctor prints.
func expectDifferenceFound(ctx SpecContext, severity doctor.Severity, what, remedy string, change func(*hosts.Host),
	shown func(hosts.Host) string) {
	GinkgoHelper()
	config, err := suite.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, hosts.ConfigMapName,
		metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	entries, _ := hosts.Parse(config.Data)
	Expect(entries).To(HaveKey(suite.ControlPlane))
	own, other, node := entries[suite.ControlPlane], entries[suite.ControlPlane], secondHost()
	change(&other)
	value, err := other.Encode()
	Expect(err).NotTo(HaveOccurred())
	entry := &configMapChange{name: hosts.ConfigMapName, change: func(data map[string]string) { data[node.Name] = value }}
	expectFound(ctx, cause{severity: severity, repair: remedy,
		finding: fmt.Sprintf("drift: []: hosts differ in %s: %s on %s; %s on %s", what, shown(own), suite.ControlPlane,
			shown(other), node.Name),
		begin: func(ctx context.Context) { suite.Env().Put(ctx, node); entry.begin(ctx) },
		undo:  func(ctx context.Context) { entry.undo(ctx); suite.Env().Remove(ctx, node) }})
}

// expectServerFound adds a second host with the mirror pod of another kube-apiserver, which does not run.
func expectServerFound(ctx SpecContext) {
	GinkgoHelper()
	const server = "kube-apiserver"
	own, err := suite.Client.CoreV1().Pods(metav1.NamespaceSystem).Get(ctx, server+"-"+suite.ControlPlane,
		metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	image, node := own.Spec.Containers[0].Image, secondHost()
	// pod is created after the Node, because its owner is the Node.
	pod := func() *corev1.Pod {
		return fixtures.Pod(metav1.NamespaceSystem, server, node.Name, fixtures.Mirror(node), func(pod *corev1.Pod) {
			pod.Labels = map[string]string{"tier": "control-plane"}
			pod.Spec.Containers[0].Name, pod.Spec.Containers[0].Image = server, image+"-e2e"
		})
	}
	expectFound(ctx, cause{severity: doctor.Note, repair: "finish the upgrade of the control plane",
		finding: fmt.Sprintf("version: []: API servers have different images: %s on %s; %s-e2e on %s", image,
			suite.ControlPlane, image, node.Name),
		begin: func(ctx context.Context) { suite.Env().Put(ctx, node); suite.Env().Put(ctx, pod()) },
		undo:  func(ctx context.Context) { suite.Env().Remove(ctx, pod()); suite.Env().Remove(ctx, node) }})
}
