// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesync

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

// listed writes both files with the account in the list.
func (w *world) listed(name string) {
	w.t.Helper()
	for file, template := range map[string]string{"authorization": authorizationFile, "admission": admissionFile} {
		kind := scopelist.Authorization
		if file == "admission" {
			kind = scopelist.Admission
		}
		text, err := scopelist.Replace(kind, []byte(template), []scopelist.Account{{Namespace: "ns", Name: name}})
		if err != nil {
			w.t.Fatal(err)
		}
		w.place(file, string(text))
	}
}

// Before the whole cluster has been seen, the lists do not change.
func TestAnUnreadableClusterChangesNothing(t *testing.T) {
	for _, resource := range []string{"serviceaccounts", "pods"} {
		t.Run(resource, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, account("new", true))
				w.listed("old")
				w.load("authorization", "admission")
				broken := func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no right") }
				w.client.PrependReactor("list", resource, broken)
				w.client.PrependWatchReactor(resource, clienttesting.DefaultWatchReactor(nil, errors.New("no right")))
				stop := w.start()
				settle(100)
				w.expectLists("", "old")
				w.expectProblem("", "has not yet seen the whole cluster, so the lists stay as they are")
				w.expectState("", "old", both)
				w.expectEvents("", "Warning NodeScopeNotKept On cp-1: this process has not yet seen the whole cluster")
				stop()
			})
		})
	}
}

// A write that fails is retried. Until it succeeds, the last valid file stays.
func TestWritesAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, account("agent", true))
		w.load("authorization", "admission")
		w.fail(nil, errors.New("no good"))
		stop := w.start()
		settle(30)
		w.expectLists("refused", "")
		w.expectState("refused", "agent", scopelist.State{})
		w.expectProblem("refused", "the API server would not load it: no good")
		if r := w.record(); !strings.Contains(r.Problem, "no good") {
			t.Errorf("the record says %q", r.Problem)
		}
		w.expectEvents("refused", "Normal NodeScopePending", "Warning NodeScopeNotKept On cp-1: ")
		w.fail(nil, nil)
		settle(40)
		w.expectLists("mended", "agent")
		w.expectProblem("mended", "")
		stop()
	})
}

// A failed write of the record is repeated, even if the next record is the same as the last one that
// was written. So its error does not stay.
func TestRecordIsWrittenAgainAfterADenial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, account("agent", true))
		w.listed("agent")
		w.load("authorization", "admission")
		stop := w.start()
		settle(10)
		var denied atomic.Bool
		denied.Store(true)
		w.client.PrependReactor("patch", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
			return denied.Load(), nil, errors.New("forbidden")
		})
		w.fail(errors.New("connection refused"), nil)
		settle(20)
		w.fail(nil, nil)
		settle(20)
		w.expectProblem("denied", "telling the state of accounts: forbidden")
		denied.Store(false)
		settle(10)
		w.expectProblem("allowed again", "")
		stop()
	})
}

// The installer may replace a file at any time. The list is written again, and the text around
// it is that of the installer.
func TestReplacedListIsWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, account("agent", true))
		stop := w.start()
		settle(2)
		w.load("authorization", "admission")
		settle(20)
		w.expectEvents("at first", "NodeScopePending", "NodeScoped")
		w.place("authorization", "# another template\n"+authorizationFile)
		w.load("authorization")
		settle(20)
		w.expectLists("afterwards", "agent")
		if data, err := os.ReadFile(filepath.Join(w.dir, "authorization")); err != nil ||
			!strings.HasPrefix(string(data), "# another template\n") {
			t.Errorf("%v\n%s", err, data)
		}
		w.expectState("the server has the one without", "agent", scopelist.State{Admission: true})
		w.expectEvents("the server has the one without", "NodeScopePending")
		w.load("authorization")
		settle(20)
		w.expectState("afterwards", "agent", both)
		w.expectEvents("afterwards", "NodeScoped")
		w.place("admission", strings.Replace(admissionFile, "Fail", "Maybe", 1))
		settle(2)
		w.expectProblem("a file of somebody else", `failurePolicy is "Maybe"`)
		stop()
	})
}

