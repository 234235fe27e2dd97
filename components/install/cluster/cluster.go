// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster is the installer's client of the kube-apiserver on its own host. It never uses
// another kube-apiserver behind the same load balancer.
package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// requestTimeout is short, because a caller that waits for an API server retries.
const requestTimeout = 10 * time.Second

// canaryNode is the name of a node that does not exist. Only an authorizer for nodes has a decision
// about it.
const canaryNode = "bulkhead-canary"

// Client is a client of one API server.
type Client struct {
	Kubernetes kubernetes.Interface
	dynamic    dynamic.Interface
	// kubelet gets a path of a node's kubelet.
	kubelet func(ctx context.Context, node, path string) ([]byte, error)
}

// New reads the administrator's kubeconfig and connects to the API server at endpoint.
func New(kubeconfig, endpoint string) (*Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig %s: %w", kubeconfig, err)
	}
	config.Host = endpoint
	config.Timeout = requestTimeout
	config.UserAgent = "bulkhead-installer"
	// The requests come one after the other, so they need no throttle. With client-go's default of
	// five requests a second, an installation would spend most of its time waiting.
	config.QPS = -1
	return NewForConfig(config)
}

// NewForConfig connects to the API server that config names.
func NewForConfig(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	LimitKubelets(config)
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Client{Kubernetes: typed, dynamic: untyped, kubelet: kubeletOf(typed.CoreV1().RESTClient())}, nil
}

func kubeletOf(client rest.Interface) func(context.Context, string, string) ([]byte, error) {
	return func(ctx context.Context, node, path string) ([]byte, error) {
		answer, err := client.Get().Resource("nodes").Name(node).SubResource("proxy").Suffix(path).Stream(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { _ = answer.Close() }()
		return io.ReadAll(answer)
	}
}

// Ready checks /readyz. In its first seconds a server can deny even the administrator's requests,
// because RBAC has not yet read its objects.
func (c *Client) Ready(ctx context.Context) error {
	body, err := c.Kubernetes.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	if failing := failingChecks(string(body)); err != nil && len(failing) > 0 {
		return fmt.Errorf("not ready yet: %s", strings.Join(failing, ", "))
	}
	return err
}

// failingChecks returns the names of the checks that /readyz marks with [-].
func failingChecks(body string) []string {
	var names []string
	for line := range strings.Lines(body) {
		if check, failing := strings.CutPrefix(line, "[-]"); failing {
			name, _, _ := strings.Cut(check, " ")
			names = append(names, name)
		}
	}
	return names
}

// Process identifies a running API server and its configuration.
type Process struct {
	// Start is the start time of the process, in seconds since the epoch.
	Start string
	// AuthorizationHash is the SHA-256 of the authorization file in use. It is empty if the server
	// runs with --authorization-mode.
	AuthorizationHash string
	// AdmissionHash is the server's hash of the validating webhooks from disk that it uses. It is
	// empty if there are none.
	AdmissionHash string
	// PolicyHash is the server's hash of the validating admission policies from disk that it uses.
	// It is empty if there are none.
	PolicyHash string
	// Skipped is the number of writes that the server has admitted without node-restriction, because
	// it could not call it. It is empty if there are none.
	Skipped string
}

// skippedMetric counts writes that were admitted although a webhook could not be called. Its first
// label is the name of the webhook (k8s.io/apiserver pkg/admission/metrics).
const skippedMetric = `apiserver_admission_webhook_fail_open_count{name="node-restriction.bulkhead.dev",`

// Process reads the server's metrics.
func (c *Client) Process(ctx context.Context) (Process, error) {
	metrics, err := c.Kubernetes.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return Process{}, err
	}
	return ParseProcess(string(metrics))
}

