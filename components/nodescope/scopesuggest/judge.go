// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesuggest

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// judge decides requests as if the account had a scope of everything.
type judge struct {
	config  nodescope.Config
	account scopelist.Account
}

// refusal returns why the request would be denied. It is empty if the decision would be no
// opinion, and RBAC would decide.
func (j judge) refusal(ctx context.Context, a *authorizer.AttributesRecord) string {
	config := j.config
	config.Info = witness{j.account, a.User}
	d := nodescope.New(config).Decide(ctx, a)
	if d.Effect == rules.NoOpinion {
		return ""
	}
	return d.Reason()
}

// witness trusts what a token says about its pod. The API server accepted the token at that
// time, and many of the pods do not exist any more.
type witness struct {
	account scopelist.Account
	who     user.Info
}

func (w witness) Account(namespace, name string) (nodescope.Account, bool) {
	known := namespace == w.account.Namespace && name == w.account.Name
	return nodescope.Account{Scope: nodescope.Everything(), OfPods: nodescope.Everything()}, known
}

func (w witness) Pod(_, _ string) (nodescope.Pod, bool) {
	return nodescope.Pod{
		UID: types.UID(w.says(serviceaccount.PodUIDKey)), NodeName: w.says(serviceaccount.NodeNameKey),
		RunsAs: w.account.Name,
	}, true
}

func (w witness) says(key string) string {
	if values := w.who.GetExtra()[key]; len(values) == 1 {
		return values[0]
	}
	return ""
}

// stranger returns a request by a pod of the account on the node, for an object that belongs to
// no known node.
func (j judge) stranger(node, verb, namespace string, r nodescope.Resource) *authorizer.AttributesRecord {
	a := &authorizer.AttributesRecord{
		User: &user.DefaultInfo{
			Name: serviceaccount.MakeUsername(j.account.Namespace, j.account.Name),
			Extra: map[string][]string{
				serviceaccount.PodNameKey: {"pod"}, serviceaccount.PodUIDKey: {"uid"}, serviceaccount.NodeNameKey: {node},
			},
		},
		Verb: verb, Namespace: namespace, APIGroup: r.Group, APIVersion: "v1", Resource: r.Resource,
		Subresource: r.Subresource, ResourceRequest: true,
	}
	if verb != "list" && verb != "watch" && verb != "create" && verb != "deletecollection" {
		a.Name = "somebody-elses"
	}
	return a
}
