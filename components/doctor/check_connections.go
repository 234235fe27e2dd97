// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/clusterstatus"
	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

const (
	// mostKubelets limits the kubelets that the check asks.
	mostKubelets = 500
	// mostCauses limits the nodes whose cause a finding has. mostCause bounds a cause, in bytes. A
	// compromised kubelet can send any cause.
	mostCauses, mostCause = 3, 300
	// servingSoon is that of the alert in manifests/monitoring. A kubelet renews its certificate when at
	// least a tenth of its time is left.
	servingSoon = 7 * day
	// proxyMetrics is where kubelet-auth-proxy serves its own metrics (KA-METRICS-2).
	proxyMetrics = "metrics/bulkhead/kubelet-auth-proxy"
	servingEnd   = `bulkhead_certificate_expiration_timestamp_seconds{certificate="serving"} `
)

// connection is the result for one kubelet. The cause is empty if the problem says all.
type connection struct {
	problem connectionProblem
	cause   string
}

type connectionProblem int

const (
	connected connectionProblem = iota
	certificateRejected
	unreachable
	requestDenied
	unhealthy
	unanswered
	endsSoon
	endUnknown
	noProxyRight
	noMetricsRight
	noServer
	notAsked
)

// connectionProblems are the findings, in their order.
var connectionProblems = map[connectionProblem]Finding{
	certificateRejected: {Severity: Urgent, Problem: "kube-apiserver does not accept the kubelet's serving certificate",
		Repair: "look for a request of the node with `kubectl get csr`; on the node, run `bulkhead node status`"},
	unreachable: {Severity: Urgent, Problem: "kube-apiserver cannot reach the kubelet", Repair: "on the node, run " +
		"`bulkhead node status`; let the control-plane hosts connect to the kubelet's port, which is 10250 by default"},
	requestDenied: {Severity: Urgent, Problem: "the kubelet or kubelet-auth-proxy denies kube-apiserver's request",
		Repair: "compare --kubelet-client-certificate of kube-apiserver with the client CA of the node, and bind its user " +
			"to ClusterRole system:kubelet-api-admin"},
	unhealthy: {Severity: Soon, Problem: "kube-apiserver reaches the kubelet, but its /healthz fails",
		Repair: "read the kubelet's log on the node: journalctl -u kubelet"},
	unanswered: {Severity: Soon, Problem: "the kubelet has not answered kube-apiserver within 5 s, or has too many " +
		"requests", Repair: "run `bulkhead doctor` again; if it stays, run `bulkhead node status` on the node, and let the " +
		"control-plane hosts connect to the kubelet's port"},
	endsSoon: {Severity: Soon, Problem: "the kubelet's serving certificate ends in less than 7 days",
		Means: "after its end, kube-apiserver cannot connect to the kubelet: no logs, no exec",
		Repair: "look for a request of the node with `kubectl get csr`, and read the kubelet's log on the node: " +
			"journalctl -u kubelet"},
	endUnknown: notChecked("the end of the kubelet's serving certificate is not known"),
	noProxyRight: lacksRight("kube-apiserver's connections to kubelets: the account of the kubeconfig lacks the right "+
		"get on nodes/proxy", "nodes/proxy"),
	noMetricsRight: lacksRight("the end of kubelets' serving certificates: the account of the kubeconfig lacks the right "+
		"get on nodes/metrics", "nodes/metrics"),
	noServer: notChecked("the API server has not answered the request to the kubelet"),
	notAsked: notChecked("the check has ended after 30 s, before the kubelet answered"),
}

func lacksRight(problem, resource string) Finding {
	f := notChecked(problem)
	f.Repair = "grant the account get on " + resource + ", or use a kubeconfig of an administrator"
	return f
}

// checkConnections reads /healthz of each ready kubelet through one API server, the one that the kubeconfig
// reaches.
func checkConnections(ctx context.Context, in *inputs) ([]Finding, error) {
	installed, err := in.installed()
	if err != nil || len(installed) == 0 {
		return nil, err
	}
	ready := slices.DeleteFunc(slices.Clone(in.status.Nodes), func(n clusterstatus.Node) bool { return !n.Ready })
	asked := ready[:min(mostKubelets, len(ready))]
	results := cluster.EachKubelet(asked, func(node clusterstatus.Node) connection { return connect(ctx, in, node) })
	var found []Finding
	for problem := certificateRejected; problem <= notAsked; problem++ {
		if f := problem.finding(asked, results); f != nil {
			found = append(found, *f)
		}
	}
	if more := len(ready) - len(asked); more > 0 {
		f := notChecked(fmt.Sprintf("%d more kubelets were not asked: the check asks at most %d", more, mostKubelets))
		f.Severity, f.Repair = Note, "no action is needed; the alerts in docs/monitoring.md watch all nodes"
		found = append(found, f)
	}
	return found, nil
}

