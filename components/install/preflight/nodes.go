// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeFindings counts the control-plane nodes, because each of them needs an installation.
func nodeFindings(ctx context.Context, in Input) ([]Finding, error) {
	const label = "node-role.kubernetes.io/control-plane"
	nodes, err := in.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: label})
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	if len(nodes.Items) > 1 {
		detail := fmt.Sprintf("%d: each API server asks the node authorizer beside it; run `bulkhead install` on every one "+
			"of them, before the next `kubeadm upgrade`", len(nodes.Items))
		if in.Profile == "hardened" && !in.AuditOnly && !in.IgnoreFailures {
			detail += ". While node-restriction is dead on one of them, the writes of the kubelets that are connected to it " +
				"fail, because its failure policy is Fail. With --node-restriction-failure-policy=Ignore, in-tree " +
				"NodeRestriction alone checks them then"
		}
		return []Finding{{Warn, "control-plane nodes", detail}}, nil
	}
	return []Finding{{OK, "control-plane nodes", "one, this host"}}, nil
}

// joinFindings reminds the user of a step that kubeadm does not do for a new control-plane node.
func joinFindings(ctx context.Context, in Input) ([]Finding, error) {
	config, err := in.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, "kubeadm-config", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading ConfigMap kubeadm-config: %w", err)
	}
	if !strings.Contains(config.Data["ClusterConfiguration"], in.AuthorizationConfig) {
		return nil, nil
	}
	return []Finding{{OK, "joining control-plane nodes",
		"kubeadm-config names " + in.AuthorizationConfig +
			": before `kubeadm join --control-plane`, run `bulkhead prepare` on the new host"}}, nil
}

// NamelessNodes looks for users in the group system:nodes without a node name. No authorizer can
// decide which node's objects they may see. The API does not show certificates that were signed
// without it (kubeadm, openssl), and the finding says so. Of the input, it needs the client.
func NamelessNodes(ctx context.Context, in Input) ([]Finding, error) {
	const check = "nodes without a name"
	requests, err := in.Client.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing CertificateSigningRequests: %w", err)
	}
	var findings []Finding
	for i := range requests.Items {
		if detail := nameless(&requests.Items[i]); detail != "" {
			findings = append(findings, Finding{Warn, check, detail})
		}
	}
	if len(findings) > 0 {
		return findings, nil
	}
	return []Finding{{OK, check,
		fmt.Sprintf("none among the %d CertificateSigningRequests that the API still has; certificates that were signed "+
			"outside the API, and requests deleted since (kept about an hour), cannot be seen", len(requests.Items))}}, nil
}

// nameless describes the problem with the identities in a request. It is empty if there is none.
func nameless(r *certificatesv1.CertificateSigningRequest) string {
	if slices.Contains(r.Spec.Groups, nodesGroup) && !named(r.Spec.Username) {
		return fmt.Sprintf("user %q, who made request %s, is in %s without a node name: node-authorizer and in-tree Node "+
			"do not accept it; give its kubelet a certificate for system:node:<name>", r.Spec.Username, r.Name, nodesGroup)
	}
	block, _ := pem.Decode(r.Spec.Request)
	if block == nil {
		return ""
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return ""
	}
	if r.Spec.SignerName == certificatesv1.KubeAPIServerClientSignerName ||
		r.Spec.SignerName == certificatesv1.KubeAPIServerClientKubeletSignerName {
		if slices.Contains(request.Subject.Organization, nodesGroup) && !named(request.Subject.CommonName) {
			return fmt.Sprintf("request %s is for user %q in %s, who has no node name; deny it", r.Name,
				request.Subject.CommonName, nodesGroup)
		}
	}
	return ""
}

func named(user string) bool {
	name, isNode := strings.CutPrefix(user, nodePrefix)
	return isNode && name != ""
}
