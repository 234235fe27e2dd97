// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package scope renders what node scope adds to a control-plane host: the files with the lists of
// scoped accounts, the static pod scope-sync, and API objects.
package scope

import (
	"errors"
	"fmt"

	"github.com/bulkhead-k8s/bulkhead/components/install/staticpod"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

const (
	// SyncName is the name of the program, of its container and of its manifests.
	SyncName = "scope-sync"
	// KubeconfigName is the file with kube-apiserver's credentials for the webhook of node scope.
	KubeconfigName = "node-scope.kubeconfig"
	// Flag is the flag that turns node scope on.
	Flag               = "node-scope"
	customResourceFlag = "node-scope-custom-resources"
)

// Options are the user's settings for node scope, which limits accounts to the nodes of their pods.
// The zero value scopes no account.
type Options struct {
	On bool `json:"on,omitempty"`
	// CustomResources lists the custom resources that name their node, in the format of the
	// components' flag --node-scope-custom-resources.
	CustomResources string `json:"customResources,omitempty"`
}

// Validate returns an error with every invalid setting.
func (s Options) Validate() error {
	var errs []error
	if _, err := nodescope.ParseDeclarations(s.CustomResources); err != nil {
		errs = append(errs, fmt.Errorf("--%s: %w", customResourceFlag, err))
	}
	if s.CustomResources != "" && !s.On {
		errs = append(errs, fmt.Errorf("--%s is given without --%s", customResourceFlag, Flag))
	}
	return errors.Join(errs...)
}

// SetArgs sets the flags of one of Bulkhead's webhooks.
func (s Options) SetArgs(pod *staticpod.Pod) {
	if !s.On {
		return
	}
	pod.SetArg(Flag, "true")
	if s.CustomResources != "" {
		pod.SetArg(customResourceFlag, s.CustomResources)
	}
}
