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

// MaxServers bounds the API servers that one question connects to. A control plane has
// three to seven.
const MaxServers = 32

// endpointSlice is the slice that kube-apiserver itself writes for the Service
// default/kubernetes. A user who may edit this Service can add others, with addresses of
// their own. Source: pkg/controlplane/reconcilers/endpointsadapter.go.
const endpointSlice = "kubernetes"

// connectTimeout bounds the connections of one question: an endpoint may drop packets.
const connectTimeout = 3 * time.Second

// Certificate returns the certificate that an API server serves with. address is the
// server's host and port; empty stands for the server that the client uses.
type Certificate func(ctx context.Context, address string) (*x509.Certificate, error)

// APIServer returns the names and addresses of all API servers: the endpoints of the
// EndpointSlice default/kubernetes, and what is in the certificates that these endpoints, and
// the server that is asked, serve with. They are spelled as [nodeaddress.Canonical] does,
// each once. If one of the certificates cannot be read, that is an error: an API server
// that has ended leaves the endpoints within 15 seconds.
func APIServer(ctx context.Context, client kubernetes.Interface, serving Certificate) ([]string, error) {
	slice, err := client.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).Get(ctx, endpointSlice, metav1.GetOptions{})
	// API servers with --endpoint-reconciler-type=none write none.
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

// endpointsOf returns the addresses in the slice, and each with its ports.
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

// certificatesOf returns the names and addresses in the servers' certificates, which it
// reads at the same time.
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

// ServedTo connects as the client does, with its credential and its certificate
// authority: a server that this authority does not vouch for is an error. The server that
// the client uses is looked at on the client's own connection.
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
