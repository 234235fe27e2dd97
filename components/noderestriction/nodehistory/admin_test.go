// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodehistory

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func aStored() *fake.Clientset {
	return fake.NewClientset(
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Name}, Data: map[string]string{
			"b":      record{uid: "1", version: "7", taints: taints(bad), absent: taints(pii)}.encode(),
			"a":      record{uid: "1", version: "7", taints: taints("compromised:NoExecute " + bad)}.encode(),
			"spoilt": "[]",
		}})
}

func TestList(t *testing.T) {
	got, err := List(context.Background(), aStored())
	want := []Entry{
		{Node: "a", Taints: taints("compromised:NoExecute " + bad)},
		{Node: "b", Taints: taints(bad + " " + pii), Absent: taints(pii)},
		{Node: "spoilt", Unreadable: true},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if got, err := List(context.Background(), fake.NewClientset()); got != nil || err != nil {
		t.Errorf("of nothing: %v, %v", got, err)
	}
}

func TestClear(t *testing.T) {
	for _, row := range []struct {
		name, node, key string
		forgotten       string
		// left is the stored record of the node after the call.
		left, wrong string
	}{
		{"all of a node", "b", "", bad + " " + pii, "", ""},
		{"one key", "b", "dedicated", pii, bad, ""},
		{"another key", "b", "compromised", bad, pii, ""},
		{"a key with several effects", "a", "compromised", "compromised:NoExecute " + bad, "", ""},
		{"a key that is not there", "b", "other", "", bad + " " + pii, ""},
		{"a node that is not there", "c", "", "", "", ""},
		{"unreadable record", "spoilt", "", "", "", ""},
		{"one key of an unreadable record", "spoilt", "x", "", "?", "it can only be cleared as a whole"},
	} {
		t.Run(row.name, func(t *testing.T) {
			client := aStored()
			got, err := Clear(context.Background(), client, row.node, row.key)
			if (err != nil) != (row.wrong != "") || err != nil && !strings.Contains(err.Error(), row.wrong) {
				t.Fatalf("error %v, want %q", err, row.wrong)
			}
			if text := strings.Join(spell(got), " "); text != row.forgotten {
				t.Errorf("forgotten %q, want %q", text, row.forgotten)
			}
			there, err := client.CoreV1().ConfigMaps(Namespace).Get(context.Background(), Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			text, known := there.Data[row.node]
			r := decode(text)
			left := strings.Join(spell(append(r.taints, r.absent...)), " ")
			if r.unreadable && known {
				left = "?"
			}
			if known != (row.left != "") || left != row.left {
				t.Errorf("left is %q (%s), want %q", left, text, row.left)
			}
			if others := len(there.Data); others < 2 {
				t.Errorf("%d nodes are left of three", others)
			}
		})
	}
}
