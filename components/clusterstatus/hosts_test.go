// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusterstatus

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
)

func TestHosts(t *testing.T) {
	const missingServer = "FAIL|cp2|kube-apiserver does not use Bulkhead's file: --"
	for _, tc := range []struct {
		name   string
		change func(*testing.T, *testCluster)
		want   []string
	}{
		{"all as it should be", func(*testing.T, *testCluster) {}, nil},
		{"host without Bulkhead", func(_ *testing.T, c *testCluster) {
			delete(c.entries, "cp2")
			c.unwire("cp2")
			c.kubeadm = plainKubeadm
		}, []string{"FAIL|cp2|Bulkhead is not installed"}},
		{"host without Bulkhead, kubeadm-config wired", func(_ *testing.T, c *testCluster) {
			delete(c.entries, "cp2")
			c.unwire("cp2")
		}, []string{"FAIL|cp2|Bulkhead is not installed",
			"FAIL||ConfigMap kubeadm-config names Bulkhead's files, but they do not exist on cp2"}},
		{"host without Bulkhead, kubeadm-config partly wired", func(_ *testing.T, c *testCluster) {
			delete(c.entries, "cp2")
			c.unwire("cp2")
			c.kubeadm = strings.Replace(wiredKubeadm, "bulkhead/apiserver/admission", "pod-security/admission", 1)
		}, []string{"FAIL|cp2|Bulkhead is not installed",
			"FAIL||ConfigMap kubeadm-config names Bulkhead's files, but they do not exist on cp2"}},
		{"host without entry that uses Bulkhead", func(_ *testing.T, c *testCluster) { delete(c.entries, "cp2") },
			[]string{"WARN|cp2|kube-apiserver uses Bulkhead's files, but ConfigMap bulkhead-hosts has no entry"}},
		{"truncated entry", func(_ *testing.T, c *testCluster) { c.entries["cp2"] = c.entries["cp2"][:20] },
			[]string{"FAIL|cp2|cannot read the entry of host cp2: "}},
		{"entry with control characters", func(t *testing.T, c *testCluster) {
			c.entries["cp2"] = entry(t, func(h *hosts.Host) { h.Modes = "\x1b[2J" })
		}, []string{"FAIL|cp2|cannot read the entry of host cp2: "}},
		{"entry of a host without Node", func(_ *testing.T, c *testCluster) { c.entries["cp3"] = c.entries["cp1"] },
			[]string{"WARN|cp3|ConfigMap bulkhead-hosts has an entry of this host"}},
		{"entry of a worker", func(_ *testing.T, c *testCluster) { c.entries["w1"] = c.entries["cp1"] },
			[]string{"WARN|w1|ConfigMap bulkhead-hosts has an entry of this host"}},
		{"installed, but kube-apiserver is not wired", func(_ *testing.T, c *testCluster) { c.unwire("cp2") },
			[]string{missingServer + "authorization-config is \"\"", missingServer + "admission-control-config-file is \"\"",
				"FAIL|cp2|kube-apiserver does not verify the serving certificates"}},
		{"files in another directory", func(_ *testing.T, c *testCluster) {
			c.setServerArgs("cp2", "--authorization-config=/other",
				"--admission-control-config-file=/etc/kubernetes/bulkhead/apiserver/admission.yaml",
				"--kubelet-certificate-authority=/etc/kubernetes/pki/ca.crt")
		}, []string{missingServer + "authorization-config is \"/other\""}},
		{"flag with a space, as kube-apiserver also accepts it", func(_ *testing.T, c *testCluster) {
			c.setServerArgs("cp2", "--authorization-config", "/etc/kubernetes/bulkhead/apiserver/authorization.yaml",
				"--admission-control-config-file=/etc/kubernetes/bulkhead/apiserver/admission.yaml",
				"--kubelet-certificate-authority=/etc/kubernetes/pki/ca.crt")
		}, nil},
		{"kubelets not verified, entry without it", func(t *testing.T, c *testCluster) {
			c.entries["cp2"] = entry(t, func(h *hosts.Host) { h.VerifyKubelets = false })
			c.setServerArgs("cp2", "--authorization-config=/etc/kubernetes/bulkhead/apiserver/authorization.yaml",
				"--admission-control-config-file=/etc/kubernetes/bulkhead/apiserver/admission.yaml")
		}, nil},
		{"no mirror pod of kube-apiserver", func(_ *testing.T, c *testCluster) { delete(c.pods, "kube-apiserver-cp2") },
			[]string{"FAIL|cp2|the API has no mirror pod of kube-apiserver"}},
		{"kube-apiserver not ready", func(_ *testing.T, c *testCluster) { breakPod(c.pods["kube-apiserver-cp2"]) },
			[]string{"FAIL|cp2|kube-apiserver is not ready: CrashLoopBackOff"}},
		{"component not ready", func(_ *testing.T, c *testCluster) { breakPod(c.pods["bulkhead-node-authorizer-cp2"]) },
			[]string{"FAIL|cp2|node-authorizer is not ready: CrashLoopBackOff"}},
		{"component absent", func(_ *testing.T, c *testCluster) { delete(c.pods, "bulkhead-node-restriction-cp2") },
			[]string{"FAIL|cp2|the API has no mirror pod of node-restriction"}},
		{"optional component on all hosts", func(_ *testing.T, c *testCluster) {
			c.mirror("bulkhead-scope-sync", "scope-sync", "cp1", image)
			c.mirror("bulkhead-scope-sync", "scope-sync", "cp2", image)
		}, nil},
		{"optional component on one host only", func(_ *testing.T, c *testCluster) {
			c.mirror("bulkhead-scope-sync", "scope-sync", "cp1", image)
		}, []string{"FAIL|cp2|the API has no mirror pod of scope-sync"}},
		{"component with another image", func(_ *testing.T, c *testCluster) {
			c.pods["bulkhead-node-authorizer-cp2"].Spec.Containers[0].Image = "other:v0"
		}, []string{"FAIL|cp2|node-authorizer runs image other:v0, but " + image + " was installed"}},
		{"pod with the name of a component, but from another node", func(_ *testing.T, c *testCluster) {
			c.pods["bulkhead-node-authorizer-cp2"].Spec.NodeName = "w1"
		}, []string{"FAIL|cp2|the API has no mirror pod of node-authorizer"}},
		{"pod with the name of a component that no kubelet created", func(_ *testing.T, c *testCluster) {
			delete(c.pods["bulkhead-node-authorizer-cp2"].Annotations, corev1.MirrorPodAnnotationKey)
		}, []string{"FAIL|cp2|the API has no mirror pod of node-authorizer"}},
		{"no control-plane label", func(_ *testing.T, c *testCluster) {
			delete(c.nodes["cp1"].Labels, ControlPlaneLabel)
			delete(c.nodes["cp2"].Labels, ControlPlaneLabel)
			c.entries = nil
		}, []string{"FAIL||no Node has the label"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newTestCluster(t)
			tc.change(t, c)
			report := c.collect(t)
			expectProblems(t, report, tc.want...)
			if failed := strings.Contains(strings.Join(tc.want, "\n"), "FAIL"); report.Failed() != failed {
				t.Errorf("failed is %v, want %v", report.Failed(), failed)
			}
		})
	}
}

