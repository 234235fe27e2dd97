// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletapprover"
)

// slowRequest is the age of a request that should have its certificate. The approver and the signer
// need some seconds.
const slowRequest = 5 * time.Minute

const proxyPods = "app.kubernetes.io/component=kubelet-auth-proxy"

// checkRollout names the nodes whose proxy is not ready. It deletes no pod: whether the proxy has its
// certificate can be seen only on the node.
func checkRollout(ctx context.Context, in *inputs) ([]Finding, error) {
	r, err := in.report()
	if err != nil || r.Proxy == nil {
		return nil, err
	}
	var found []Finding
	if d := r.Proxy; !d.Observed || d.Updated < d.Desired {
		found = append(found, Finding{Severity: Soon,
			Problem: fmt.Sprintf("the rollout of kubelet-auth-proxy is not finished: %d of %d pods are updated", d.Updated,
				d.Desired),
			Repair: "kubectl -n kube-system rollout status daemonset/bulkhead-kubelet-auth-proxy"})
	}
	if r.Proxy.Ready >= r.Proxy.Desired {
		return found, nil
	}
	pods, err := in.Client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: proxyPods})
	if err != nil {
		return found, fmt.Errorf("cannot list the pods of kubelet-auth-proxy: %w", err)
	}
	notReady := Finding{Severity: Urgent, Problem: "kubelet-auth-proxy is not ready",
		Repair: "on the node, run `bulkhead node status`; kubectl -n kube-system get pods -o wide -l " + proxyPods}
	for i := range pods.Items {
		if pod := &pods.Items[i]; !podReady(pod) && pod.Spec.NodeName != "" {
			notReady.Names = append(notReady.Names, pod.Spec.NodeName)
		}
	}
	if len(notReady.Names) == 0 {
		notReady.Problem = fmt.Sprintf("%d of %d pods of kubelet-auth-proxy are ready", r.Proxy.Ready, r.Proxy.Desired)
	}
	return append(found, notReady), nil
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// checkRequests looks at requests that no program has decided, and at approved ones without a
// certificate.
func checkRequests(ctx context.Context, in *inputs) ([]Finding, error) {
	requests, err := in.Client.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{
		FieldSelector: "spec.signerName=" + certificatesv1.KubeletServingSignerName})
	if err != nil {
		return nil, fmt.Errorf("cannot list CertificateSigningRequests: %w", err)
	}
	waits := Finding{Severity: Soon, Problem: "a request for a kubelet's serving certificate waits for approval",
		Repair: "kubectl -n kube-system logs -l app.kubernetes.io/component=kubelet-approver says why it is not approved; " +
			"`kubectl get csr` lists the requests"}
	unsigned := Finding{Severity: Soon,
		Problem: "a request for a kubelet's serving certificate is approved, but not signed",
		Repair:  "look at kube-controller-manager: it signs with --cluster-signing-cert-file"}
	for i := range requests.Items {
		r := &requests.Items[i]
		if r.Spec.SignerName != certificatesv1.KubeletServingSignerName ||
			in.Now().Sub(r.CreationTimestamp.Time) < slowRequest {
			continue
		}
		if node, waiting := kubeletapprover.Asking(r); waiting {
			waits.Names = append(waits.Names, node)
		}
		if has(r, certificatesv1.CertificateApproved) && !has(r, certificatesv1.CertificateFailed) &&
			len(r.Status.Certificate) == 0 {
			unsigned.Names = append(unsigned.Names, r.Name)
		}
	}
	return slices.DeleteFunc([]Finding{waits, unsigned}, func(f Finding) bool { return len(f.Names) == 0 }), nil
}

func has(r *certificatesv1.CertificateSigningRequest, condition certificatesv1.RequestConditionType) bool {
	return slices.ContainsFunc(r.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
		return c.Type == condition
	})
}
