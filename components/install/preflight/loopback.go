// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/install/node"
)

const (
	loopbackCheck     = "clients of 127.0.0.1:10250"
	ipv6LoopbackCheck = "clients of the IPv6 loopback"
	// mostConfigMaps limits the requests of this check.
	mostConfigMaps = 200
	// rootCA is the ConfigMap that every pod mounts. It has only a certificate.
	rootCA = "kube-root-ca.crt"
)

// LoopbackClient is a workload that connects to the kubelet on the loopback address.
type LoopbackClient struct {
	// Place is where the workload has that address.
	Place string
	// Node is the node of a static pod. It is empty for all other workloads: a node cannot create these.
	Node string
}

// LoopbackClients returns the workloads that connect to the kubelet on the loopback address. Such a
// workload is on the host network: the loopback address of another pod is its own. It does not see an
// address that a program composes. It lists pods, and reads at most 200 ConfigMaps of theirs. skipped is
// the number of the ConfigMaps beyond.
func LoopbackClients(ctx context.Context, client kubernetes.Interface) (found map[string]LoopbackClient,
	skipped int, err error) {
	in := Input{Client: client}
	found, configs := map[string]LoopbackClient{}, configMaps{in: in, texts: map[string][]string{}}
	err = eachPod(ctx, in, "spec.hostNetwork=true", func(pod *corev1.Pod) error {
		name := workloadOf(pod)
		if !pod.Spec.HostNetwork || found[name].Place != "" || isProxy(pod) {
			return nil
		}
		place, err := configs.loopbackIn(ctx, pod)
		if place != "" {
			found[name] = LoopbackClient{Place: place, Node: nodeOfMirrorPod(pod)}
		}
		return err
	})
	return found, configs.skipped, err
}

// loopbackFindings judges these workloads: kubelet-auth-proxy lets the kubelet accept only the proxy's
// own certificate there. The findings are for the setting of the cluster: the check does not know a
// node with its own --loopback-clients.
func loopbackFindings(ctx context.Context, in Input) ([]Finding, error) {
	if !in.GuardsKubelets {
		return nil, nil
	}
	found, skipped, err := LoopbackClients(ctx, in.Client)
	if err != nil {
		return nil, err
	}
	var findings []Finding
	if clients := takeIPv6Clients(found); clients.count > 0 {
		findings = append(findings, Finding{Fail, ipv6LoopbackCheck, clients.String() + ": " + MoveFromIPv6Loopback})
	}
	names := slices.Sorted(maps.Keys(found))
	if in.LoopbackClients == node.LoopbackAllow {
		return append(findings, allowedLoopback(names)), nil
	}
	return append(findings, printedLoopback(names, found, skipped)...), nil
}

// takeIPv6Clients removes the clients of [::1], and returns them.
func takeIPv6Clients(found map[string]LoopbackClient) (clients examples) {
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if UsesIPv6Loopback(found[name].Place) {
			clients.add(name)
			delete(found, name)
		}
	}
	return clients
}

// MoveFromIPv6Loopback is what to do about a client of [::1]. No setting keeps it working.
const MoveFromIPv6Loopback = "with `bulkhead node install`, also in mode audit, the kubelet no longer listens on " +
	ipv6Loopback + ": use the node's address, $(NODE_IP) from status.hostIP"

// UsesIPv6Loopback reports whether a place that [LoopbackClients] has found is an address of [::1].
func UsesIPv6Loopback(place string) bool { return strings.HasSuffix(place, ipv6Loopback) }

// allowedLoopback is the finding for clients that the user has allowed.
func allowedLoopback(names []string) Finding {
	detail := "allowed by kubeletAPI.loopbackClients, without Bulkhead's rules"
	var clients examples
	for _, name := range names {
		clients.add(name)
	}
	if clients.count > 0 {
		detail += ": " + clients.String()
	}
	return Finding{OK, loopbackCheck, detail}
}

func printedLoopback(names []string, found map[string]LoopbackClient, skipped int) []Finding {
	var findings []Finding
	for _, name := range names[:min(len(names), mostNamed)] {
		findings = append(findings, Finding{Fail, loopbackCheck,
			fmt.Sprintf("%s: %s. The kubelet answers it with 401 [KA-LOOPBACK-1]. Use the node's address instead: $(NODE_IP) "+
				"from status.hostIP. Or allow such clients on all nodes: `kubeletAPI: {loopbackClients: allow}`",
				name, found[name].Place)})
	}
	if more := len(names) - mostNamed; more > 0 {
		findings = append(findings, Finding{Fail, loopbackCheck,
			fmt.Sprintf("%d more workloads use it; change those above, then run this again", more)})
	}
	if skipped > 0 {
		findings = append(findings, Finding{Warn, loopbackCheck,
			fmt.Sprintf("%d ConfigMaps were not read: the check reads at most %d. Look for 127.0.0.1:10250 in those of the "+
				"pods on the host network", skipped, mostConfigMaps)})
	}
	if len(findings) == 0 {
		return []Finding{{OK, loopbackCheck, "none among the pods on the host network"}}
	}
	return findings
}

// isProxy excludes kubelet-auth-proxy, which is in front of the kubelet.
func isProxy(pod *corev1.Pod) bool {
	return pod.Namespace == metav1.NamespaceSystem && pod.Labels["app.kubernetes.io/name"] == "kubelet-auth-proxy"
}

// workloadOf names the owner of a pod, so that a DaemonSet is one line. For a ReplicaSet with the
// hash of a pod template, it names the Deployment. A mirror pod's owner is its Node, so the pod
// itself is named.
func workloadOf(pod *corev1.Pod) string {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || nodeOfMirrorPod(pod) != "" {
		return fmt.Sprintf("Pod %s/%s", pod.Namespace, pod.Name)
	}
	kind, name := owner.Kind, owner.Name
	if hash := pod.Labels["pod-template-hash"]; kind == "ReplicaSet" && hash != "" {
		if deployment, ok := strings.CutSuffix(name, "-"+hash); ok {
			kind, name = "Deployment", deployment
		}
	}
	return fmt.Sprintf("%s %s/%s", kind, pod.Namespace, name)
}

// nodeOfMirrorPod returns the node that has created a pod. It is empty for other pods.
func nodeOfMirrorPod(pod *corev1.Pod) string {
	owner := metav1.GetControllerOf(pod)
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror || owner != nil && owner.Kind == "Node" {
		return cmp.Or(pod.Spec.NodeName, "?")
	}
	return ""
}
