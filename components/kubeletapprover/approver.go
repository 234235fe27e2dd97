// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeletapprover decides which serving certificates kubelets may get.
//
// kubernetes.io/kubelet-serving is the only signer of kubelet certificates for which Kubernetes has
// no automatic approval. An administrator must check that the names and addresses in a request
// belong to the node.
package kubeletapprover

import (
	"context"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/internal/kubeletcertificate"
	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var approved, _ = rules.Find(kubeletauth.Rules, kubeletauth.RuleCSR)

// Asking returns the requesting node if the approver handles the request. That is a request by a
// node to kubernetes.io/kubelet-serving that is neither approved nor denied. Otherwise waiting is
// false.
func Asking(request *certificatesv1.CertificateSigningRequest) (node string, waiting bool) {
	if request.Spec.SignerName != certificatesv1.KubeletServingSignerName || decided(request) {
		return "", false
	}
	node, waiting = nodeidentity.NodeName(&user.DefaultInfo{Name: request.Spec.Username, Groups: request.Spec.Groups})
	return node, waiting && node != ""
}

func decided(request *certificatesv1.CertificateSigningRequest) bool {
	for _, c := range request.Status.Conditions {
		if c.Type == certificatesv1.CertificateApproved || c.Type == certificatesv1.CertificateDenied {
			return true
		}
	}
	return false
}

// Problem returns why the node may not get the certificate, with the rule ID. It is empty if the
// node may get it. node is the current Node of that name, or nil if there is none. Problem checks
// everything that the signer requires (pkg/apis/certificates/helpers.go ValidateKubeletServingCSR).
// It also checks that the names and addresses belong to the Node, and not to another Node, a
// Service or an API server ([kubeletcertificate.ConflictProblem]). It returns an error if it cannot
// check that.
func Problem(ctx context.Context, request *certificatesv1.CertificateSigningRequest, name string, node *corev1.Node,
	others kubeletcertificate.Others) (string, error) {
	problem, err := problem(ctx, request, name, node, others)
	if problem == "" || err != nil {
		return "", err
	}
	return approved.Reason(problem), nil
}

func problem(ctx context.Context, request *certificatesv1.CertificateSigningRequest, name string, node *corev1.Node,
	others kubeletcertificate.Others) (string, error) {
	if node == nil {
		return fmt.Sprintf("node %q is not registered", name), nil
	}
	parsed, err := kubeletcertificate.ParseRequest(request.Spec.Request)
	if err != nil {
		return fmt.Sprintf("unable to parse csr: %v", err), nil
	}
	if problem := kubeletcertificate.SubjectProblem(parsed, name); problem != "" {
		return problem, nil
	}
	if !kubeletcertificate.UsedFor(certificatesv1.UsageServerAuth, request.Spec.Usages) {
		return "usages must be digital signature, server auth and, for an RSA key, key encipherment", nil
	}
	if problem := kubeletcertificate.NamesProblem(parsed); problem != "" {
		return problem, nil
	}
	if problem := kubeletcertificate.OthersProblem(parsed, name, node.Status.Addresses); problem != "" {
		return problem, nil
	}
	return kubeletcertificate.ConflictProblem(ctx, parsed, node, others)
}