// finding returns the nodes with the problem, and the causes of the first ones. Without a node, it returns nil.
func (p connectionProblem) finding(nodes []clusterstatus.Node, results []connection) *Finding {
	f := connectionProblems[p]
	var causes []string
	for i, node := range nodes {
		if results[i].problem != p {
			continue
		}
		f.Names = append(f.Names, node.Name)
		if cause := results[i].cause; cause != "" && len(causes) < mostCauses {
			causes = append(causes, node.Name+": "+webhook.Printable(cause, mostCause))
		}
	}
	if len(f.Names) == 0 {
		return nil
	}
	if p == unanswered && len(f.Names) == len(nodes) {
		f.Severity = Urgent // no logs and no exec in the whole cluster
	}
	if text := strings.Join(causes, "; "); len(f.Names) == 1 && text != "" {
		f.Problem += strings.TrimPrefix(text, f.Names[0])
	} else if text != "" {
		f.Problem += ": " + text
	}
	if p == noProxyRight || p == noMetricsRight {
		f.Names = nil // it is about the account
	}
	return &f
}

// connect asks one kubelet. If it is behind kubelet-auth-proxy, connect also reads when its certificate ends.
func connect(ctx context.Context, in *inputs, node clusterstatus.Node) connection {
	_, err := in.Server.GetKubelet(ctx, node.Name, "healthz")
	if result := judgeConnection(ctx, in, node.Name, err); result.problem != connected ||
		node.Guard != clusterstatus.Guarded {
		return result
	}
	metrics, err := in.Server.GetKubelet(ctx, node.Name, proxyMetrics)
	switch {
	case ctx.Err() != nil:
		return connection{problem: notAsked}
	case apierrors.IsForbidden(err):
		return forbidden(ctx, in, node.Name, "metrics", noMetricsRight, err)
	case err != nil:
		return connection{endUnknown, err.Error()}
	}
	return judgeServing(string(metrics), in.Now())
}

// judgeConnection treats "not found" as an answer: a kubelet of another project may have no /healthz.
func judgeConnection(ctx context.Context, in *inputs, node string, err error) connection {
	var status apierrors.APIStatus
	switch {
	case err == nil || apierrors.IsNotFound(err):
		return connection{}
	case ctx.Err() != nil:
		return connection{problem: notAsked}
	case errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err),
		apierrors.IsTooManyRequests(err):
		return connection{problem: unanswered}
	case !errors.As(err, &status):
		return connection{noServer, err.Error()}
	case apierrors.IsForbidden(err):
		return forbidden(ctx, in, node, "proxy", noProxyRight, err)
	case apierrors.IsUnauthorized(err):
		return connection{requestDenied, err.Error()}
	case strings.Contains(err.Error(), "x509: "):
		return connection{certificateRejected, err.Error()}
	case status.Status().Code == http.StatusInternalServerError:
		return connection{unhealthy, err.Error()}
	}
	return connection{unreachable, err.Error()}
}

// forbidden says who has denied the request. A compromised kubelet can send the same answer as the API server.
// So forbidden asks the API server whether the account has the right.
func forbidden(ctx context.Context, in *inputs, node, subresource string, lacks connectionProblem,
	denial error) connection {
	review, err := in.Client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
		&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Version: "v1", Resource: "nodes",
				Subresource: subresource, Name: node}}}, metav1.CreateOptions{})
	switch {
	case ctx.Err() != nil:
		return connection{problem: notAsked}
	case err != nil:
		return connection{noServer, err.Error()}
	case !review.Status.Allowed:
		return connection{problem: lacks}
	}
	return connection{requestDenied, denial.Error()}
}

// judgeServing reads the metrics of kubelet-auth-proxy.
func judgeServing(metrics string, now time.Time) connection {
	for line := range strings.Lines(metrics) {
		value, found := strings.CutPrefix(line, servingEnd)
		if !found {
			continue
		}
		seconds, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || !(seconds > 0 && seconds < 1e11) {
			return connection{endUnknown, "the metric has the value " + value}
		}
		if end := time.Unix(int64(seconds), 0).UTC(); end.Sub(now) < servingSoon {
			return connection{endsSoon, end.Format(time.RFC3339)}
		}
		return connection{}
	}
	return connection{endUnknown, "the metrics of kubelet-auth-proxy do not have it"}
}
