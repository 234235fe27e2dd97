// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusteraddress

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeaddress"
)

// MaxServers bounds the API servers that one lookup connects to. A control plane has three to
// seven.
const MaxServers = 32

// endpointSlice is the name of the slice that kube-apiserver itself writes for the Service
// default/kubernetes. A user who may edit this Service can add other slices, with any addresses.
// Source: pkg/controlplane/reconcilers/endpointsadapter.go.
const endpointSlice = "kubernetes"

// connectTimeout bounds the connections of one lookup, because an endpoint may drop packets.
const connectTimeout = 3 * time.Second

// Certificate returns the serving certificate of an API server. address is the host and port of the
// server. An empty address means the server that the client uses.
type Certificate func(ctx context.Context, address string) (*x509.Certificate, error)

// APIServer returns the names and addresses of all API servers: the endpoints in the EndpointSlice
// default/kubernetes, and the names in the serving certificates of these endpoints and of the
// server that the client uses. Each is spelled as by [nodeaddress.Canonical], and occurs once.
// APIServer returns an error if it cannot read one of the certificates. An API server that has
// ended leaves the endpoints within 15 seconds.
func APIServer(ctx context.Context, client kubernetes.Interface, serving Certificate) ([]string, error) {
	slice, err := client.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).Get(ctx, endpointSlice, metav1.GetOptions{})
	// API servers with --endpoint-reconciler-type=none do not write the slice.
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("looking for the API server's endpoints: %w", err)
	}
	addresses, servers := endpointsOf(slice)
	if len(servers) > MaxServers {
		return nil, fmt.Errorf("cannot read the API servers' certificates: default/kubernetes has more than %d endpoints",
			MaxServers)
	}
	served, err := certificatesOf(ctx, append(servers, ""), serving)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(addresses, served)
	for i := range all {
		all[i] = nodeaddress.Canonical(all[i])
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// endpointsOf returns the addresses in the slice, and the servers: each address with each port.
func endpointsOf(slice *discoveryv1.EndpointSlice) (addresses, servers []string) {
	for _, endpoint := range slice.Endpoints {
		addresses = append(addresses, endpoint.Addresses...)
		for _, port := range slice.Ports {
			for _, address := range endpoint.Addresses {
				if port.Port != nil {
					servers = append(servers, net.JoinHostPort(address, strconv.Itoa(int(*port.Port))))
				}
			}
		}
	}
	slices.Sort(servers)
	return addresses, slices.Compact(servers)
}

// certificatesOf returns the names and addresses in the servers' certificates. It reads them
// concurrently.
func certificatesOf(ctx context.Context, servers []string, serving Certificate) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	names := make([][]string, len(servers))
	group, ctx := errgroup.WithContext(ctx)
	for i, server := range servers {
		group.Go(func() error {
			certificate, err := serving(ctx, server)
			if err != nil {
				return fmt.Errorf("looking at the API server's certificate: %w", err)
			}
			names[i] = slices.Clone(certificate.DNSNames)
			for _, ip := range certificate.IPAddresses {
				names[i] = append(names[i], ip.String())
			}
			return nil
		})
	}
	err := group.Wait()
	return slices.Concat(names...), err
}

// ServedTo returns a Certificate that connects as the client does, with its credential and its
// certificate authority. A server certificate that this authority did not sign is an error. For the
// server that the client uses, ServedTo uses the client's own connection.
func ServedTo(client kubernetes.Interface) Certificate {
	return func(ctx context.Context, address string) (*x509.Certificate, error) {
		api, ok := client.Discovery().RESTClient().(*rest.RESTClient)
		if !ok || api == nil || api.Client == nil {
			return nil, errors.New("this client has no connection")
		}
		target := api.Get().AbsPath("/version").URL()
		if address != "" {
			target.Host = address
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
		if err != nil {
			return nil, err
		}
		response, err := api.Client.Do(request)
		if err != nil {
			return nil, err
		}
		defer func() { _ = response.Body.Close() }()
		// Read the body, so that the connection can be reused.
		if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)); err != nil {
			return nil, err
		}
		if response.TLS == nil || len(response.TLS.PeerCertificates) == 0 {
			return nil, errors.New("it shows none")
		}
		return response.TLS.PeerCertificates[0], nil
	}
}
