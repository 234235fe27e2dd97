// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package clusteraddress looks up, live, whose an address is in a cluster: a Service's,
// or the API server's own. Both are small reads, so that nothing has to be watched.
package clusteraddress

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Service says what has the IP as a cluster IP, as in "Service default/kubernetes";
// empty if nothing has. The IP is spelled as [nodeaddress.Canonical] does.
//
// Every cluster IP has an IPAddress of that name, which the API server makes before the
// Service gets it (KEP-1880; from Kubernetes 1.34 on that cannot be switched off). It is
// an error if the API has no such resource.
func Service(ctx context.Context, client kubernetes.Interface, ip string) (string, error) {
	address, err := client.NetworkingV1().IPAddresses().Get(ctx, ip, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		// The server knows no such resource: without %w, so that nobody takes it for an
		// address that is free.
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