// ParseProcess reads a Process from metrics.
func ParseProcess(metrics string) (Process, error) {
	var p Process
	for line := range strings.Lines(metrics) {
		line = strings.TrimSpace(line)
		if value, ok := strings.CutPrefix(line, "process_start_time_seconds "); ok {
			p.Start = value
		}
		if strings.HasPrefix(line, skippedMetric) {
			_, p.Skipped, _ = strings.Cut(line, "} ")
		}
		if strings.HasPrefix(line, "apiserver_authorization_config_controller_last_config_info{") {
			p.AuthorizationHash = strings.TrimPrefix(hashIn(line), "sha256:")
		}
		if !strings.HasPrefix(line, "apiserver_manifest_admission_config_controller_last_config_info{") {
			continue
		}
		switch {
		case strings.Contains(line, `plugin="ValidatingAdmissionWebhook"`):
			p.AdmissionHash = hashIn(line)
		case strings.Contains(line, `plugin="ValidatingAdmissionPolicy"`):
			p.PolicyHash = hashIn(line)
		}
	}
	if p.Start == "" {
		return Process{}, fmt.Errorf("reading metrics: process_start_time_seconds is not among them")
	}
	return p, nil
}

// hashIn returns the label hash of a metric. Another label has a name that ends in "hash".
func hashIn(line string) string {
	for _, begin := range []string{`{hash="`, `,hash="`} {
		if _, rest, found := strings.Cut(line, begin); found {
			hash, _, _ := strings.Cut(rest, `"`)
			return hash
		}
	}
	return ""
}

// Version returns the version that the server reports.
func (c *Client) Version(ctx context.Context) (string, error) {
	var info version.Info
	body, err := c.Kubernetes.Discovery().RESTClient().Get().AbsPath("/version").DoRaw(ctx)
	if err == nil {
		err = json.Unmarshal(body, &info)
	}
	if err != nil {
		return "", fmt.Errorf("asking kube-apiserver for its version: %w", err)
	}
	return info.GitVersion, nil
}

// Decision is the decision of the server's whole authorizer chain.
type Decision struct {
	Reason, EvaluationError string
}

// CanaryDecision asks whether a node that does not exist may read a secret. The API server denies
// this. The reason shows which authorizer decided.
//
// In an installation that only audits, RBAC may allow it: the ClusterRole system:node may still be
// bound to all nodes. Then CanaryDecision asks about a resource that no role has, and only
// node-authorizer gives a reason for that. It is an error if node-authorizer does not.
func (c *Client) CanaryDecision(ctx context.Context) (Decision, error) {
	answer, err := c.canary(ctx, authorizationv1.ResourceAttributes{
		Namespace: "kube-system", Verb: "get", Version: "v1", Resource: "secrets", Name: canaryNode})
	if err != nil {
		return Decision{}, err
	}
	if !answer.Allowed {
		return Decision{Reason: answer.Reason, EvaluationError: answer.EvaluationError}, nil
	}
	allowedBy := answer.Reason
	answer, err = c.canary(ctx, authorizationv1.ResourceAttributes{
		Verb: "get", Group: "bulkhead.dev", Version: "v1", Resource: "canaries", Name: canaryNode})
	if err != nil {
		return Decision{}, err
	}
	if answer.Allowed || !strings.Contains(answer.Reason, "[NA-") {
		return Decision{}, fmt.Errorf("node %s, which does not exist, may read secrets: %s", canaryNode, allowedBy)
	}
	return Decision{Reason: answer.Reason, EvaluationError: answer.EvaluationError}, nil
}

func (c *Client) canary(ctx context.Context, resource authorizationv1.ResourceAttributes) (
	authorizationv1.SubjectAccessReviewStatus, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:   "system:node:" + canaryNode,
		Groups: []string{"system:nodes", "system:authenticated"}, ResourceAttributes: &resource,
	}}
	answer, err := c.Kubernetes.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, createOptions)
	if err != nil {
		return authorizationv1.SubjectAccessReviewStatus{}, err
	}
	return answer.Status, nil
}
