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
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

const (
	kubeletConfigCheck = "configuration of kubelets"
	// mostKubelets limits the kubelets that the checks ask. The nodes of a pool have the same configuration.
	mostKubelets = 500
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
	// StreamingConnectionIdleTimeout is 0 for no limit.
	StreamingConnectionIdleTimeout *metav1.Duration
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
	answers := cluster.EachKubelet(names, func(name string) configAnswer { return readKubelet(ctx, in, name) })
	for i, answer := range answers {
		if answer.err == nil {
			found.configs[names[i]] = answer.config
			continue
		}
		found.unread.add(names[i])
		found.cause = cmp.Or(found.cause, answer.err)
	}
	return found, ctx.Err()
}

// configAnswer is what one kubelet has answered.
type configAnswer struct {
	config kubeletConfig
	err    error
}

func readKubelet(ctx context.Context, in Input, node string) configAnswer {
	data, err := in.Configz(ctx, node)
	if err != nil {
		return configAnswer{err: err}
	}
	var running struct{ KubeletConfig kubeletConfig }
	if err := json.Unmarshal(data, &running); err != nil {
		return configAnswer{err: fmt.Errorf("reading its /configz: %w", err)}
	}
	return configAnswer{running.KubeletConfig, validTaints(running.KubeletConfig.RegisterWithTaints)}
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
	streams := idleStreams{proxy: in.StreamIdleTimeout}
	err = eachNode(ctx, in, corev1.LabelOSStable+"!=windows", func(node *corev1.Node) {
		config, read := in.kubelets.configs[node.Name]
		if !read || !selector.Matches(labels.Set(node.Labels)) {
			return
		}
		streams.add(node.Name, config)
		if config.guarded() {
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
	findings = append(findings, streams.findings()...)
	return append(findings, in.kubelets.notRead(len(findings) == 0)...), err
}

// idleStreams are the kubelets that keep an idle stream longer than kubelet-auth-proxy does. A kubelet
// behind its proxy counts too: the proxy ends its streams now.
type idleStreams struct {
	proxy   time.Duration
	nodes   examples
	longest time.Duration
}

// mostIdle is the setting for a kubelet without a limit: the proxy has no such setting.
const mostIdle = 365 * 24 * time.Hour

func (s *idleStreams) add(node string, config kubeletConfig) {
	if config.StreamingConnectionIdleTimeout == nil {
		return
	}
	idle := config.StreamingConnectionIdleTimeout.Duration
	if idle <= 0 {
		idle = mostIdle
	}
	if idle > s.proxy {
		s.nodes.add(node)
		s.longest = max(s.longest, idle)
	}
}

func (s *idleStreams) findings() []Finding {
	if s.nodes.count == 0 {
		return nil
	}
	return []Finding{{Warn, kubeletConfigCheck, fmt.Sprintf("%s: streamingConnectionIdleTimeout is longer than that of "+
		"kubelet-auth-proxy. The proxy ends exec, attach, port forwarding and logs after %v without data, also in mode "+
		"audit. To keep them longer: `kubeletAPI: {streamingConnectionIdleTimeout: %v}`", &s.nodes, s.proxy, s.longest)}}
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
