// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package subjects

import (
	"context"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/pkg/auth/nodeidentifier"
	"k8s.io/kubernetes/plugin/pkg/admission/noderestriction"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// gates are the defaults of Kubernetes, with some changes. A gate that is now locked can still be
// changed, because earlier servers have it.
type gates struct {
	featuregate.FeatureGate
	set map[string]bool
}

func (g gates) Enabled(key featuregate.Feature) bool {
	if on, isSet := g.set[string(key)]; isSet {
		return on
	}
	return g.FeatureGate.Enabled(key)
}

func newUpstream(o *objects, set map[string]bool) (*noderestriction.Plugin, error) {
	plugin := noderestriction.NewPlugin(nodeidentifier.NewDefaultNodeIdentifier())
	plugin.InspectFeatureGates(gates{utilfeature.DefaultFeatureGate, set})
	plugin.SetExternalKubeInformerFactory(o)
	plugin.SetUnconditionalAuthorizer(o)
	return plugin, plugin.ValidateInitialization()
}

// Upstream returns the answer of the in-tree plugin. Like the API server, it does not call the
// plugin for operations that the plugin does not handle.
func (p *Pair) Upstream(ctx context.Context, a admission.Attributes) Answer {
	if !p.plugin.Handles(a.GetOperation()) {
		return Answer{}
	}
	return answerOf(p.plugin.Admit(ctx, a, nil))
}
