// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"maps"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Bearer is a token and the user that the API server authenticates it as.
type Bearer struct {
	Token  string
	User   string
	Groups []string
	Extra  map[string][]string
}

// ReadToken asks the API server which user the token belongs to. It returns an error for an invalid
// token.
func (c *Cluster) ReadToken(ctx context.Context, token string) (Bearer, error) {
	b := Bearer{Token: token}
	client, err := kubernetes.NewForConfig(c.bearing(token))
	if err != nil {
		return b, fmt.Errorf("making a client: %w", err)
	}
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{},
		metav1.CreateOptions{})
	if err != nil {
		return b, fmt.Errorf("asking whose token it is: %w", err)
	}
	b.User, b.Groups, b.Extra = review.Status.UserInfo.Username, review.Status.UserInfo.Groups, map[string][]string{}
	for key, values := range review.Status.UserInfo.Extra {
		b.Extra[key] = values
	}
	return b, nil
}

// AsBearer returns the identity that authenticates with the token.
func (c *Cluster) AsBearer(b Bearer) *Identity {
	return &Identity{User: b.User, Groups: b.Groups, Extra: b.Extra, config: c.bearing(b.Token)}
}

// AsForged returns the same user, groups and extra as the token, by impersonation as the
// administrator. It does not use the token.
func (c *Cluster) AsForged(b Bearer) *Identity {
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: b.User, Groups: b.Groups, Extra: b.Extra}
	return &Identity{User: b.User, Groups: b.Groups, Extra: b.Extra, config: config}
}

// Impersonating returns an identity that uses the credentials of i and impersonates another user.
// Reviews of it are about the impersonated user.
func (i *Identity) Impersonating(user string, groups ...string) *Identity {
	config := rest.CopyConfig(i.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return &Identity{User: user, Groups: groups, config: config}
}

// With returns a copy of b with other values for one key of the token's extra. Without values, the
// key is removed.
func (b Bearer) With(key string, values ...string) Bearer {
	extra := maps.Clone(b.Extra)
	delete(extra, key)
	if len(values) > 0 {
		extra[key] = slices.Clone(values)
	}
	b.Extra = extra
	return b
}

func (c *Cluster) bearing(token string) *rest.Config {
	config := rest.AnonymousClientConfig(c.config)
	config.BearerToken = token
	return config
}
