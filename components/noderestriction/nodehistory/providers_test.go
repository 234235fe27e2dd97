// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodehistory

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestProviderKey(t *testing.T) {
	for name, row := range map[string]struct {
		a, b string
		same bool
	}{
		"AWS, without a zone":      {"aws:///eu-1a/i-0123", "aws:////i-0123", true},
		"AWS, another zone":        {"aws:///eu-1a/i-0123", "aws:///eu-1b/i-0123", true},
		"AWS, the instance alone":  {"aws:///eu-1a/i-0123", "i-0123", true},
		"AWS, a slash at the end":  {"aws:///eu-1a/i-0123", "aws:///eu-1a/i-0123/", true},
		"AWS, another instance":    {"aws:///eu-1a/i-0123", "aws:///eu-1a/i-0124", false},
		"Azure, other letter case": {"azure:///subscriptions/A/vm", "azure:///subscriptions/a/VM", true},
		"GCE, another zone":        {"gce://project/zone-a/vm", "gce://project/zone-b/vm", false},
	} {
		if got := providerKey(row.a) == providerKey(row.b); got != row.same {
			t.Errorf("%s: %q and %q have the same key: %v", name, row.a, row.b, got)
		}
	}
}

func TestProviders(t *testing.T) {
	all := newNodes()
	none := func(corev1.Taint) bool { return false }
	set := func(name, id string) {
		full := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: id}}
		thin, err := slim(full)
		if err != nil {
			t.Fatal(err)
		}
		all.set(thin.(*corev1.Node), none)
	}
	set("a", "x")
	set("b", "x")
	set("c", "")
	if len(all.providers["x"]) != 2 || len(all.providers) != 1 {
		t.Errorf("%v", all.providers)
	}
	set("b", "y")
	set("b", "y")
	if len(all.providers["x"]) != 1 || len(all.providers["y"]) != 1 {
		t.Errorf("after a change: %v", all.providers)
	}
	all.remove("a")
	all.remove("b")
	if len(all.providers) != 0 {
		t.Errorf("after the Nodes are gone: %v", all.providers)
	}
}
