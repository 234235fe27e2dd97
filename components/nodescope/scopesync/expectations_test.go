// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesync

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

func (w *world) expectLists(when, want string) {
	w.t.Helper()
	for name, kind := range map[string]*scopelist.Kind{"authorization": scopelist.Authorization,
		"admission": scopelist.Admission} {
		data, err := os.ReadFile(filepath.Join(w.dir, name))
		if err != nil {
			w.t.Fatal(err)
		}
		accounts, err := scopelist.Read(kind, data)
		if err != nil {
			w.t.Fatal(err)
		}
		if got := spell(accounts); got != want {
			w.t.Errorf("%s: %s lists %q, want %q", when, name, got, want)
		}
	}
}

func spell(accounts []scopelist.Account) string {
	var names []string
	for _, account := range accounts {
		names = append(names, account.Name)
	}
	return strings.Join(names, " ")
}

func (w *world) expectState(when, name string, want scopelist.State) {
	w.t.Helper()
	r := w.record()
	if got, known := r.Accounts[scopelist.Account{Namespace: "ns", Name: name}]; !known || got != want {
		w.t.Errorf("%s: %s is %+v, %v; want %+v", when, name, got, known, want)
	}
}

func (w *world) record() scopelist.Record {
	w.t.Helper()
	there, err := w.client.CoreV1().ConfigMaps(scopelist.RecordsNamespace).Get(w.t.Context(), scopelist.RecordsName,
		metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := scopelist.DecodeRecord(there.Data["cp-1"])
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// expectEvents compares the pending events with want, in any order.
func (w *world) expectEvents(when string, want ...string) {
	w.t.Helper()
	var got []string
	for len(w.events.Events) > 0 {
		got = append(got, <-w.events.Events)
	}
	slices.Sort(got)
	if len(got) != len(want) {
		w.t.Errorf("%s: got events %q, want %q", when, got, want)
		return
	}
	for i, text := range want {
		if !strings.Contains(got[i], text) {
			w.t.Errorf("%s: got event %q, want %q", when, got[i], text)
		}
	}
}

func (w *world) expectProblem(when, want string) {
	w.t.Helper()
	err := CheckHeartbeat(w.syncer.Heartbeat, time.Since(time.Time{}), true)
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		w.t.Errorf("%s: the heartbeat says %v, want %q", when, err, want)
	}
}
