// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

const machineTable = `apiVersion: noderestriction.admission.k8s.io/v1
kind: Configuration
machines:
- {name: "n*", labels: {pool: pii, zone: a}}
- {name: bare}
`

func nodeLabelled(name string, labels map[string]string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u", Labels: labels}}
}

func TestNodeLabelsApply(t *testing.T) {
	for _, row := range []struct {
		name   string
		nodes  []string
		dryRun bool
		// says is the printed text, and wrong the error.
		says, wrong string
		// n1 are the final labels of that node. patches is the number of patches.
		n1      map[string]string
		patches int
	}{
		{"all", nil, false, "n1: pool=pii (was \"web\")\nn1: zone=a\nn2: pool=pii\nn2: zone=a\n", "",
			map[string]string{"own": "x", "pool": "pii", "zone": "a"}, 2},
		{"one", []string{"n1"}, false, "n1: pool=pii (was \"web\")\nn1: zone=a\n", "",
			map[string]string{"own": "x", "pool": "pii", "zone": "a"}, 1},
		{"one that is right", []string{"n3"}, false, "all labels are as the machine table has them\n", "",
			map[string]string{"own": "x", "pool": "web"}, 0},
		{"one without labels in the table", []string{"bare", "other"}, false,
			"all labels are as the machine table has them\n", "", map[string]string{"own": "x", "pool": "web"}, 0},
		{"one that is not there, and one that is", []string{"none", "n1"}, false, "n1: pool=pii (was \"web\")\nn1: zone=a\n",
			`nodes "none" not found`, map[string]string{"own": "x", "pool": "pii", "zone": "a"}, 1},
		{"a dry run", nil, true, "n1: pool=pii (was \"web\")\nn1: zone=a\nn2: pool=pii\nn2: zone=a\n", "",
			map[string]string{"own": "x", "pool": "web"}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "policy.yaml")
			if err := os.WriteFile(file, []byte(machineTable), 0o600); err != nil {
				t.Fatal(err)
			}
			policy, err := readPolicy(file)
			if err != nil {
				t.Fatal(err)
			}
			client := fake.NewClientset(nodeLabelled("n1", map[string]string{"own": "x", "pool": "web"}),
				nodeLabelled("n2", nil),
				nodeLabelled("n3", map[string]string{"pool": "pii", "zone": "a"}), nodeLabelled("bare", nil),
				nodeLabelled("other", nil))
			var out bytes.Buffer
			err = labelling{client, policy, &out, row.dryRun}.apply(context.Background(), row.nodes)
			if out.String() != row.says || (err != nil) != (row.wrong != "") || err != nil && err.Error() != row.wrong {
				t.Errorf("printed %q, error %v; want %q, %q", out.String(), err, row.says, row.wrong)
			}
			n1, err := client.CoreV1().Nodes().Get(context.Background(), "n1", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.n1, n1.Labels); diff != "" {
				t.Error(diff)
			}
			patches := 0
			for _, action := range client.Actions() {
				if patch, is := action.(clienttesting.PatchAction); is {
					patches++
					if !strings.Contains(string(patch.GetPatch()), `"uid":"u"`) {
						t.Errorf("a patch of whatever Node has the name: %s", patch.GetPatch())
					}
				}
			}
			if patches != row.patches {
				t.Errorf("%d patches, want %d", patches, row.patches)
			}
		})
	}
}

func TestNodeLabelsNeedAPolicy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if _, err := readPolicy(file); err == nil || !strings.Contains(err.Error(), "--config") {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(file, []byte(machineTable+"x: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readPolicy(file); err == nil || !strings.Contains(err.Error(), `line 6: unknown field "x"`) {
		t.Errorf("a bad file: %v", err)
	}
}
