// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"context"
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Caller asks a webhook, over one connection.
type Caller struct{ client *rest.RESTClient }

// NewCaller is a caller of the webhook at that address, with what kube-apiserver
// has: client-go, JSON, no bound on the rate.
func NewCaller(address string, files Files) (*Caller, error) {
	// As k8s.io/apiserver/pkg/util/webhook NewGenericWebhook does, without its retries.
	codec := scheme.Codecs.LegacyCodec(authorizationv1.SchemeGroupVersion)
	client, err := rest.UnversionedRESTClientFor(&rest.Config{
		Host: "https://" + address + "/authorize", QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: files.CA.CertFile, CertFile: files.Client.CertFile, KeyFile: files.Client.KeyFile},
		ContentConfig:   rest.ContentConfig{NegotiatedSerializer: serializer.NegotiatedSerializerWrapper(runtime.SerializerInfo{Serializer: codec})},
	})
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return &Caller{client}, nil
}

// Ask encodes the review, has it answered and decodes the answer.
func (c *Caller) Ask(ctx context.Context, review *authorizationv1.SubjectAccessReview) (authorizationv1.SubjectAccessReviewStatus, error) {
	// Encoding writes the kind into what it encodes, so no two calls may share it.
	asked, answer := *review, authorizationv1.SubjectAccessReview{}
	if err := c.client.Post().Body(&asked).Do(ctx).Into(&answer); err != nil {
		return answer.Status, fmt.Errorf("asking: %w", err)
	}
	return answer.Status, nil
}

var errNotAllowed = errors.New("not allowed")

// mustAllow asks what has to be allowed.
func (c *Caller) mustAllow(ctx context.Context, review *authorizationv1.SubjectAccessReview) error {
	status, err := c.Ask(ctx, review)
	if err == nil && !status.Allowed {
		return fmt.Errorf("%s: %w: %s", review.Spec.User, errNotAllowed, status.Reason)
	}
	return err
}

// SecretReview asks whether a node may get a secret, as kube-apiserver words it.
func SecretReview(node, namespace, secret string) *authorizationv1.SubjectAccessReview {
	return &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "system:node:" + node, Groups: []string{"system:nodes", "system:authenticated"},
		Extra: map[string]authorizationv1.ExtraValue{
			"authentication.kubernetes.io/credential-id": {"X509SHA256=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
		},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: "get", Version: "v1", Resource: "secrets", Name: secret,
		},
	}}
}
