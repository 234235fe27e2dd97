// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
)

const (
	signingPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	client      = noderestriction.ClientSigner
	serving     = noderestriction.ServingSigner
	others      = noderestriction.OtherSigners
)

func signing(user, signer string) string {
	return fmt.Sprintf(`{"spec":{"username":%q,"signerName":%q}}`, user, signer)
}

// counts returns the counts of the node me, for the groups client, serving and others.
func counts(v *Cluster) [3]int {
	return [3]int{
		v.SigningRequests("me", client, 1000, false), v.SigningRequests("me", serving, 1000, false),
		v.SigningRequests("me", others, 1000, false),
	}
}

func TestSigningRequestsAreCountedBySigner(t *testing.T) {
	items := append(many(7, signing("system:node:me", "kubernetes.io/kube-apiserver-client-kubelet"),
		signing("system:node:me", "kubernetes.io/kubelet-serving"),
		signing("system:node:me", "example.com/a"), signing("system:node:me", "example.com/b"),
		signing("system:node:me2", "kubernetes.io/kubelet-serving"),
		signing("me", "kubernetes.io/kubelet-serving"), signing("system:node:", "kubernetes.io/kubelet-serving")),
		many(60, signing("admin", "example.com/a"))...)
	w := newWorld(t, list(signingPath, items...))
	if err := w.countOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := counts(w.Cluster), [3]int{7, 7, 14}; got != want {
		t.Errorf("counted %v, want %v", got, want)
	}
	if got := w.SigningRequests("me", others, 10, false); got != 10 {
		t.Errorf("%d, more than the limit is the limit", got)
	}
	want := []string{"GET " + signingPath + "?limit=25"}
	for _, from := range []string{"25", "50", "75", "100"} {
		want = append(want, "GET "+signingPath+"?continue="+from+"&limit=25")
	}
	if diff := cmp.Diff(want, w.api.requests()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	counts(w.Cluster)
	if asked := w.api.requests(); asked != nil {
		t.Errorf("a question makes the call %v", asked)
	}
}

// If there are more requests than can be read, those that were read count. Admitted requests that
// are not among them count too.
func TestMoreRequestsThanTheCounterLists(t *testing.T) {
	mine := signing("system:node:me", "kubernetes.io/kubelet-serving")
	rest := many(maxTallied, signing("admin", "example.com/a"))
	three, two := list(signingPath, append(many(3, mine), rest...)...),
		list(signingPath, append(many(2, mine), rest...)...)
	w := newWorld(t, three)
	var log strings.Builder
	ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
	for _, tt := range []struct {
		name  string
		list  *api
		admit bool
		want  int
	}{
		{"list includes the admitted request", three, true, 3},
		{"same list again", three, false, 3},
		{"list without the admitted request", three, true, 4},
		{"list without other requests", two, false, 4},
		{"list with all requests again", three, false, 4},
	} {
		w.api.answer = tt.list.answer
		if tt.admit {
			w.SigningRequests("me", serving, 10, true)
		}
		if err := w.countOnce(ctx); err != nil {
			t.Fatal(err)
		}
		if got, want := counts(w.Cluster), [3]int{0, tt.want, 0}; got != want {
			t.Errorf("%s: counted %v, want %v", tt.name, got, want)
		}
		if n := len(w.api.requests()); n != maxTallied/countPage {
			t.Errorf("%s: %d pages were read", tt.name, n)
		}
	}
	if n := strings.Count(log.String(), "There are more certificate signing requests than are counted"); n != 1 {
		t.Errorf("logged %d times: %s", n, &log)
	}
}

func TestCountMetrics(t *testing.T) {
	w := newWorld(t, answers("403"))
	if err := w.countOnce(t.Context()); err == nil || !strings.Contains(err.Error(), "the server says 403") {
		t.Errorf("error %v", err)
	}
	w.wantLookups(t, "bulkhead_lookups_total{kind=\"certificatesigningrequests\",outcome=\"failed\"} 1\n")
	if at, err := testutil.GetGaugeMetricValue(w.metrics.tallied); at != 0 || err != nil {
		t.Errorf("tallied at %v, %v", at, err)
	}
	w.api.answer = list(signingPath).answer
	if err := w.countOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if at, err := testutil.GetGaugeMetricValue(w.metrics.tallied); at < 1e9 || err != nil {
		t.Errorf("tallied at %v, %v", at, err)
	}
}
