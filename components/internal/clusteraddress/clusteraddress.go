// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package clusteraddress looks up, live, whose an address is in a cluster: a Service's,
// or the API server's own. Both are small reads, so that nothing has to be watched.
package clusteraddress

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeaddress"
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

// Certificate returns what an API server shows its clients.
type Certificate func(context.Context) (*x509.Certificate, error)

// APIServer returns the names and addresses that the API server is reached at: the
// endpoints of the Service default/kubernetes, of all API servers that there are, and
// what is in the certificate of the one that is asked, for whom it is that clients
// trust it. They are spelled as [nodeaddress.Canonical] does, each once.
func APIServer(ctx context.Context, client kubernetes.Interface, serving Certificate) ([]string, error) {
	slicesOf := labels.Set{discoveryv1.LabelServiceName: "kubernetes"}.String()
	list, err := client.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{LabelSelector: slicesOf})
	if err != nil {
		return nil, fmt.Errorf("looking for the API server's endpoints: %w", err)
	}
	var reached []string
	for _, slice := range list.Items {
		for _, endpoint := range slice.Endpoints {
			reached = append(reached, endpoint.Addresses...)
		}
	}
	certificate, err := serving(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking at the API server's certificate: %w", err)
	}
	reached = append(reached, certificate.DNSNames...)
	for _, ip := range certificate.IPAddresses {
		reached = append(reached, ip.String())
	}
	for i := range reached {
		reached[i] = nodeaddress.Canonical(reached[i])
	}
	slices.Sort(reached)
	return slices.Compact(reached), nil
}

// ServedTo looks at the connection that the client uses. The client has verified the
// certificate.
func ServedTo(client kubernetes.Interface) Certificate {
	return func(ctx context.Context) (*x509.Certificate, error) {
		api, ok := client.Discovery().RESTClient().(*rest.RESTClient)
		if !ok || api == nil || api.Client == nil {
			return nil, errors.New("this client has no connection")
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, api.Get().AbsPath("/version").URL().String(), nil)
		if err != nil {
			return nil, err
		}
		response, err := api.Client.Do(request)
		if err != nil {
			return nil, err
		}
		defer func() { _ = response.Body.Close() }()
		// Read, so that the connection can be used again.
		if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)); err != nil {
			return nil, err
		}
		if response.TLS == nil || len(response.TLS.PeerCertificates) == 0 {
			return nil, errors.New("it shows none")
		}
		return response.TLS.PeerCertificates[0], nil
	}
}
