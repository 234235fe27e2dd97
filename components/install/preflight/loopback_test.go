// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/bulkhead-k8s/bulkhead/components/install/node"
)

// agent returns a pod of a DaemonSet on the host network, with edits.
func agent(daemonSet, name string, edits ...func(*corev1.Pod)) *corev1.Pod {
	controller := true
	pod := runningPod(name, "192.0.2.1", onHostNetwork)
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: daemonSet, Controller: &controller}}
	pod.Spec.Containers = []corev1.Container{{Name: "c"}}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func args(args ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Args = args }
}

func env(value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "URL", Value: value}} }
}

func envFrom(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: name}}}}
	}
}

func envKey(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "URL", ValueFrom: &corev1.EnvVarSource{
			ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}}}
	}
}

func mounts(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: name}}}}}
	}
}

func projects(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: name}}}}}}}}
	}
}

func TestLoopbackClients(t *testing.T) {
	const url = "https://127.0.0.1:10250"
	proxy := func(p *corev1.Pod) {
		p.Namespace, p.Labels = "kube-system", map[string]string{"app.kubernetes.io/name": "kubelet-auth-proxy"}
	}
	for _, tt := range []struct {
		name   string
		pod    *corev1.Pod
		config string
		// mentions is empty if the pod does not use the address.
		mentions string
	}{
		{"argument", agent("agent", "a", args("--kubelet="+url)), "",
			"DaemonSet default/agent: the command of container c has"},
		{"argument, node address", agent("agent", "a", args("--kubelet=https://$(NODE_IP):10250")), "", ""},
		{"argument, other port", agent("agent", "a", args("--listen=127.0.0.1:102500")), "", ""},
		{"argument, localhost", agent("agent", "a", args("localhost:10250")), "", "has localhost:10250"},
		{"argument, no host network", agent("agent", "a", args(url),
			func(p *corev1.Pod) { p.Spec.HostNetwork = false }), "", ""},
		{"argument of the proxy", agent("agent", "a", args(url), proxy), "", ""},
		{"env", agent("agent", "a", env(url)), "", "env URL of container c"},
		{"env, node address", agent("agent", "a", env("https://192.0.2.1:10250")), "", ""},
		{"env from a ConfigMap", agent("agent", "a", envFrom("config")), url, "ConfigMap config has 127.0.0.1:10250"},
		{"env from a ConfigMap's key", agent("agent", "a", envKey("config")), url, "ConfigMap config has"},
		{"mounted ConfigMap", agent("agent", "a", mounts("config")), url, "`kubeletAPI: {loopbackClients: allow}`"},
		{"mounted ConfigMap, other content", agent("agent", "a", mounts("config")), "https://192.0.2.1:10250", ""},
		{"mounted ConfigMap that does not exist", agent("agent", "a", mounts("other")), url, ""},
		{"projected ConfigMap", agent("agent", "a", projects("config")), url, "ConfigMap config has"},
		{"Fluent Bit", agent("fluent-bit", "a", mounts("config")), "[FILTER]\n    Name kubernetes\n    Use_Kubelet  On\n",
			"ConfigMap config has Use_Kubelet"},
		{"Fluent Bit, YAML", agent("fluent-bit", "a", mounts("config")), "filters:\n- use_kubelet: true\n",
			"has Use_Kubelet"},
		{"Fluent Bit, off", agent("fluent-bit", "a", mounts("config")), "    Use_Kubelet  Off\n", ""},
		{"Fluent Bit, node address", agent("fluent-bit", "a", mounts("config")),
			"    Use_Kubelet On\n    Kubelet_Host ${NODE_IP}\n", ""},
		{"Fluent Bit, loopback address", agent("fluent-bit", "a", mounts("config")),
			"    Use_Kubelet On\n    Kubelet_Host 127.0.0.1\n", "has Use_Kubelet"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "config"},
				Data: map[string]string{"file": tt.config}}
			findings, err := loopbackFindings(t.Context(),
				Input{Client: fake.NewClientset(tt.pod, config), GuardsKubelets: true})
			level := Fail
			if tt.mentions == "" {
				level = OK
			}
			wantOne(t, findings, err, level, tt.mentions)
		})
	}
}

