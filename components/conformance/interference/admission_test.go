// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package interference_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/noderestriction/generator"
	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	nodescopeadmission "github.com/bulkhead-k8s/bulkhead/components/nodescope/admission"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopeindex"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// policyFile turns on the rules that need a configuration.
const policyFile = `
apiVersion: noderestriction.admission.k8s.io/v1
kind: Configuration
maxTokenSeconds: 4000
caps: {mirrorPods: 2, resourceSlices: 2}
`

// reviewers are NodeRestriction and node scope at admission, in one cluster.
type reviewers struct {
	lookups *lookups
	scoped  *nodescopeadmission.Reviewer
}

func newReviewers(settings *configuration.Configuration, objects []metav1.Object) *reviewers {
	l := newLookups(objects)
	index := scopeindex.New(nil, nil)
	for _, o := range objects {
		if account, is := o.(*corev1.ServiceAccount); is {
			index.SetAccount(account)
		}
	}
	nodes := noderestriction.New(noderestriction.Config{
		Cluster: l, Authorizer: l, Features: noderestriction.DefaultFeatures(),
		Modes:         noderestriction.Modes(rules.Enforce),
		Configuration: func() *configuration.Configuration { return settings },
	})
	return &reviewers{lookups: l, scoped: nodescopeadmission.New(nodescopeadmission.Config{
		Nodes: nodes, HasRules: noderestriction.HasRules, Accounts: index, Pods: l, Custom: custom,
		Unready: func() string { return "" },
	})}
}

func (r *reviewers) answer(w *generator.Write) string {
	a := admission.NewAttributesRecord(w.Object, w.Old, w.Kind(), w.Namespace, w.Name, w.Resource, w.Subresource,
		w.Operation, nil, w.DryRun, w.User)
	var d rules.Decision
	if _, isNode := nodeidentity.NodeName(w.User); isNode {
		d = r.scoped.ReviewNode(context.Background(), a)
	} else {
		d = r.scoped.Review(context.Background(), a)
	}
	status, err := json.Marshal(d.Status)
	return fmt.Sprintf("%s:%s %q status=%s %v findings=%v warnings=%v annotations=%v lookups=%s", d.Effect, d.Rule,
		d.Reason(), status, err, d.Findings, d.Warnings, d.Annotations, r.lookups.take())
}

// TestAdmission asks NodeRestriction and node scope about writes.
func TestAdmission(t *testing.T) {
	settings, err := configuration.Parse([]byte(policyFile))
	if err != nil {
		t.Fatal(err)
	}
	p := policy[metav1.Object, *generator.Write]{
		pair: admissionPair, known: knownAs,
		build: func(objects []metav1.Object) answerer[*generator.Write] {
			return newReviewers(settings, objects).answer
		},
		object: func(o metav1.Object) string { return fmt.Sprintf("%T %s/%s", o, o.GetNamespace(), o.GetName()) },
		asked: func(w *generator.Write) string {
			object, _ := json.Marshal([]any{w.Object, w.Old})
			return fmt.Sprintf("%s %v/%s %s/%s of %s: %s", w.Operation, w.Resource, w.Subresource, w.Namespace, w.Name,
				w.User.GetName(), object)
		},
	}
	p.run(t, func(*testing.T) policy[metav1.Object, *generator.Write] { return p }, []string{"allow:"})
}
