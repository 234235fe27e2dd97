// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	// serverAtKubelets is the user of kube-apiserver at a kubelet, in clusters of kubeadm.
	serverAtKubelets = "kube-apiserver-kubelet-client"
	byKubelet        = "the kubelet: its authorizers, or RBAC, do not allow it"
	runsCommands     = " nodes/proxy can let the user run commands in every pod of the node."
	textOfKubelet    = "The text is the kubelet's, or that of the proxy on its node. A compromised node can name any " +
		"user, right and rule in it. Compare the text with that of another node before you change anything."
)

// kubelet explains the answer of a kubelet or of kubelet-auth-proxy. The node chooses this text, so the
// answer has no command for the user in it.
func (a *Answer) kubelet(message string) {
	found := ofKubelet.FindStringSubmatch(message)
	r := &Request{Verb: found[2], Resource: "nodes", Subresource: found[3]}
	_ = r.As(found[1], Identity{})
	a.Step, a.By, a.Request = Kubelet, byKubelet, r.String()
	ids := slices.DeleteFunc(namedRules(message), func(id rules.ID) bool { return !strings.HasPrefix(string(id), "KA-") })
	if len(ids) > 0 {
		a.By = componentOf(ids[0]) + ": RBAC does not give the right that the rule names"
	}
	a.addRules(ids)
	if instead := r.insteadOfRole(); instead != "" {
		a.Options = append(a.Options, Option{Text: instead})
	} else if r.Verb != "" && r.Subresource != "" && !slices.Contains(ids, kubeletauth.RuleProxy) {
		text := fmt.Sprintf("RBAC: a ClusterRole with verb %s on %s, bound to the user of the client. Take the user from "+
			"the client's credentials, not from this text.", r.Verb, r.ResourceName())
		if r.Subresource == "proxy" {
			text += runsCommands
		}
		a.Options = append(a.Options, Option{Text: text})
	}
	if r.User == serverAtKubelets {
		a.note("User " + serverAtKubelets + " is kube-apiserver itself, in kubectl exec, attach, port-forward and logs. " +
			"`bulkhead install` gives it these rights with ClusterRole bulkhead:" + serverAtKubelets + ".")
	}
	a.note(textOfKubelet)
	for _, id := range ids {
		a.Options = append(a.Options, optionsOf(id, nil, message)...)
	}
}