// TestClientOfTheIPv6Loopback: no setting keeps such a client working, so none is printed.
func TestClientOfTheIPv6Loopback(t *testing.T) {
	for _, set := range []node.LoopbackClients{"", node.LoopbackAllow, node.LoopbackDeny} {
		findings, err := loopbackFindings(t.Context(), Input{GuardsKubelets: true, LoopbackClients: set,
			Client: fake.NewClientset(agent("agent", "a", args("https://[::1]:10250/pods")))})
		if err != nil || len(findings) != 2 {
			t.Fatalf("%s: got %v, %v", set, findings, err)
		}
		wantOne(t, findings[:1], nil, Fail, "DaemonSet default/agent: with `bulkhead node install`, also in mode audit")
		if findings[1].Level != OK || strings.Contains(findings[0].Detail, "loopbackClients") {
			t.Errorf("%s: got %v", set, findings)
		}
	}
}

// The kubelet denies clients of [::1] in every mode, so mode audit does not make the FAIL a WARN.
func TestLevelOfTheIPv6Loopback(t *testing.T) {
	for _, tt := range []struct {
		accepted []string
		level    Level
	}{{nil, Fail}, {[]string{"clients-of-127.0.0.1:10250"}, Fail}, {[]string{"clients-of-the-IPv6-loopback"}, Warn}} {
		for _, audit := range []bool{true, false} {
			findings, err := compatibilityFindings(t.Context(), Input{GuardsKubelets: true, AuditOnly: audit,
				Client:   fake.NewClientset(agent("agent", "a", args("[::1]:10250"))),
				Accepted: tt.accepted, Server: kubeadmFlags()})
			findings = slices.DeleteFunc(findings, func(f Finding) bool { return f.Check != ipv6LoopbackCheck })
			wantOne(t, findings, err, tt.level, "DaemonSet default/agent: with `bulkhead node install`")
		}
	}
}

// TestClientOfBothLoopbacks: a program with both addresses has the finding with a setting.
func TestClientOfBothLoopbacks(t *testing.T) {
	for _, pod := range []*corev1.Pod{
		agent("agent", "a", args("--urls=[::1]:10250,127.0.0.1:10250")),
		agent("agent", "a", args("[::1]:10250"), env("https://127.0.0.1:10250")),
	} {
		findings, err := loopbackFindings(t.Context(), Input{GuardsKubelets: true, Client: fake.NewClientset(pod)})
		wantOne(t, findings, err, Fail, "`kubeletAPI: {loopbackClients: allow}`")
	}
	for _, text := range []string{"Use_Kubelet On\nKubelet_Host ::1\n", "use_kubelet: true\nkubelet_host: '[::1]'\n"} {
		if loopbackIn(text) != "" || ipv6LoopbackIn(text) != ipv6Loopback {
			t.Errorf("%q is %q and %q", text, loopbackIn(text), ipv6LoopbackIn(text))
		}
	}
}

// TestNodeOfALoopbackClient: a node can create mirror pods, and no others. So only a static pod has a node.
func TestNodeOfALoopbackClient(t *testing.T) {
	onNode := func(p *corev1.Pod) { p.Namespace, p.Spec.NodeName = "kube-system", "worker-7" }
	mirror := func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "hash"} }
	ofNode := func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "Node" }
	const daemonSet, pod = "DaemonSet kube-system/agent", "Pod kube-system/a"
	for _, tt := range []struct {
		name, workload, node string
		edits                []func(*corev1.Pod)
	}{
		{"pod of a DaemonSet", daemonSet, "", nil},
		{"static pod", pod, "worker-7", []func(*corev1.Pod){mirror, ofNode}},
		{"static pod that names a DaemonSet", pod, "worker-7", []func(*corev1.Pod){mirror}},
		{"pod that is owned by its Node", pod, "worker-7", []func(*corev1.Pod){ofNode}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			edits := append([]func(*corev1.Pod){onNode, args("127.0.0.1:10250")}, tt.edits...)
			found, _, err := LoopbackClients(t.Context(), fake.NewClientset(agent("agent", "a", edits...)))
			if client, ok := found[tt.workload]; err != nil || !ok || client.Node != tt.node {
				t.Errorf("got %v, %v", found, err)
			}
		})
	}
}

func TestLoopbackClientsWithoutProxy(t *testing.T) {
	client := fake.NewClientset(agent("agent", "a", args("127.0.0.1:10250")))
	if findings, err := loopbackFindings(t.Context(), Input{Client: client}); len(findings) > 0 || err != nil {
		t.Errorf("got %v, %v", findings, err)
	}
}

