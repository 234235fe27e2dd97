// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/rulebook"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
	"github.com/bulkhead-k8s/bulkhead/components/why"
)

// quickTimeout is how long `bulkhead rules ID` tries to read the mode of the rule.
const quickTimeout = 2 * time.Second

// printQuick prints one rule. If here is nil, it says how to ask for the mode.
func printQuick(out io.Writer, r rules.Rule, here *rulebook.Here) error {
	full := why.Full(r, here)
	if here == nil {
		full.Here = fmt.Sprintf("not known; ask the cluster with `%s rules %s --live`", programName(), r.ID)
	}
	return printRule(out, full)
}

// quickHere tries to read the modes that the cluster of the default kubeconfig has. It returns nil if
// the cluster does not exist or does not answer at once, or if the kubeconfig needs a credential plugin.
func (f *clusterFlags) quickHere(ctx context.Context) *rulebook.Here {
	config, err := f.config(f.loader())
	if err != nil || config.ExecProvider != nil || config.AuthProvider != nil {
		return nil
	}
	config.Timeout = quickTimeout
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, quickTimeout)
	defer cancel()
	here, err := rulebook.ReadHere(ctx, client.CoreV1().ConfigMaps(metav1.NamespaceSystem))
	if err != nil {
		return nil
	}
	return here
}
