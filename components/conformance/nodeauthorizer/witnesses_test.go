// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"fmt"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/nodeauthorizer/generator"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// regressions are examples that failed once. Both subjects must agree on them, or show a known
// difference. [TestAgainstUpstream] and the fuzzer print examples in this form.
var regressions = []example{
	{
		name: "both see a secret through a volume in a namespace of its own",
		steps: []generator.Step{
			generator.Set(
				generator.Pod{
					Namespace: "ns1",
					Name:      "a",
					Node:      "n1",
					Refs:      []generator.Ref{{Via: "volumes.ephemeral", Name: "v"}},
				},
			),
			generator.Set(
				generator.Volume{
					Name:           "a",
					ClaimNamespace: "ns1",
					ClaimName:      "a-v",
					Refs:           []generator.Ref{{Via: "azureFile", Namespace: "ns2", Name: "s"}},
				},
			),
		},
		request: authorizer.AttributesRecord{
			User:            generator.Node("n1"),
			Verb:            "get",
			Namespace:       "ns2",
			Resource:        "secrets",
			Name:            "s",
			ResourceRequest: true,
		},
	},
}

func TestRegressions(t *testing.T) {
	for _, e := range regressions {
		t.Run(e.name, func(t *testing.T) {
			if wrong := e.wrong(); wrong != "" {
				t.Error(wrong)
			}
		})
	}
}

// asks returns the request of node n1 that most witnesses use.
func asks(verb, group, resource, namespace, name string) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{
		User: generator.Node(
			"n1",
		),
		Verb:            verb,
		APIGroup:        group,
		Resource:        resource,
		Namespace:       namespace,
		Name:            name,
		ResourceRequest: true,
	}
}

// witnesses returns examples that show each known difference, in each of its forms.
func witnesses() map[string][]example {
	path := authorizer.AttributesRecord{User: generator.Node("n1"), Verb: "get", Path: "/version"}
	nameless := authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: "system:node:", Groups: []string{user.NodesGroup}},
		Verb: "get",
		Path: "/version",
	}
	bound := generator.Pod{
		Namespace: "ns1",
		Name:      "a",
		UID:       "1",
		Node:      "n1",
		Refs:      []generator.Ref{{Via: "imagePullSecrets", Name: "a"}},
	}
	unbound := generator.Pod{Namespace: "ns1", Name: "a", UID: "2"}
	return map[string][]example{
		"leak": {
			{"an image pull secret", leak("imagePullSecrets"), asks("get", "", "secrets", "ns1", "a")},
			{"a list of one secret", leak("volumes.secret"), asks("list", "", "secrets", "ns1", "a")},
			{"a config map", leak("volumes.configMap"), asks("get", "", "configmaps", "ns1", "a")},
			{
				"a watch of one config map",
				leak("containers.envFrom.configMapRef"),
				asks("watch", "", "configmaps", "ns1", "a"),
			},
			{"a claim", leak("volumes.persistentVolumeClaim"), asks("get", "", "persistentvolumeclaims", "ns1", "a")},
			{
				"a resource claim",
				leak("resourceClaims.resourceClaimName"),
				asks("get", "resource.k8s.io", "resourceclaims", "ns1", "a"),
			},
		},
		"update not looked at": {
			{
				"a pod that lost a reference",
				[]generator.Step{generator.Set(bound), generator.Set(bound.Simpler()[0])},
				asks("get", "", "secrets", "ns1", "a"),
			},
			{
				"a pod that was made again, unbound, while a watch was broken",
				[]generator.Step{
					generator.Set(
						bound,
					),
					generator.Break(graph.Pod),
					generator.Delete(graph.Pod, "ns1", "a"),
					generator.Set(unbound),
					generator.Relist(graph.Pod),
				},
				asks("get", "", "pods", "ns1", "a"),
			},
			{"and is gone again", []generator.Step{
				generator.Set(bound), generator.Set(unbound), generator.Delete(graph.Pod, "ns1", "a"),
			}, asks("get", "", "secrets", "ns1", "a")},
			{
				"a slice that was made again",
				[]generator.Step{
					generator.Set(
						generator.Slice{Name: "a", Node: "n2"},
					),
					generator.Set(generator.Slice{Name: "a", Node: "n1"}),
				},
				asks("delete", "resource.k8s.io", "resourceslices", "", "a"),
			},
			{
				"a certificate request that was made again",
				[]generator.Step{
					generator.Set(
						generator.Certificate{Namespace: "ns1", Name: "a", Node: "n1"},
					),
					generator.Set(generator.Certificate{Namespace: "ns1", Name: "a", Node: "n2"}),
				},
				asks("get", "certificates.k8s.io", "podcertificaterequests", "ns1", "a"),
			},
		},
		"subresource in the resource": {
			{"status of pods", nil, asks("patch", "", "pods/status", "ns1", "a")},
		},
		"audience or signer spelled like a resource": {
			{"secrets", nil, asks("request-serviceaccounts-token-audience", "", "secrets", "ns1", "a")},
		},
		"left open in Strict":      {{"a path", nil, path}},
		"no name denied in Strict": {{"a path", nil, nameless}},
		"no rule denied in Strict": {
			{"daemon sets", nil, asks("list", "apps", "daemonsets", "", "")},
		},
		"refusal denied in Strict": {{"a secret", nil, asks("get", "", "secrets", "ns1", "a")}},
	}
}

