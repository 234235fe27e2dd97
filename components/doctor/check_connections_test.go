// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
)

// GetKubelet asks an HTTP server in the place of the API server. A nil handler never answers: then the time is
// over as soon as the server has the request.
func (c *testCluster) GetKubelet(ctx context.Context, node, path string) ([]byte, error) {
	handler, broken := c.kubelets[node]
	if !broken {
		return fmt.Appendf(nil, "other{certificate=\"serving\"} 7\n%s%d\n", servingEnd, c.now.Add(8*day).Unix()), nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if handler == nil {
		handler = func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() }
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	client, err := cluster.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		return nil, err
	}
	data, err := client.GetKubelet(ctx, node, path)
	if errors.Is(err, context.Canceled) {
		return nil, fmt.Errorf("the 5 s are over: %w", context.DeadlineExceeded)
	}
	return data, err
}

// reviewRights makes the client answer reviews of the account's own rights. It has all but those in denied.
func (c *testCluster) reviewRights() {
	c.client.PrependReactor("create", "selfsubjectaccessreviews",
		func(action clienttesting.Action) (bool, runtime.Object, error) {
			review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
			right := review.Spec.ResourceAttributes
			review.Status.Allowed = !slices.Contains(c.denied, right.Resource+"/"+right.Subresource)
			return true, review, nil
		})
}

// kubelet answers a path with a text, and every other path as a healthy node does.
func kubelet(path string, code int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/proxy/"+path) {
			_, _ = fmt.Fprintf(w, "%s%d\n", servingEnd, time.Now().Add(8*day).Unix())
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(code)
		_, _ = fmt.Fprint(w, text)
	}
}

// serverStatus answers as the API server itself does.
func serverStatus(err *apierrors.StatusError) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(err.ErrStatus.Code))
		status := err.ErrStatus
		status.APIVersion, status.Kind = "v1", "Status"
		_ = json.NewEncoder(w).Encode(status)
	}
}

func unavailable(cause string) http.HandlerFunc {
	return serverStatus(apierrors.NewServiceUnavailable("error trying to reach service: " + cause))
}

