// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
)

// sliceTable returns a page of slices. Each slice is given by its node and its pool.
func sliceTable(t *testing.T, next string, slices ...[2]string) string {
	t.Helper()
	table := metav1.Table{
		TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"}, ListMeta: metav1.ListMeta{Continue: next},
		ColumnDefinitions: []metav1.TableColumnDefinition{{Name: "Name"}, {Name: "Node"}, {Name: "Driver"}, {Name: "Pool"}},
	}
	for i, slice := range slices {
		table.Rows = append(table.Rows, metav1.TableRow{Cells: []any{fmt.Sprint("slice-", i), slice[0], "d", slice[1]}})
	}
	return object(t, table)
}

func TestPoolUser(t *testing.T) {
	for name, tc := range map[string]struct {
		slices [][2]string
		want   string
	}{
		"no slices":             {nil, ""},
		"another pool":          {[][2]string{{"other", "q"}}, ""},
		"slices of the node":    {[][2]string{{"me", "p"}, {"me", "p"}}, ""},
		"slices of another":     {[][2]string{{"me", "p"}, {"other", "p"}}, "other"},
		"slices of no one node": {[][2]string{{"other", "q"}, {"", "p"}}, noderestriction.NoNode},
	} {
		w := newWorld(t, answers(sliceTable(t, "", tc.slices...)))
		if got, err := w.PoolUser(context.Background(), "d", "p", "me"); got != tc.want || err != nil {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tc.want)
		}
		const want = "GET /apis/resource.k8s.io/v1/resourceslices?fieldSelector=spec.driver%3Dd&includeObject=None&limit=500"
		if asked := w.api.requests(); len(asked) != 1 || asked[0] != want {
			t.Errorf("%s: asked %q, want %q", name, asked, want)
		}
	}
}

func TestPoolUserOnALaterPage(t *testing.T) {
	w := newWorld(t, &api{answer: func(asked string) string {
		if strings.Contains(asked, "continue=2") {
			return sliceTable(t, "", [2]string{"other", "p"})
		}
		return sliceTable(t, "2", [2]string{"other", "q"})
	}})
	if got, err := w.PoolUser(context.Background(), "d", "p", "me"); got != "other" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestPoolUserIsUnknown checks that a pool whose users are not known is an error and never free.
func TestPoolUserIsUnknown(t *testing.T) {
	endless := make([][2]string, rowsPerPage)
	for name, answer := range map[string]string{
		"forbidden":   "403",
		"no such API": "404",
		"a list":      `{"kind":"ResourceSliceList","apiVersion":"resource.k8s.io/v1","items":[]}`,
		"no JSON":     `{`,
		"no columns":  `{"kind":"Table","columnDefinitions":[{"name":"Name"}],"rows":[]}`,
		"a short row": `{"kind":"Table","columnDefinitions":[{"name":"Node"},{"name":"Pool"}],` +
			`"rows":[{"cells":["other"]}]}`,
		"a number": `{"kind":"Table","columnDefinitions":[{"name":"Node"},{"name":"Pool"}],` +
			`"rows":[{"cells":["other",1]}]}`,
		"too many rows": sliceTable(t, "more", endless...),
		"empty pages":   sliceTable(t, "more"),
	} {
		w := newWorld(t, answers(answer))
		ctx, cancel := context.WithCancel(context.Background())
		if got, err := w.PoolUser(ctx, "d", "p", "me"); err == nil {
			t.Errorf("%s: %q", name, got)
		} else if !strings.HasPrefix(err.Error(), "cannot look up the resourceslices of the pool: ") ||
			errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}
