// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package clusteraddress finds out, with live requests, what in a cluster has an address: a Service
// or the API server. Both are small reads, so no informer is needed.
package clusteraddress

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Service returns what has ip as a cluster IP, for example "Service default/kubernetes". It returns
// "" if no Service has it. The caller spells ip as [nodeaddress.Canonical] does.
//
// Every cluster IP has an IPAddress object of that name. The API server creates it before the
// Service gets the IP (KEP-1880; from Kubernetes 1.34 on this cannot be disabled). Service returns
// an error if the API has no such resource.
func Service(ctx context.Context, client kubernetes.Interface, ip string) (string, error) {
	address, err := client.NetworkingV1().IPAddresses().Get(ctx, ip, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		// The server does not have this resource. Without %w, a caller cannot mistake this 404 for
		// a free address.
		return "", fmt.Errorf("looking for cluster IPs: %s", err.Error())
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", err
	}
	return owner(address.Spec.ParentRef), nil
}

func owner(parent *networkingv1.ParentReference) string {
	switch {
	case parent == nil:
		return "nothing that is named"
	case parent.Group == "" && parent.Resource == "services":
		return "Service " + parent.Namespace + "/" + parent.Name
	default:
		return parent.Resource + " " + parent.Namespace + "/" + parent.Name
	}
}