func abort(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// one makes w1 answer so. The account lacks the denied rights.
func one(handler http.HandlerFunc, denied ...string) func(*testCluster) {
	return func(c *testCluster) { c.kubelets, c.denied = map[string]http.HandlerFunc{"w1": handler}, denied }
}

const lacks = "soon|connections|connections|not checked: "

func TestConnections(t *testing.T) {
	notReady := func(c *testCluster) {
		one(unavailable("refused"))(c)
		c.nodes["w1"].Status.Conditions[0].Status = corev1.ConditionFalse
	}
	forbids := serverStatus(apierrors.NewForbidden(corev1.Resource("nodes"), "w1", errors.New("no right")))
	const (
		x509   = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
		prefix = "error trying to reach service: "
		denies = "urgent|connections|w1|the kubelet or kubelet-auth-proxy denies kube-apiserver's request: "
	)
	testRows(t, []row{
		{"connection refused", one(unavailable("dial tcp 192.0.2.1:10250: connect: connection refused")),
			[]string{"urgent|connections|w1|kube-apiserver cannot reach the kubelet: " + prefix + "dial tcp"}},
		{"the Node is not ready", notReady, nil},
		{"certificate of another CA", one(unavailable(x509)),
			[]string{"urgent|connections|w1|kube-apiserver does not accept the kubelet's serving certificate: " +
				prefix + x509}},
		{"proxy without a kubelet", one(kubelet("healthz", 502, "Bad gateway: the kubelet cannot be reached")),
			[]string{`urgent|connections|w1|kube-apiserver cannot reach the kubelet: an error on the server ("Bad gat`}},
		{"kube-apiserver's certificate is not accepted", one(kubelet("healthz", 401, "Unauthorized")),
			[]string{denies + "the server has"}},
		{"account without get on nodes/proxy", one(forbids, "nodes/proxy"), []string{lacks +
			"kube-apiserver's connections to kubelets: the account of the kubeconfig lacks the right get on nodes/proxy"}},
		{"kubelet denies, and the account has the right", one(kubelet("healthz", 403, "Forbidden (user=a)")),
			[]string{denies + "Forbidden (user=a)"}},
		{"/healthz fails", one(kubelet("healthz", 500, "[-]syncloop failed")),
			[]string{"soon|connections|w1|kube-apiserver reaches the kubelet, but its /healthz fails: an error on"}},
		{"no /healthz", one(kubelet("healthz", 404, "")), nil},
		{"no answer", one(nil), []string{"soon|connections|w1|the kubelet has not answered kube-apiserver within 5 s"}},
		{"no answer of any kubelet", func(c *testCluster) {
			c.kubelets = map[string]http.HandlerFunc{}
			for name := range c.nodes {
				c.kubelets[name] = nil
			}
		}, []string{"urgent|connections|cp1,cp2,w1|the kubelet has not answered kube-apiserver within 5 s"}},
		{"too many requests", one(kubelet("healthz", 429, "")),
			[]string{"soon|connections|w1|the kubelet has not answered kube-apiserver within 5 s"}},
		{"API server that ends the connection", one(abort),
			[]string{"soon|connections|w1|not checked: the API server has not answered the request to the kubelet: "}},
	})
}

func TestServingCertificatesOfKubelets(t *testing.T) {
	const unread = "soon|connections|w1|not checked: the end of the kubelet's serving certificate is not known: "
	ends := func(left time.Duration) string { return fmt.Sprintf("%s%d\n", servingEnd, time.Now().Add(left).Unix()) }
	testRows(t, []row{
		{"certificate ends in 6 days", one(kubelet(proxyMetrics, 200, ends(6*day))),
			[]string{"soon|connections|w1|the kubelet's serving certificate ends in less than 7 days: 20"}},
		{"certificate ends in 8 days", one(kubelet(proxyMetrics, 200, ends(8*day))), nil},
		{"metrics without the end", one(kubelet(proxyMetrics, 200, "a 1\n")), []string{unread + "the metrics"}},
		{"end that is not a number", one(kubelet(proxyMetrics, 200, servingEnd+"NaN\n")),
			[]string{unread + "the metric has"}},
		{"metrics that cannot be read", one(kubelet(proxyMetrics, 502, "it is dead")), []string{unread + "an error on"}},
		{"account without get on nodes/metrics", one(kubelet(proxyMetrics, 403, "no"), "nodes/metrics"), []string{lacks +
			"the end of kubelets' serving certificates: the account of the kubeconfig lacks the right get on nodes/metrics"}},
	})
}

// Four broken nodes are one finding with all names, and with three causes.
func TestCausesAreFewShortAndPrintable(t *testing.T) {
	c := newTestCluster(t)
	c.kubelets = map[string]http.HandlerFunc{}
	for i := range 4 {
		name := fmt.Sprintf("x%d", i)
		c.addNode(name)
		c.kubelets[name] = unavailable("\x1b[2J\n" + strings.Repeat("a", 4096))
	}
	r := c.run(t)
	expect(t, r, "urgent|connections|x0,x1,x2,x3|kube-apiserver cannot reach the kubelet: x0: "+
		"error trying to reach service: \uFFFD[2J\uFFFDaaa")
	problem := r.Findings[0].Problem
	if len(problem) > 1100 || !strings.Contains(problem, "…; x2: ") || strings.Contains(problem, "x3") {
		t.Errorf("problem of %d bytes: %q", len(problem), problem)
	}
}

func TestAtMost500KubeletsAreAsked(t *testing.T) {
	c := newTestCluster(t)
	for i := range mostKubelets {
		c.addNode(fmt.Sprintf("n%03d", i))
	}
	c.daemonSet.Status.DesiredNumberScheduled = 503
	c.daemonSet.Status.NumberReady, c.daemonSet.Status.UpdatedNumberScheduled = 503, 503
	expect(t, c.run(t), "note|connections|connections|not checked: 3 more kubelets were not asked")
}

func TestKubeletsAfterTheTimeOfTheCheckAreNotAsked(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := judgeConnection(ctx, nil, "w1", ctx.Err()); got.problem != notAsked {
		t.Errorf("got %+v, want not asked", got)
	}
}

func TestEachConnectionProblemHasAFinding(t *testing.T) {
	for problem := certificateRejected; problem <= notAsked; problem++ {
		if f := connectionProblems[problem]; f.Problem == "" || f.Repair == "" || f.Severity == "" {
			t.Errorf("problem %d: %+v", problem, f)
		}
	}
}
