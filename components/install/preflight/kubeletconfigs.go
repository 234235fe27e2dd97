// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

const (
	kubeletConfigCheck = "configuration of kubelets"
	// mostKubelets limits the kubelets that the checks ask. The nodes of a pool have the same configuration.
	mostKubelets = 500
	// kubeletsAtOnce limits the requests at one time.
	kubeletsAtOnce = 16
	// mostTaints is more than any kubelet has. mostCause bounds the text of an error, in bytes.
	mostTaints = 100
	mostCause  = 512
)

// kubeletConfig is the part of a kubelet's running configuration that the checks need. It includes the
// kubelet's flags (pkg/kubelet/server/server.go, /configz).
type kubeletConfig struct {
	Address        string
	ReadOnlyPort   int32
	Authentication struct {
		Anonymous struct{ Enabled bool }
	}
	Authorization      struct{ Mode string }
	RegisterWithTaints []corev1.Taint
}

// guarded reports whether the kubelet listens on loopback, so kubelet-auth-proxy answers its clients.
func (k kubeletConfig) guarded() bool {
	address := net.ParseIP(k.Address)
	return address != nil && address.IsLoopback()
}

// kubelets are the configurations of the kubelets of all ready Nodes.
type kubelets struct {
	configs map[string]kubeletConfig
	// unread are the nodes whose kubelets did not answer, and cause is the error of the first. beyond is
	// the number of ready Nodes that were not asked.
	unread examples
	cause  error
	beyond int
}

// readKubelets asks the kubelets through the API server. Without [Input.Configz] it asks none.
func readKubelets(ctx context.Context, in Input) (kubelets, error) {
	found := kubelets{configs: map[string]kubeletConfig{}}
	if in.Configz == nil {
		return found, nil
	}
	var names []string
	err := eachNode(ctx, in, "", func(node *corev1.Node) {
		switch {
		case !nodeReady(node):
		case len(names) == mostKubelets:
			found.beyond++
		default:
			names = append(names, node.Name)
		}
	})
	if err != nil {
		return found, err
	}
	configs, errs := make([]kubeletConfig, len(names)), make([]error, len(names))
	var group errgroup.Group
	group.SetLimit(kubeletsAtOnce)
	for i, name := range names {
		group.Go(func() error {
			configs[i], errs[i] = readKubelet(ctx, in, name)
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	for i, name := range names {
		if errs[i] == nil {
			found.configs[name] = configs[i]
			continue
		}
		found.unread.add(name)
		found.cause = cmp.Or(found.cause, errs[i])
	}
	return found, ctx.Err()
}

func readKubelet(ctx context.Context, in Input, node string) (kubeletConfig, error) {
	data, err := in.Configz(ctx, node)
	if err != nil {
		return kubeletConfig{}, err
	}
	var running struct{ KubeletConfig kubeletConfig }
	if err := json.Unmarshal(data, &running); err != nil {
		return kubeletConfig{}, fmt.Errorf("reading its /configz: %w", err)
	}
	return running.KubeletConfig, validTaints(running.KubeletConfig.RegisterWithTaints)
}

// validTaints checks what a compromised node could write to the user's terminal. The API server would
// reject such taints.
func validTaints(taints []corev1.Taint) error {
	if len(taints) > mostTaints {
		return fmt.Errorf("its registerWithTaints has %d taints", len(taints))
	}
	for _, taint := range taints {
		if len(validation.IsQualifiedName(taint.Key)) > 0 {
			return fmt.Errorf("its registerWithTaints has an invalid key, %q", taint.Key)
		}
	}
	return nil
}

func nodeReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// The remedies for clients that lose access when a kubelet gets its proxy, also in mode audit.
const (
	readOnlyRemedy = "the read-only port is open. `bulkhead node install` closes it to clients on other machines, also " +
		"in mode audit. Let its clients use port 10250 with a credential, and set `readOnlyPort: 0` in the " +
		"KubeletConfiguration"
	anonymousRemedy = "requests without a credential are accepted. kubelet-auth-proxy answers them with 401, also in " +
		"mode audit. Give their clients a credential, and set `authentication: {anonymous: {enabled: false}}` in the " +
		"KubeletConfiguration"
	alwaysAllowRemedy = "every user may do everything. kubelet-auth-proxy asks kube-apiserver, so users without a right " +
		"by RBAC get 403, also in mode audit. Grant the rights, and set `authorization: {mode: Webhook}` in the " +
		"KubeletConfiguration"
)

// kubeletConfigFindings names the kubelets that answer clients now which kubelet-auth-proxy would not.
func kubeletConfigFindings(ctx context.Context, in Input) ([]Finding, error) {
	if !in.GuardsKubelets || in.Configz == nil {
		return nil, nil
	}
	selector, err := labels.Parse(in.NodeSelector)
	if err != nil {
		selector = labels.Everything() // leftOutFindings reports the error
	}
	var readOnly, anonymous, always examples
	err = eachNode(ctx, in, corev1.LabelOSStable+"!=windows", func(node *corev1.Node) {
		config, read := in.kubelets.configs[node.Name]
		if !read || config.guarded() || !selector.Matches(labels.Set(node.Labels)) {
			return
		}
		if config.ReadOnlyPort != 0 {
			readOnly.add(node.Name)
		}
		if config.Authentication.Anonymous.Enabled {
			anonymous.add(node.Name)
		}
		if config.Authorization.Mode == "AlwaysAllow" {
			always.add(node.Name)
		}
	})
	var findings []Finding
	for _, lost := range []struct {
		nodes  *examples
		remedy string
	}{{&readOnly, readOnlyRemedy}, {&anonymous, anonymousRemedy}, {&always, alwaysAllowRemedy}} {
		if lost.nodes.count > 0 {
			findings = append(findings, Finding{Fail, kubeletConfigCheck, lost.nodes.String() + ": " + lost.remedy})
		}
	}
	return append(findings, in.kubelets.notRead(len(findings) == 0)...), err
}

// notRead names the kubelets that the check does not know. all says that those it knows need no action.
func (k kubelets) notRead(all bool) []Finding {
	var findings []Finding
	if k.unread.count > 0 {
		findings = append(findings, Finding{Warn, kubeletConfigCheck, fmt.Sprintf("%s: cannot be read: %s. Check "+
			"readOnlyPort, authentication.anonymous, authorization.mode and registerWithTaints there", &k.unread,
			webhook.Printable(k.cause.Error(), mostCause))})
	}
	if k.beyond > 0 {
		findings = append(findings, Finding{Warn, kubeletConfigCheck, fmt.Sprintf(
			"%d more kubelets were not asked: the check reads at most %d", k.beyond, mostKubelets)})
	}
	if all && len(findings) == 0 {
		return []Finding{{OK, kubeletConfigCheck, fmt.Sprintf(
			"no client of the %d kubelets loses access by kubelet-auth-proxy itself", len(k.configs))}}
	}
	return findings
}