// The setting of the cluster decides what a client of 127.0.0.1 means for the installation.
func TestLevelOfLoopbackClients(t *testing.T) {
	for _, tt := range []struct {
		name     string
		set      node.LoopbackClients
		audit    bool
		accepted []string
		level    Level
		mentions string
	}{
		{"unset, mode enforce", "", false, nil, Fail, "DaemonSet default/agent: "},
		{"unset, mode audit", "", true, nil, Warn, "before mode enforce: DaemonSet default/agent: "},
		{"deny, mode enforce", node.LoopbackDeny, false, nil, Fail, "DaemonSet default/agent: "},
		{"deny, mode audit: denied also then", node.LoopbackDeny, true, nil, Fail, "DaemonSet default/agent: "},
		{"deny, mode audit, accepted", node.LoopbackDeny, true, []string{"clients-of-127.0.0.1:10250"}, Warn,
			"DaemonSet default/agent: "},
		{"unset, accepted", "", false, []string{"clients-of-127.0.0.1:10250"}, Warn, "DaemonSet default/agent: "},
		{"allow, mode enforce", node.LoopbackAllow, false, nil, OK, "without Bulkhead's rules: DaemonSet default/agent"},
		{"allow, mode audit", node.LoopbackAllow, true, nil, OK, "without Bulkhead's rules: DaemonSet default/agent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			findings, err := compatibilityFindings(t.Context(), Input{
				Client:         fake.NewClientset(agent("agent", "a", args("127.0.0.1:10250"))),
				GuardsKubelets: true, LoopbackClients: tt.set, AuditOnly: tt.audit, Accepted: tt.accepted, Server: kubeadmFlags(),
			})
			findings = slices.DeleteFunc(findings, func(f Finding) bool { return f.Check != loopbackCheck })
			wantOne(t, findings, err, tt.level, tt.mentions)
			if tt.audit && tt.set == node.LoopbackDeny && strings.HasPrefix(findings[0].Detail, "before mode enforce") {
				t.Errorf("the client is denied in mode audit, too: %s", findings[0].Detail)
			}
		})
	}
	if !slices.Contains(Acceptable(), "clients-of-127.0.0.1:10250") {
		t.Error("--ignore-preflight-errors does not accept the check")
	}
}

func TestManyLoopbackClients(t *testing.T) {
	var objects []runtime.Object
	for i := range 20 {
		for _, name := range []string{"x", "y"} {
			objects = append(objects, agent(fmt.Sprintf("agent-%02d", i), fmt.Sprint(name, i), args("127.0.0.1:10250")))
		}
	}
	findings, err := loopbackFindings(t.Context(), Input{Client: fake.NewClientset(objects...), GuardsKubelets: true})
	if err != nil || len(findings) != mostNamed+1 ||
		!strings.HasPrefix(findings[0].Detail, "DaemonSet default/agent-00:") ||
		!strings.HasPrefix(findings[mostNamed].Detail, "10 more workloads") {
		t.Errorf("got %v, %v", findings, err)
	}
	findings, err = loopbackFindings(t.Context(), Input{Client: fake.NewClientset(objects...), GuardsKubelets: true,
		LoopbackClients: node.LoopbackAllow})
	wantOne(t, findings, err, OK, "DaemonSet default/agent-02 and 17 more")
}

func TestReadConfigMapsAreLimited(t *testing.T) {
	var objects []runtime.Object
	for i := range mostConfigMaps + 5 {
		objects = append(objects, agent(fmt.Sprint("agent-", i), fmt.Sprint("pod-", i), mounts(fmt.Sprint("config-", i))))
	}
	client := fake.NewClientset(objects...)
	findings, err := loopbackFindings(t.Context(), Input{Client: client, GuardsKubelets: true})
	wantOne(t, findings, err, Warn, "5 ConfigMaps were not read")
	reads := 0
	for _, action := range client.Actions() {
		if action.Matches("get", "configmaps") {
			reads++
		}
	}
	if reads != mostConfigMaps {
		t.Errorf("%d reads of ConfigMaps", reads)
	}
}

func TestWorkloadOf(t *testing.T) {
	ownedBy := func(kind, name string, labels map[string]string) *corev1.Pod {
		pod := agent(name, "pod-1")
		pod.OwnerReferences[0].Kind, pod.Labels = kind, labels
		return pod
	}
	hash := map[string]string{"pod-template-hash": "5d8"}
	for want, pod := range map[string]*corev1.Pod{
		"DaemonSet default/agent":      ownedBy("DaemonSet", "agent", nil),
		"Deployment default/agent":     ownedBy("ReplicaSet", "agent-5d8", hash),
		"ReplicaSet default/agent-5d8": ownedBy("ReplicaSet", "agent-5d8", nil),
		"Pod default/pod-1":            ownedBy("Node", "n1", nil),
		"Pod default/single":           runningPod("single", "192.0.2.1"),
	} {
		if got := workloadOf(pod); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
