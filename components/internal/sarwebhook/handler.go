// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/internal/auditfindings"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	// maxBody bounds a review. A review of a kubelet's request has about 1 KiB. A URL of 1 MiB, the
	// most that kube-apiserver reads, can make a review of 20 MiB.
	maxBody = 64 << 10
	// maxReading bounds the reviews of the largest size that are read at one time. It is the number of
	// requests that one connection of kube-apiserver may have in flight: a request that waits to be
	// read must not stop the others on its connection.
	maxReading = 1000
	// queueTimeout is how long a request waits for each of its two places before it is denied. This
	// wait, together with the authorizer's wait for live reads, is well below the 3 s after which
	// kube-apiserver goes on without Bulkhead.
	queueTimeout = time.Second / 2
)

// settings are the properties of SubjectAccessReviews.
//
// The user in a review has not always caused it. A user who may create SubjectAccessReviews can
// make kube-apiserver review requests of any other user, and every node may create them. So no
// limit remembers a user after the request is answered. Otherwise another user could exhaust a rate
// limit for that user name, or fill a table of user names with invented ones.
//
// If requests over the limit were denied at once, such a user could cause denials for another user:
// hundreds of decisions are in flight for a moment whenever all wait for the same lock. But a
// decision takes microseconds, so a place becomes free soon and a waiting request gets it. Only
// denials may take longer, because live reads confirm them first. The requests that wait for these
// reads are limited to half of a node's places. A place stays taken for as long as requests wait
// only if a decision never returns. The limits exist for this case.
var settings = webhook.Settings{
	MaxBody:      maxBody,
	Memory:       webhook.Memory{SmallBody: maxBody, Small: maxReading * maxBody, Large: maxBody, Shares: 1},
	QueueTimeout: queueTimeout,
	Metrics: webhook.MetricNames{
		Prefix: "bulkhead_authorization", Decisions: "_decisions_total",
		DecisionsHelp: "Requests decided, by resource, verb, rule and decision (allow, deny, no-opinion).",
		Labels:        []string{"resource", "verb"},
		DurationHelp:  "Time to decide one request, without reading it and writing the answer.",
		PanicsHelp:    "Requests denied because deciding them panicked. Each is a bug.",
	},
	NotEnforced: rules.NoOpinion,
	Allowed:     "Allowed", Denied: "Not allowed", Audited: auditfindings.LogMessage, Panicked: "Authorizer panicked",
}

// Config is the configuration of a handler.
type Config struct {
	webhook.Config
	Authorizer Authorizer
}

// Authorizer decides on one request.
type Authorizer interface {
	// Decide must be safe for concurrent use. It must not keep the attributes after it returns.
	Decide(ctx context.Context, a authorizer.Attributes) rules.Decision
}

// AuthorizerFunc is a function that implements Authorizer.
type AuthorizerFunc func(ctx context.Context, a authorizer.Attributes) rules.Decision

// Decide calls the function.
func (f AuthorizerFunc) Decide(ctx context.Context, a authorizer.Attributes) rules.Decision {
	return f(ctx, a)
}

// Handler answers SubjectAccessReviews.
type Handler = webhook.Handler[*authorizer.AttributesRecord]

// New creates a handler and registers its metrics.
func New(config Config) *Handler {
	return webhook.NewHandler(protocol{config.Authorizer}, settings, config.Config)
}

// protocol implements [webhook.Protocol].
type protocol struct{ authorizer Authorizer }

func (protocol) Decode(body []byte) (*authorizer.AttributesRecord, string, error) {
	spec, err := decodeReview(body)
	if err != nil {
		return nil, "", err
	}
	excess := ""
	if requirements(spec.ResourceAttributes) > maxRequirements {
		excess = fmt.Sprintf("more than %d selector requirements", maxRequirements)
	}
	return attributesFrom(spec), excess, nil
}

// Unread needs no part of the review: the answer to a SubjectAccessReview does not repeat anything
// of it.
func (protocol) Unread([]byte) (*authorizer.AttributesRecord, bool) {
	return &authorizer.AttributesRecord{User: &user.DefaultInfo{}}, true
}

func (protocol) User(a *authorizer.AttributesRecord) user.Info { return a.User }

func (p protocol) Decide(ctx context.Context, a *authorizer.AttributesRecord) rules.Decision {
	return p.authorizer.Decide(ctx, a)
}

// answer is the part of a SubjectAccessReview that kube-apiserver reads.
type answer struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Status     status `json:"status"`
}

// status is the part of a SubjectAccessReviewStatus that a webhook sets. At most one of Allowed and
// Denied is true. If neither is true, the next authorizer decides.
type status struct {
	Allowed         bool   `json:"allowed"`
	Denied          bool   `json:"denied,omitempty"`
	Reason          string `json:"reason,omitempty"`
	EvaluationError string `json:"evaluationError,omitempty"`
}

func (protocol) Answer(_ *authorizer.AttributesRecord, d rules.Decision) any {
	return answer{APIVersion: apiVersion, Kind: kind, Status: statusOf(d)}
}

// statusOf converts a decision to the form that kube-apiserver reads.
func statusOf(d rules.Decision) status {
	s := status{Allowed: d.Effect == rules.Allow, Denied: d.Effect != rules.Allow && d.Effect != rules.NoOpinion,
		Reason: webhook.Presentable(d.Reason())}
	if d.Code == http.StatusInternalServerError {
		s.EvaluationError = "the authorizer panicked"
	}
	return s
}
