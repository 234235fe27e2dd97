// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	"context"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/internal/auditfindings"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	// queueTimeout applies at most three times to a request. This leaves the reviewer most of the
	// 2 s after which kube-apiserver gives up.
	queueTimeout = time.Second / 4
	// maxHead is the size of the first bytes, in which kube-apiserver writes the uid.
	maxHead = 1 << 10
	// smallBody is larger than nearly every review. A review of a Node with 50 images, new and old,
	// has 60 KiB.
	smallBody = 128 << 10
	// smallMemory and largeMemory bound the total size of small and of large reviews at one time.
	smallMemory = 16 << 20
	largeMemory = 4 * maxBody
	// memoryShares is the divisor for one node.
	memoryShares = 4
)

// settings are the properties of AdmissionReviews.
var settings = webhook.Settings{
	MaxBody:    maxBody,
	Memory:     webhook.Memory{SmallBody: smallBody, Small: smallMemory, Large: largeMemory, Shares: memoryShares},
	SharesBody: true, QueueTimeout: queueTimeout, NodesOnly: true,
	Metrics: webhook.MetricNames{
		Prefix: "bulkhead_admission", Decisions: "_reviews_total",
		DecisionsHelp: "Writes reviewed, by resource, subresource, operation, rule and decision (allow, deny).",
		Labels:        []string{"resource", "subresource", "operation"},
		DurationHelp: "Time to decode the objects of one write and to decide on it, without reading the review and " +
			"writing the answer.",
		PanicsHelp: "Writes denied because deciding on them panicked. Each is a bug.",
	},
	NotEnforced: rules.Allow,
	Allowed:     "Admitted", Denied: "Not admitted", Audited: auditfindings.LogMessage, Panicked: "Reviewer panicked",
}

// Config is the configuration of a handler. Untyped may be nil.
type Config struct {
	webhook.Config
	Reviewer Reviewer
	// Untyped selects resources, besides those of the built-in table, whose objects are also
	// decoded, as [unstructured.Unstructured]. If Untyped is nil, there are none.
	Untyped func(schema.GroupResource) bool
}

// Reviewer decides on one write of a node.
type Reviewer interface {
	// Review must be safe for concurrent use. [Handler] lists the objects in the attributes. The
	// reviewer may keep them.
	Review(ctx context.Context, a admission.Attributes) rules.Decision
}

// ReviewerFunc is a function that implements Reviewer.
type ReviewerFunc func(ctx context.Context, a admission.Attributes) rules.Decision

// Review calls the function.
func (f ReviewerFunc) Review(ctx context.Context, a admission.Attributes) rules.Decision {
	return f(ctx, a)
}

// Handler answers AdmissionReviews.
//
// The reviewer gets typed objects of k8s.io/api for the resources and subresources in the table of
// [newTargets], and unstructured objects for those of Config.Untyped. For every other resource, and
// for CONNECT, the reviewer gets no object, but it is still called: a rule may deny a request
// without the object. Options are not decoded.
type Handler = webhook.Handler[*request]

// New creates a handler and registers its metrics.
func New(config Config) *Handler {
	return webhook.NewHandler(protocol{config.Reviewer, newTargets(config.Untyped)}, settings, config.Config)
}

// protocol implements [webhook.Protocol].
type protocol struct {
	reviewer Reviewer
	targets  targets
}

// Decode denies a review that it cannot decode if the first bytes have a uid, as in every review of
// kube-apiserver. A user can cause such a review: an object that is nested almost as deeply as the API
// server allows is nested too deeply in its review. Under failurePolicy Ignore, a 4xx would admit it.
func (p protocol) Decode(body []byte) (*request, string, error) {
	q, err := decodeReview(body)
	if err == nil {
		return q, "", nil
	}
	if unread, ok := p.Unread(body[:min(len(body), maxHead)]); ok {
		return unread, "a review that cannot be decoded", nil
	}
	return nil, "", err
}

// Unread finds the uid, which the answer must repeat. In a review, the user comes after the objects,
// so the user is unknown.
func (protocol) Unread(head []byte) (*request, bool) {
	uid, ok := uidIn(head)
	return &request{UID: uid}, ok
}

func (protocol) User(q *request) user.Info { return q.user() }

// Decide denies a write whose objects cannot be decoded. It calls the reviewer for every other
// write. A denial must cite a rule: without one, the reviewer has a bug.
func (p protocol) Decide(ctx context.Context, q *request) rules.Decision {
	attributes, err := p.targets.attributesOf(q)
	if err != nil {
		return rules.Decision{Message: err.Error(), Code: http.StatusBadRequest}
	}
	d := p.reviewer.Review(ctx, attributes)
	if !d.Allowed() {
		if d.Rule == "" {
			panic("a denial by no rule")
		}
		// A webhook knows only Allow and Deny.
		d.Effect = rules.Deny
	}
	return d
}

func (protocol) Answer(q *request, d rules.Decision) any {
	return answered{APIVersion: apiVersion, Kind: kind, Response: responseTo(q.UID, d)}
}