// unwire gives a host the kube-apiserver of kubeadm.
func (c *testCluster) unwire(node string) { c.setServerArgs(node, "--authorization-mode=Node,RBAC") }

func (c *testCluster) setServerArgs(node string, args ...string) {
	c.pods["kube-apiserver-"+node].Spec.Containers[0].Command = append([]string{"kube-apiserver"}, args...)
}

// TestReportHasNoOtherFlag: a flag of kube-apiserver may name a secret.
func TestReportHasNoOtherFlag(t *testing.T) {
	out, err := json.Marshal(newTestCluster(t).collect(t))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "topsecret") {
		t.Errorf("the report has a flag that it does not need: %s", out)
	}
	for _, want := range []string{`"state":"installed"`, `"authorizationConfigSHA256":"aaaa"`, `"guard":"guarded"`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the report does not contain %s: %s", want, out)
		}
	}
}

func TestControlCharactersOfPods(t *testing.T) {
	c := newTestCluster(t)
	c.pods["bulkhead-node-authorizer-cp2"].Spec.Containers[0].Image = "a\x1b[2Jb"
	c.setServerArgs("cp2", "--authorization-config=/\x1b[2J")
	c.certificates["bulkhead-certs-cp2"] = "\x1b[2J"
	for _, f := range c.collect(t).Findings {
		if strings.ContainsRune(f.Text+f.Next, '\x1b') {
			t.Errorf("finding with a control character: %q", f.Text)
		}
	}
}