// After a restart, scope-sync sends no event again.
func TestRestartSendsNoEventAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, account("agent", true))
		w.listed("agent")
		w.load("authorization", "admission")
		stop := w.start()
		settle(30)
		w.expectState("", "agent", both)
		w.expectEvents("")
		stop()
	})
}

// While the server's metrics cannot be read, no pending account becomes live.
func TestUnreadableMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, account("agent", true))
		w.fail(errors.New("no metrics"), nil)
		stop := w.start()
		settle(2)
		w.load("authorization", "admission")
		settle(2)
		before := w.timesAsked()
		settle(30)
		if asked := w.timesAsked() - before; asked != 15 {
			t.Errorf("asked %d times in a minute, want every four seconds", asked)
		}
		w.expectState("", "agent", scopelist.State{})
		w.expectProblem("", "no metrics")
		w.fail(nil, nil)
		settle(int(awayDelay / interval))
		w.expectState("mended", "agent", both)
		stop()
	})
}

// A server may read the lists late, for example during an installation. scope-sync sees soon
// that the server has read them. After that, it asks less often.
func TestALateServerIsSeenSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, account("agent", true))
		stop := w.start()
		settle(60)
		w.expectState("before", "agent", scopelist.State{})
		w.load("authorization", "admission")
		settle(int(hurriedAskDelay / interval))
		w.expectState("soon after", "agent", both)
		before := w.timesAsked()
		settle(60)
		if asked := w.timesAsked() - before; asked != 4 {
			t.Errorf("asked %d times in two minutes, want once in each half", asked)
		}
		stop()
	})
}

func TestUnreadAnnotationsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sa := account("agent", true)
		sa.Annotations[scopeKey] = "Pods"
		w := newWorld(t, sa)
		w.listed("agent")
		w.load("authorization", "admission")
		stop := w.start()
		settle(20)
		w.expectLists("it counts", "agent")
		w.expectEvents("once",
			`Warning NodeScopeUnread Limited to the node on everything, `+
				`because the annotation cannot be read: bulkhead.dev/node-scoped-resources: "Pods": want a resource`)
		stop()
	})
}

// The record is updated from time to time, to show that scope-sync works, but not in every
// turn.
func TestRecordWritesAreRateLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, account("agent", true))
		w.listed("agent")
		w.load("authorization", "admission")
		stop := w.start()
		settle(5)
		first := w.record().Time
		w.client.ClearActions()
		time.Sleep(time.Minute)
		if n := w.patches(); n > 0 {
			t.Errorf("%d writes in a quiet minute", n)
		}
		time.Sleep(10 * time.Minute)
		if n := w.patches(); n < 1 || n > 3 || !w.record().Time.After(first) {
			t.Errorf("%d writes in ten minutes", n)
		}
		if err := w.client.CoreV1().ConfigMaps(scopelist.RecordsNamespace).Delete(t.Context(), scopelist.RecordsName,
			metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		w.expectProblem("nowhere to write", "there is no ConfigMap kube-system/bulkhead-node-scope")
		stop()
	})
}

func (w *world) patches() int {
	n := 0
	for _, action := range w.client.Actions() {
		if action.GetVerb() == "patch" && action.GetResource().Resource == "configmaps" {
			n++
		}
	}
	return n
}

// One invalid name does not prevent other accounts from being listed.
func TestInvalidAccountNameDoesNotBlockOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, account("agent", true), pod("p", "x'] || true || ['", true))
		stop := w.start()
		settle(2)
		w.expectLists("", "agent")
		w.expectNotice("is no ServiceAccount")
		stop()
	})
}

// expectNotice checks that the record reports a notice, and that the process stays ready.
func (w *world) expectNotice(want string) {
	w.t.Helper()
	w.expectProblem(want, "")
	if r := w.record(); !strings.Contains(r.Problem, want) {
		w.t.Errorf("the record says %q, want %q", r.Problem, want)
	}
}
