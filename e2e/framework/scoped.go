// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ScopedEntry is the name of the authorizer, and of the webhook, for accounts with a node scope.
const ScopedEntry = "node-scope.bulkhead.dev"

// askScoped posts a review to node-authorizer's endpoint for node scope. It runs on the
// control-plane host with the API server's credentials. curl exits with 92 if the answer arrives
// before all of the body was read.
const askScoped = "curl -sS --max-time 20 --cacert " + StateDirectory + "/apiserver/node-authorizer-ca.crt" +
	" --cert " + StateDirectory + "/apiserver/node-authorizer-client.crt --key " + StateDirectory +
	"/apiserver/node-authorizer-client.key" +
	` -H 'Content-Type: application/json' --data-binary @- -w '\n%{http_code}' https://127.0.0.1:10461/authorize-scoped`

// AskScoped requests the decision of node scope directly, without the API server. For a request
// that node scope leaves to RBAC, the API server does not name the rule. AskScoped needs access to
// the host.
func (c *Cluster) AskScoped(ctx context.Context, who *Identity, r Request) (authorizationv1.SubjectAccessReviewStatus,
	error) {
	review, err := ReviewOf(who, r)
	if err != nil {
		return authorizationv1.SubjectAccessReviewStatus{}, err
	}
	review.TypeMeta = metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"}
	body, err := json.Marshal(review)
	if err != nil {
		return authorizationv1.SubjectAccessReviewStatus{}, fmt.Errorf("encoding the review of %s: %w", r, err)
	}
	code, text, err := c.PostScoped(ctx, string(body))
	if err != nil {
		return authorizationv1.SubjectAccessReviewStatus{}, err
	}
	answer := authorizationv1.SubjectAccessReview{}
	if code != "200" {
		return answer.Status, fmt.Errorf("cannot get the decision of node scope on %s: status %s: %s", r, code, text)
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return answer.Status, fmt.Errorf("cannot read the decision of node scope on %s: %w", r, err)
	}
	return answer.Status, nil
}

// PostScoped posts any body to the endpoint for node scope. It returns the status code and the
// answer.
func (c *Cluster) PostScoped(ctx context.Context, body string) (code, text string, err error) {
	out, err := c.Host.Run(ctx, c.ControlPlane, askScoped+" <<'END-OF-BODY' || test $? -eq 92\n"+body+"\nEND-OF-BODY\n")
	end := strings.LastIndexByte(out, '\n')
	return out[end+1:], out[:max(end, 0)], err
}