func TestErrorsOfTheAPI(t *testing.T) {
	for _, tc := range []struct{ resource, want string }{
		{"nodes", "cannot list Nodes"},
		{"configmaps", "cannot read ConfigMap bulkhead-hosts in kube-system"},
		{"daemonsets", "cannot read DaemonSet bulkhead-kubelet-auth-proxy in kube-system"},
		{"pods", "cannot list pods in kube-system"},
	} {
		t.Run(tc.resource+" denied", func(t *testing.T) {
			o := newTestCluster(t).options()
			o.Client.(*fake.Clientset).PrependReactor("*", tc.resource,
				func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("denied") })
			report, err := Collect(t.Context(), o)
			if report != nil || err == nil || !strings.HasPrefix(err.Error(), tc.want+": denied; use") {
				t.Errorf("report %v, error %v, want %s", report, err, tc.want)
			}
		})
	}
	o := newTestCluster(t).options()
	o.ProxiedNodes = func(context.Context) ([]string, error) { return nil, errors.New("denied") }
	report, err := Collect(t.Context(), o)
	if want := "cannot list the nodes with kubelet-auth-proxy: denied; use"; report != nil || err == nil ||
		!strings.HasPrefix(err.Error(), want) {
		t.Errorf("report %v, error %v, want %s", report, err, want)
	}
}

func TestFindingsOfAHealthyCluster(t *testing.T) {
	want := []Finding{
		{Level: "OK", Text: "2 of 2 control-plane hosts have Bulkhead, and its components are ready"},
		{Level: "OK", Text: "hosts have the same version, profile, mode and configuration"},
		{Level: "OK", Text: "ConfigMap kubeadm-config names Bulkhead's files: `kubeadm upgrade` keeps them"},
		{Level: "OK", Text: "3 of 3 kubelets are guarded by kubelet-auth-proxy"},
		{Level: "OK", Text: "all certificates are renewed in time; the first ends at 2026-05-01T12:00:00Z"},
	}
	if diff := cmp.Diff(want, newTestCluster(t).collect(t).Findings); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWorstFindingsAreFirst(t *testing.T) {
	c := newTestCluster(t)
	c.entries["cp3"] = c.entries["cp1"]                                                       // WARN
	c.certificates["bulkhead-certs-cp1"] = certificates(t, now, "it has expired")             // FAIL
	c.certificates["bulkhead-certs-cp2"] = certificates(t, now.Add(time.Hour), "1h0m0s left") // WARN
	var levels []string
	for _, f := range c.collect(t).Findings {
		levels = append(levels, string(f.Level))
	}
	if got := strings.Join(levels, " "); got != "FAIL WARN WARN OK OK OK OK" {
		t.Errorf("levels %s", got)
	}
}

func TestRestartsAndRollout(t *testing.T) {
	c := newTestCluster(t)
	ended := now.Add(-time.Hour)
	c.pods["kube-apiserver-cp1"].Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "other", RestartCount: 9},
		{Name: "kube-apiserver", RestartCount: 4, LastTerminationState: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(ended)}}}}
	c.daemonSet.Generation, c.daemonSet.Status.ObservedGeneration = 2, 1
	c.daemonSet.Status.DesiredNumberScheduled, c.daemonSet.Status.NumberReady = 3, 2
	r := c.collect(t)
	if got, want := r.Hosts[0].APIServer.Restarts, (Restarts{Count: 4, Last: ended}); got.Count != want.Count ||
		!got.Last.Equal(want.Last) {
		t.Errorf("restarts are %v, want %v", got, want)
	}
	if got := r.Hosts[1].APIServer.Restarts; got.Count != 0 {
		t.Errorf("the other host has %v", got)
	}
	if want := (Rollout{Desired: 3, Ready: 2}); r.Proxy == nil || *r.Proxy != want {
		t.Errorf("rollout is %v, want %v", r.Proxy, want)
	}
	c.daemonSet.Status.ObservedGeneration = 2
	if r := c.collect(t); !r.Proxy.Observed {
		t.Error("the last change was seen")
	}
}