// leak returns steps in which enough pods on other nodes name an object. Then one pod on n1 names
// it twice and is deleted. Another pod stays on n1, because upstream forgets a node without pods.
func leak(via string) []generator.Step {
	once := generator.Ref{Via: via, Name: "a"}
	var steps []generator.Step
	for i := range indexThreshold {
		steps = append(
			steps,
			generator.Set(
				generator.Pod{Namespace: "ns1", Name: fmt.Sprint("other-", i), Node: "n2", Refs: []generator.Ref{once}},
			),
		)
	}
	return append(steps,
		generator.Set(generator.Pod{Namespace: "ns1", Name: "stays", Node: "n1"}),
		generator.Set(generator.Pod{Namespace: "ns1", Name: "a", Node: "n1", Refs: []generator.Ref{once, once}}),
		generator.Delete(graph.Pod, "ns1", "a"),
	)
}

func TestEachKnownDifferenceOccurs(t *testing.T) {
	all := witnesses()
	for _, d := range differences {
		if len(all[d.Name]) == 0 {
			t.Errorf("nothing shows %q", d.Name)
		}
		for _, e := range all[d.Name] {
			t.Run(d.Name+"/"+e.name, func(t *testing.T) {
				p, counts := newPair(), harness.Counts{}
				for _, step := range e.steps {
					p.apply(step)
				}
				if wrong := p.compare(&e.request, counts); wrong != "" {
					t.Fatal(wrong)
				}
				if counts[d.Name] != 1 {
					t.Errorf("recognised as %v", counts)
				}
			})
		}
	}
}

// TestLeak shows the most important difference step by step. It also checks the number of consumers
// on the page: with 199 consumers left, upstream and Bulkhead agree.
func TestLeak(t *testing.T) {
	for _, tc := range []struct {
		name     string
		steps    []generator.Step
		upstream authorizer.Decision
	}{
		{"with 200 consumers left upstream still allows", leak("imagePullSecrets"), authorizer.DecisionAllow},
		{"with 199 consumers left upstream forgets", leak("imagePullSecrets")[1:], authorizer.DecisionNoOpinion},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPair()
			for _, step := range tc.steps {
				p.apply(step)
			}
			request := asks("get", "", "secrets", "ns1", "a")
			if got := ask(p.upstream, &request); got.decision != tc.upstream {
				t.Errorf("upstream answers %v", got)
			}
			if got := ask(p.compat, &request); got.decision != authorizer.DecisionNoOpinion {
				t.Errorf("Bulkhead answers %v", got)
			}
		})
	}
}
