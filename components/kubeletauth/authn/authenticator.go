// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package authn

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/websocket"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/crl"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// rereadInterval is how often the client CA is read without a file event. A change of a symlink to
// a directory causes no event.
const rereadInterval = 10 * time.Second

// Config is the configuration of an [Authenticator].
type Config struct {
	Options
	// Reviews makes TokenReviews. Its client must have no rate limit of its own. It may be nil
	// without TokenWebhook.
	Reviews authenticationv1client.TokenReviewInterface
	// AudienceMode is the mode of rule KA-AUD-1.
	AudienceMode rules.Mode
	// AuditOnly is true if the limits on tokens deny nothing. A request over a limit becomes a finding.
	AuditOnly bool
	Registry  metrics.KubeRegistry
}

// Authenticator authenticates requests. It is safe for concurrent use. Create one with [New].
type Authenticator struct {
	// certificates is nil without a client CA.
	certificates authenticator.Request
	// withoutToken is the chain for requests without a token.
	withoutToken authenticator.Request
	anonymous    bool
	clientCA     *dynamiccertificates.DynamicFileCAContent
	revoked      *crl.Checker
	ids          *crl.IDs
	tokens       *tokens
	metrics      *recorder
}

// New reads the client CA and the revocation lists. It makes no request.
func New(config Config) (*Authenticator, error) {
	if err := errors.Join(config.check()...); err != nil {
		return nil, err
	}
	a := &Authenticator{metrics: newRecorder(config.Registry), anonymous: config.Anonymous}
	if config.Revocation.IDs != "" {
		a.ids = crl.NewIDs(config.Revocation.IDs, config.Registry)
	}
	if config.ClientCAFile != "" {
		if err := a.loadClientCA(config); err != nil {
			return nil, err
		}
	}
	if a.clientCA != nil {
		a.certificates = a.metrics.count("certificate", newCertificates(a.clientCA.VerifyOptions, a.revoked))
	}
	if config.TokenWebhook {
		a.tokens = newTokens(config, a.metrics)
	}
	a.withoutToken = a.chain(nil)
	return a, nil
}

func (c *Config) check() []error {
	problems := c.Validate()
	if c.TokenWebhook && c.Reviews == nil {
		problems = append(problems, errors.New("--authentication-token-webhook needs a client of the API server"))
	}
	if c.AudienceMode != rules.Off && c.TokenWebhook && len(c.TokenAudiences) == 0 {
		problems = append(problems,
			errors.New("rule KA-AUD-1 needs --authentication-token-audiences: without them every token is for the API server"))
	}
	return problems
}

func (a *Authenticator) loadClientCA(config Config) error {
	var err error
	if a.clientCA, err = dynamiccertificates.NewDynamicCAContentFromFile("client-ca", config.ClientCAFile); err != nil {
		return fmt.Errorf("reading the client CA: %w", err)
	}
	if len(config.Revocation.CRL) == 0 {
		return nil
	}
	a.revoked, err = crl.New(crl.Config{
		Options: config.Revocation, ClientCA: a.clientCA.CurrentCABundleContent, Registry: config.Registry,
	})
	return err
}

// chain returns the authenticators in the kubelet's order. token is the token of one request, or
// nil.
func (a *Authenticator) chain(token *tokenOfRequest) authenticator.Request {
	var shown inOrder
	if a.certificates != nil {
		shown = append(shown, a.certificates)
	}
	if token != nil {
		shown = append(shown, a.metrics.count("token",
			union.New(bearertoken.New(token), websocket.NewProtocolAuthenticator(token))))
	}
	chain := group.NewAuthenticatedGroupAdder(shown)
	if a.anonymous {
		chain = union.NewFailOnError(chain, a.metrics.count("anonymous", anonymous.NewAuthenticator(nil)))
	}
	return chain
}

// Authenticate authenticates a request, and then removes the credentials from it. It also returns
// the findings of rules in audit mode that would have denied the request. Every error is a
// [*Denied]. If response and error are both nil, the request contains no credential that the proxy
// checks.
func (a *Authenticator) Authenticate(req *http.Request) (*authenticator.Response, []rules.Finding, error) {
	chain, token := a.withoutToken, (*tokenOfRequest)(nil)
	if a.tokens != nil && (len(req.Header["Authorization"]) > 0 || len(req.Header[protocolHeader]) > 0) {
		token = &tokenOfRequest{tokens: a.tokens, client: ClientOf(req.RemoteAddr)}
		chain = a.chain(token)
	}
	response, ok, err := chain.AuthenticateRequest(req)
	if err != nil {
		return nil, nil, deniedOf(err)
	}
	if !ok {
		return nil, nil, nil
	}
	// This check comes after every cache, so that a revocation applies from the next request on.
	if what, revoked := a.ids.Set().Find(response.User); revoked {
		return nil, nil, deny(kubeletauth.RuleCredential, what+" is revoked", nil)
	}
	RemoveCredentials(req.Header)
	if token == nil {
		return response, nil, nil
	}
	return response, token.findings, nil
}

// ClientCA returns the provider of the current client CA, whose names a TLS handshake sends to
// clients. It is nil without a client CA.
func (a *Authenticator) ClientCA() dynamiccertificates.CAContentProvider {
	if a.clientCA == nil {
		return nil
	}
	return a.clientCA
}

// Run reloads the files until ctx is done. It returns when no TokenReview is in flight. The caller
// must not start new requests after ctx is done.
func (a *Authenticator) Run(ctx context.Context) {
	var group sync.WaitGroup
	if a.clientCA != nil {
		group.Go(func() { a.clientCA.Run(ctx, 1) })
		group.Go(func() { wait.UntilWithContext(ctx, a.reread, rereadInterval) })
	}
	if a.revoked != nil {
		group.Go(func() { a.revoked.Run(ctx) })
	}
	if a.ids != nil {
		group.Go(func() { a.ids.Run(ctx) })
	}
	<-ctx.Done()
	group.Wait()
	if a.tokens != nil {
		a.tokens.reviewer.Wait()
	}
}

func (a *Authenticator) reread(ctx context.Context) {
	if err := a.clientCA.RunOnce(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Keeping the last good client CA")
	}
}

// inOrder calls the authenticators in order, as the kubelet's union does. A final denial ends it.
type inOrder []authenticator.Request

func (all inOrder) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	var problems []error
	for _, next := range all {
		response, ok, err := next.AuthenticateRequest(req)
		if err == nil && ok {
			return response, true, nil
		}
		if err == nil {
			continue
		}
		refusal := deniedOf(err)
		if refusal.final {
			return nil, false, refusal
		}
		problems = append(problems, refusal)
	}
	return nil, false, errors.Join(problems...)
}
