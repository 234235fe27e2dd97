// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/restclient" // calls to the API server
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
	"github.com/bulkhead-k8s/bulkhead/components/internal/serve"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/authn"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/authz"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/proxy"
)

// start configures logging, which a process can do only once, and runs the program.
func start(ctx context.Context, c *config) error {
	if err := program.StartLogging(c.logging); err != nil {
		return err
	}
	return run(ctx, c)
}

const healthAddress = "127.0.0.1"

// parts are the components of the program.
type parts struct {
	registry      metrics.KubeRegistry
	cluster       *cluster
	authenticator *authn.Authenticator
	authorizer    *authz.Authorizer
	audit         *proxy.Audit
	serving       *proxy.Pair
	client        *proxy.Pair
	upstream      *proxy.Upstream
}

// run serves until ctx is done. The background tasks that requests need continue until the last
// request is answered.
func run(ctx context.Context, c *config) error {
	p := &parts{registry: metrics.NewKubeRegistry()}
	if c.waitForInstall {
		if err := p.waitForInstall(ctx, c); err != nil || ctx.Err() != nil {
			return err
		}
	}
	if err := errors.Join(p.loadFiles(c), p.loadDecisions(c)); err != nil {
		return err
	}
	server, err := p.server(ctx, c)
	if err != nil {
		return err
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	for _, task := range []func(context.Context){p.cluster.run, p.authenticator.Run, p.audit.Run, p.client.Run} {
		group.Go(func() { task(background) })
	}
	err = server.Run(ctx)
	p.authorizer.Wait()
	stop()
	group.Wait()
	p.upstream.Close()
	return err
}

// waitForInstall returns nil if ctx ends first.
func (p *parts) waitForInstall(ctx context.Context, c *config) error {
	files := []string{c.certFile, c.keyFile, c.kubeletCert, c.kubeletKey}
	if c.who.ClientCAFile != "" {
		files = append(files, c.who.ClientCAFile)
	}
	err := proxy.WaitForFiles(ctx, proxy.IdleConfig{
		HealthAddress: healthAddress, HealthPort: c.healthPort, KubeletPort: c.port, Files: files,
		Registry: p.registry, Gatherer: p.gatherer(),
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// gatherer returns all metrics. DefaultGatherer has those of libraries: Go, the process, API calls.
func (p *parts) gatherer() metrics.Gatherer {
	return prometheus.Gatherers{p.registry, legacyregistry.DefaultGatherer}
}

func (p *parts) loadFiles(c *config) (err error) {
	if p.serving, err = proxy.LoadPair("serving", c.certFile, c.keyFile); err != nil {
		return err
	}
	if p.client, err = proxy.LoadPair("kubelet client", c.kubeletCert, c.kubeletKey); err != nil {
		return err
	}
	p.upstream = proxy.NewUpstream(p.serving, p.client, c.answerTimeout)
	out, err := openAudit(c.audit)
	if err != nil {
		return err
	}
	p.audit = proxy.NewAudit(out, p.registry)
	return nil
}

func (p *parts) loadDecisions(c *config) (err error) {
	if p.cluster, err = newCluster(c.kubeconfig); err != nil {
		return err
	}
	p.authenticator, err = authn.New(authn.Config{
		Options: c.who, Reviews: p.cluster.clientset.AuthenticationV1().TokenReviews(), Registry: p.registry,
		AudienceMode: c.policy.ModeOf(kubeletauth.RuleAudience), AuditOnly: c.auditOnly,
	})
	if err != nil {
		return err
	}
	p.authorizer, err = authz.New(authz.Config{
		Options: c.may, Reviews: p.cluster.clientset.AuthorizationV1().SubjectAccessReviews(), Registry: p.registry,
	})
	return err
}

func (p *parts) server(ctx context.Context, c *config) (*proxy.Server, error) {
	handler, err := proxy.New(proxy.Config{
		NodeName: c.nodeName, Map: c.policy.Map, Authenticator: p.authenticator, Authorize: p.authorize, Unsure: unsure,
		Kubelet: c.kubelet, Transport: p.upstream, Components: components(c.healthPort),
		Limits: c.limits, AuditOnly: c.auditOnly, ModeOf: c.policy.ModeOf, Audit: p.audit, Rules: kubeletauth.Rules,
		Registry: p.registry, Logger: klog.FromContext(ctx),
	})
	if err != nil {
		return nil, err
	}
	clientCA := p.authenticator.ClientCA()
	return proxy.NewServer(proxy.ServerConfig{
		Addresses: c.addresses, Port: c.port, HealthAddress: healthAddress, HealthPort: c.healthPort,
		Handler: handler, Serving: p.serving, ClientCA: clientCA, MinVersion: c.version, CipherSuites: c.suites,
		MaxHeaderBytes: c.maxHeaderBytes, HeaderTimeout: c.headerTimeout, RequestTimeout: c.requestTimeout,
		Connections: c.connections, Registry: p.registry,
		Gatherer: p.gatherer(),
		Expiries: map[string]serve.Expiry{
			"kubelet-client": p.client.Expiry,
			"client-ca": func() (end time.Time, ok bool) {
				if clientCA == nil {
					return end, false
				}
				return serve.EarliestEnd(clientCA.CurrentCABundleContent())
			},
		},
		DrainTimeout: c.drainTimeout, ShutdownTimeout: c.shutdownTimeout,
	})
}

// components are the components that serve metrics on this node. The others have no metrics of their
// own. The ports are those of the static pods.
func components(healthPort int) map[string]string {
	return map[string]string{
		"node-authorizer":    net.JoinHostPort(healthAddress, "10462"),
		"node-restriction":   net.JoinHostPort(healthAddress, "10464"),
		"kubelet-auth-proxy": net.JoinHostPort(healthAddress, strconv.Itoa(healthPort)),
	}
}

func (p *parts) authorize(ctx context.Context, a authorizer.Attributes) (proxy.Answer, error) {
	answer, err := p.authorizer.Authorize(ctx, a)
	return proxy.Answer(answer), err
}

// unsure reports whether a token could not be reviewed, so that its validity is unknown.
func unsure(err error) bool {
	var denied *authn.Denied
	if errors.As(err, &denied) && denied.Code == http.StatusTooManyRequests {
		return true
	}
	var status apierrors.APIStatus
	var network net.Error
	return errors.As(err, &status) || errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded)
}
