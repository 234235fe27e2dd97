// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/fake"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/loopback"
)

// The subjects that this program can run as.
const (
	upstreamAuthorizer = "upstream-authorizer"
	upstreamAdmission  = "upstream-admission"
	bareProxy          = "bare-proxy"
)

// serveSubject runs a subject as the whole process. The webhooks accept the same flags as
// Bulkhead's.
func serveSubject(ctx context.Context, subject string, args []string) error {
	if subject == bareProxy {
		return serveBareProxy(args)
	}
	var files loopback.Files
	flags := flag.NewFlagSet(subject, flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "")
	secure, health := flags.Int("secure-port", 0, ""), flags.Int("health-port", 0, "")
	flags.StringVar(&files.Server.CertFile, "tls-cert-file", "", "")
	flags.StringVar(&files.Server.KeyFile, "tls-private-key-file", "", "")
	flags.StringVar(&files.CA.CertFile, "client-ca-file", "", "")
	flags.String("allowed-client-names", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	// These are the settings of kube-apiserver's own informers.
	config.ContentType, config.QPS = "application/vnd.kubernetes.protobuf", -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	if subject == upstreamAuthorizer {
		handler, err := loopback.UpstreamAuthorizer(ctx, factory)
		return errors.Join(err, loopback.Serve(ctx, files, *secure, *health, loopback.AuthorizePath, handler))
	}
	handler, err := loopback.UpstreamAdmission(ctx, factory)
	return errors.Join(err, loopback.Serve(ctx, files, *secure, *health, loopback.AdmitPath, handler))
}

func serveBareProxy(args []string) error {
	var c fake.ProxyConfig
	flags := flag.NewFlagSet(bareProxy, flag.ContinueOnError)
	address := flags.String("address", "", "")
	flags.StringVar(&c.CertFile, "cert", "", "")
	flags.StringVar(&c.KeyFile, "key", "", "")
	flags.StringVar(&c.ClientCAFile, "client-ca", "", "")
	flags.StringVar(&c.Kubelet, "kubelet", "", "")
	flags.StringVar(&c.KubeletCAFile, "kubelet-ca", "", "")
	flags.StringVar(&c.ClientCertFile, "kubelet-client-cert", "", "")
	flags.StringVar(&c.ClientKeyFile, "kubelet-client-key", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	server, err := fake.NewBareProxy(c)
	if err != nil {
		return fmt.Errorf("cannot make the bare proxy: %w", err)
	}
	server.Addr, server.ReadHeaderTimeout = *address, 10*time.Second
	if err := server.ListenAndServeTLS("", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
