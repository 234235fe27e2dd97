// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import (
	"io"
	"slices"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// LogSource is the component whose log is read. A finding that the component cannot have is ignored:
// its node may be compromised. The zero value accepts nothing.
type LogSource struct {
	any      bool
	prefixes []string
	// proxy is true for kubelet-auth-proxy. node is the node of its pod.
	proxy bool
	node  string
}

// The webhooks on the control-plane hosts, which see the requests of all nodes.
var (
	NodeAuthorizerLog  = LogSource{prefixes: []string{"NA-", "NS-"}}
	NodeRestrictionLog = LogSource{prefixes: []string{"NR-", "NS-"}}
)

// anyLog is a file that the administrator has chosen.
var anyLog = LogSource{any: true}

// ProxyLog is kubelet-auth-proxy on a node. The node can write into this log what it wants, so the log
// is trusted only about the API of its own kubelet.
func ProxyLog(node string) LogSource {
	return LogSource{prefixes: []string{"KA-"}, proxy: true, node: node}
}

// notByProxy are rules of other components. Their settings allow more than requests to a kubelet that
// passed the proxy.
var notByProxy = []rules.ID{kubeletauth.RuleLoopback, kubeletauth.RuleVAP, kubeletauth.RuleCSR}

// ReadLogOf reads the log of one component. It ignores all lines that are not findings of it.
func (r *Report) ReadLogOf(source LogSource, in io.Reader) (LineStats, error) {
	return eachLine(in, maxLogLine, func(line []byte) bool {
		findings := source.findings(line)
		for _, f := range findings {
			r.Add(f)
		}
		return len(findings) > 0
	})
}

// findings returns the findings of a line that the component can have.
func (s LogSource) findings(line []byte) []Finding {
	if s.any {
		return logFindings(line)
	}
	if !s.proxy {
		return slices.DeleteFunc(logFindings(line), func(f Finding) bool { return !s.has(f.Rule) })
	}
	parsed, ok := jsonLine(line)
	if !ok || parsed.Node != "" && parsed.Node != s.node {
		return nil
	}
	parsed.Node = s.node
	return slices.DeleteFunc(parsed.proxyFindings(), func(f Finding) bool {
		return !s.has(f.Rule) || slices.Contains(notByProxy, f.Rule)
	})
}

func (s LogSource) has(rule rules.ID) bool {
	return slices.ContainsFunc(s.prefixes, func(prefix string) bool { return strings.HasPrefix(string(rule), prefix) })
}
