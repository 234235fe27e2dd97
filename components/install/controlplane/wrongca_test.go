// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/install/preflight"
)

// otherCA creates a CA that is not the CA of the cluster.
func otherCA(t *testing.T) pki.Pair {
	t.Helper()
	ca := host.PairIn(t.TempDir(), "ca")
	_, err := pki.EnsureCA(ca, "kubernetes", time.Now())
	must(t, err)
	return ca
}

// untrusted returns the error of a request with a kubeconfig whose certificate-authority-data is not
// the CA of the server.
func untrusted(t *testing.T) error {
	t.Helper()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["it"] = &clientcmdapi.Cluster{Server: server.URL,
		CertificateAuthorityData: read(t, otherCA(t).CertFile)}
	config.Contexts["it"] = &clientcmdapi.Context{Cluster: "it"}
	config.CurrentContext = "it"
	file := filepath.Join(t.TempDir(), "admin.conf")
	must(t, clientcmd.WriteToFile(*config, file))
	client, err := cluster.New(file, server.URL)
	must(t, err)
	leases := client.Kubernetes.CoordinationV1().Leases(metav1.NamespaceSystem)
	if _, err = leases.Get(t.Context(), hosts.LeaseName, metav1.GetOptions{}); err == nil {
		t.Fatal("the client trusts the server")
	}
	return err
}

func TestKubeconfigWithAnotherCAChangesNothing(t *testing.T) {
	err := untrusted(t)
	for name, run := range map[string]func(context.Context, *Installer) error{
		"install": func(ctx context.Context, in *Installer) error { return in.Install(ctx, options(Parity)) },
		"uninstall": func(ctx context.Context, in *Installer) error {
			return in.Uninstall(ctx, options(Hardened).Timeout)
		},
	} {
		onHost(t, name+" with another CA in admin.conf: fails soon, and nothing has changed",
			func(t *testing.T, h *testHost) {
				must(t, h.installer().Install(t.Context(), options(Hardened)))
				before, begin := h.snapshot(), time.Now()
				h.unreachable = err
				h.leases.Before(func(string) error { return err })
				got := run(t.Context(), h.installer())
				for _, text := range []string{"the kubeconfig has another CA", "unknown authority", "nothing has been changed",
					"--kubeconfig"} {
					mentions(t, got, text)
				}
				if took := time.Since(begin); took > 2*lockGrace {
					t.Errorf("it takes %s", took)
				}
				h.unreachable = nil
				h.leases.Before(nil)
				h.mustBe(before)
			})
	}
}

func TestCAKeyOfAnotherCAChangesNothing(t *testing.T) {
	onHost(t, "install with the ca.key of another CA: preflight fails, and nothing has changed",
		func(t *testing.T, h *testHost) {
			must(t, os.Rename(otherCA(t).KeyFile, h.layout.KubeCA().KeyFile))
			before := h.snapshot()
			in := h.installer()
			in.Preflight = func(context.Context, Options) error {
				return errors.New(preflight.LocalHost{Layout: h.layout}.SignerProblem())
			}
			err := in.Install(t.Context(), options(Hardened))
			mentions(t, err, "private key does not match public key")
			if strings.Contains(err.Error(), "rolled back") {
				t.Errorf("steps have begun: %v", err)
			}
			h.mustBe(before)
		})
}
