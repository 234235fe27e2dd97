// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/nodehistory"
)

func remembering() kubernetes.Interface {
	there := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: corev1.NodeSpec{
		Taints: []corev1.Taint{{Key: "compromised", Value: "yes", Effect: corev1.TaintEffectNoSchedule}},
	}}
	return fake.NewClientset(there, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: nodehistory.Namespace, Name: nodehistory.Name},
		Data: map[string]string{
			"n1": `{"uid":"1","version":"5","taints":["compromised=yes:NoSchedule"],"absent":["dedicated=pii:NoExecute"]}`,
			"n2": `{"uid":"1","version":"5","taints":["compromised:NoExecute"]}`,
			"n3": `spoilt`,
		},
	})
}

func TestTaintsList(t *testing.T) {
	for _, row := range []struct {
		name   string
		client kubernetes.Interface
		want   string
	}{
		{"some", remembering(), `NODE  TAINT                       NOTE
n1    compromised=yes:NoSchedule  
n1    dedicated=pii:NoExecute     the Node was registered without it
n2    compromised:NoExecute       
n3    ?                           the record cannot be read: clear it
`},
		{"none", fake.NewClientset(), "no taints are stored\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := listTaints(context.Background(), &out, row.client); err != nil || out.String() != row.want {
				t.Errorf("%v\n%s\nwant\n%s", err, out.String(), row.want)
			}
		})
	}
}

func TestTaintsClear(t *testing.T) {
	for _, row := range []struct{ name, node, key, want string }{
		{"of a Node that has one of them", "n1", "", "removed: compromised=yes:NoSchedule\n" +
			"  Node n1 still has it, so node-restriction will store it again. To remove it: kubectl taint node n1 " +
			"compromised:NoSchedule-\n" +
			"removed: dedicated=pii:NoExecute\n"},
		{"one key", "n1", "dedicated", "removed: dedicated=pii:NoExecute\n"},
		{"of a Node that is gone", "n2", "compromised", "removed: compromised:NoExecute\n"},
		{"a key that is not there", "n2", "dedicated", "no such taint is stored\n"},
		{"node without recorded taints", "n4", "", "no such taint is stored\n"},
		{"unreadable record", "n3", "", "no such taint is stored\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := clearTaints(context.Background(), &out, remembering(), row.node, row.key); err != nil ||
				out.String() != row.want {
				t.Errorf("%v\n%s\nwant\n%s", err, out.String(), row.want)
			}
		})
	}
}
