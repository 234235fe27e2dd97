// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bulkhead-k8s/bulkhead/components/install/apiserver"
	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
)

func TestServer(t *testing.T) {
	testRows(t, []row{
		{"too old", func(c *testCluster) { c.version = "v1.33.9" },
			[]string{"urgent|version||kube-apiserver v1.33.9 is older"}},
		{"newer", func(c *testCluster) { c.version = "v1.38.0" }, []string{"soon|version||kube-apiserver v1.38.0 is newer"}},
		{"not tested", func(c *testCluster) { c.version = "v1.36.0" }, []string{"note|version||kube-apiserver is v1.36.0"}},
		{"tested, another patch", func(c *testCluster) { c.version = "v1.37.9+k3s1" }, nil},
		{"no version", func(c *testCluster) { c.version = "devel" },
			[]string{"soon|version|version|not checked: cannot read the version"}},
		{"images differ", func(c *testCluster) { c.pods["kube-apiserver-cp2"].Spec.Containers[0].Image = server + "1" },
			[]string{"note|version||API servers have different images: " + server + " on cp1; "}},
		{"the in-tree authorizer decides", func(c *testCluster) { c.decision.Reason = "no relationship found" },
			[]string{`urgent|authorizer||node-authorizer does not decide: the API server answers "no relationship found"`}},
		{"node-authorizer abstains", func(c *testCluster) { c.decision.Reason = "no view [NA-UNREADY]" },
			[]string{"urgent|authorizer||node-authorizer is not ready"}},
		{"writes without the webhook", func(c *testCluster) { c.process.Skipped = "3" },
			[]string{"soon|webhook||kube-apiserver has admitted 3 writes"}},
		{"no such writes", func(c *testCluster) { c.process.Skipped = "0" }, nil},
		{"another authorization file", file("ff"),
			[]string{"urgent|webhook||kube-apiserver uses another authorization file"}},
		{"the file of the installer", file("aa"), nil},
		{"old tokens", func(c *testCluster) { c.metrics = "serviceaccount_stale_tokens_total 12\n" },
			[]string{"note|tokens||12 requests"}},
		{"no metric", func(c *testCluster) { c.metrics = "other 1\n" },
			[]string{"soon|tokens|tokens|not checked: cannot read the metric"}},
	})
}

func file(inForce string) func(*testCluster) {
	return func(c *testCluster) {
		for _, node := range []string{"cp1", "cp2"} {
			c.pods["kube-apiserver-"+node].Annotations[apiserver.HashAnnotation] = "aa"
		}
		c.process.AuthorizationHash = inForce
	}
}

func TestRegistrationInTheAPI(t *testing.T) {
	register := func(field, value string) func(*testCluster) {
		return func(c *testCluster) {
			c.process.AdmissionHash = ""
			object := registration(t)
			if field != "" {
				webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
				webhooks[0].(map[string]any)[field] = value
				_ = unstructured.SetNestedSlice(object.Object, webhooks, "webhooks")
			}
			c.objects[keyOf(object)] = object
		}
	}
	testRows(t, []row{
		{"as installed", register("", ""), nil},
		{"failure policy Ignore", register("failurePolicy", "Ignore"),
			[]string{"note|webhook||node-restriction is registered with failure policy Ignore"}},
		{"another scope", register("matchPolicy", "Exact"), []string{"urgent|webhook||ValidatingWebhookConfiguration"}},
		{"another scope, installed by another version", func(c *testCluster) {
			register("matchPolicy", "Exact")(c)
			for _, h := range c.entries {
				h.Version = "v0"
			}
		}, []string{"soon|webhook|objects,webhook|not checked: this program is version v1, but host cp1 has v0"}},
		{"not registered", func(c *testCluster) { c.process.AdmissionHash = "" },
			[]string{"urgent|webhook||node-restriction is not registered"}},
	})
}

func registration(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	object, err := controlplane.RegistrationInAPI(controlplane.Hardened, []byte("CA"))
	if err != nil {
		t.Fatal(err)
	}
	return object
}
