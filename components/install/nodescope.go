// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"errors"
	"fmt"

	"github.com/bulkhead-k8s/bulkhead/components/install/staticpod"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

const (
	// scopeSyncName is that of the program, of its container and of its manifests.
	scopeSyncName      = "scope-sync"
	scopeKubeconfig    = "node-scope.kubeconfig"
	nodeScopeFlag      = "node-scope"
	customResourceFlag = "node-scope-custom-resources"
)

// NodeScope is what a person has decided about accounts whose pods are held to their
// nodes. The zero value is to hold none.
type NodeScope struct {
	On bool `json:"on,omitempty"`
	// CustomResources are those that name their node, as the components' flag
	// --node-scope-custom-resources says it.
	CustomResources string `json:"customResources,omitempty"`
}

// Validate reports every problem.
func (s NodeScope) Validate() error {
	var errs []error
	if _, err := nodescope.ParseDeclarations(s.CustomResources); err != nil {
		errs = append(errs, fmt.Errorf("--%s: %w", customResourceFlag, err))
	}
	if s.CustomResources != "" && !s.On {
		errs = append(errs, fmt.Errorf("--%s is given without --%s", customResourceFlag, nodeScopeFlag))
	}
	return errors.Join(errs...)
}

// setArgs gives a webhook of ours its flags.
func (s NodeScope) setArgs(pod *staticpod.Pod) {
	if !s.On {
		return
	}
	pod.SetArg(nodeScopeFlag, "true")
	if s.CustomResources != "" {
		pod.SetArg(customResourceFlag, s.CustomResources)
	}
}
