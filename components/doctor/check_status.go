// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/clusterstatus"
	"github.com/bulkhead-k8s/bulkhead/components/install/preflight"
)

const (
	// manyRestarts in restartWindow are a finding. One restart can be an update of the node.
	manyRestarts  = 3
	restartWindow = 24 * time.Hour
)

// fromStatus converts the findings of `bulkhead status --cluster`.
func fromStatus(found []clusterstatus.Finding) []Finding {
	var all []Finding
	for _, f := range found {
		severity := Soon
		if f.Level == preflight.Fail {
			severity = Urgent
		}
		finding := Finding{Severity: severity, Problem: f.Text, Repair: f.Next}
		if f.Where != "" {
			finding.Names = []string{f.Where}
		}
		all = append(all, finding)
	}
	return all
}

// checkArea has the findings of one area of `bulkhead status --cluster`.
func checkArea(area clusterstatus.Area) func(context.Context, *inputs) ([]Finding, error) {
	return func(_ context.Context, in *inputs) ([]Finding, error) {
		r, err := in.report()
		if err != nil {
			return nil, err
		}
		return fromStatus(r.Problems(area)), nil
	}
}

// checkCertificates reports a host whose certificates are unknown as not checked.
func checkCertificates(_ context.Context, in *inputs) ([]Finding, error) {
	r, err := in.report()
	if err != nil {
		return nil, err
	}
	var found []Finding
	unknown := map[string]bool{}
	for _, h := range r.Hosts {
		if h.CertificatesUnknown != "" {
			unknown[h.Node] = true
			f := notChecked("certificates: " + h.CertificatesUnknown)
			f.Names, f.Repair = []string{h.Node}, "run `bulkhead certs status` on this host"
			found = append(found, f)
		}
	}
	for _, f := range r.Problems(clusterstatus.AreaCertificates) {
		if !unknown[f.Where] {
			found = append(found, fromStatus([]clusterstatus.Finding{f})...)
		}
	}
	if in.Status.Exec == nil {
		f := notChecked("--no-certificates was given")
		f.Severity, f.Repair = Note, "to check them, run `bulkhead doctor` without --no-certificates"
		found = append(found, f)
	}
	return found, nil
}

func checkRestarts(_ context.Context, in *inputs) ([]Finding, error) {
	r, err := in.report()
	if err != nil {
		return nil, err
	}
	var found []Finding
	add := func(node, pod string, restarts clusterstatus.Restarts) {
		if restarts.Count < manyRestarts || restarts.Last.Before(in.Now().Add(-restartWindow)) {
			return
		}
		found = append(found, Finding{Severity: Soon, Names: []string{node},
			Problem: fmt.Sprintf("%s has restarted %d times, last at %s", pod, restarts.Count,
				restarts.Last.UTC().Format(time.RFC3339)),
			Repair: "kubectl -n kube-system logs --previous " + pod + "-" + node})
	}
	for _, h := range r.Hosts {
		if h.APIServer != nil {
			add(h.Node, "kube-apiserver", h.APIServer.Restarts)
		}
		for _, c := range h.Components {
			add(h.Node, "bulkhead-"+c.Name, c.Restarts)
		}
	}
	return found, nil
}

// checkKubelets reports a node whose state is unknown as not checked. Without the DaemonSet, and
// before kube-apiserver verifies kubelets, the user may have chosen it.
func checkKubelets(_ context.Context, in *inputs) ([]Finding, error) {
	r, err := in.report()
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, node := range r.Nodes {
		if node.Guard == clusterstatus.Unknown {
			f := notChecked("the kubelet does not answer, or its Node is not ready")
			f.Names = []string{node.Name}
			f.Repair = "repair the kubelet, or delete the Node if the machine is gone; `bulkhead status --cluster` shows each " +
				"cause"
			found = append(found, f)
		}
	}
	for _, f := range fromStatus(r.Problems(clusterstatus.AreaKubelets)) {
		unknown := len(f.Names) == 1 && slices.ContainsFunc(r.Nodes, func(n clusterstatus.Node) bool {
			return n.Name == f.Names[0] && n.Guard == clusterstatus.Unknown
		})
		if r.Proxy == nil && f.Severity == Soon {
			f.Severity = Note
		}
		if !unknown {
			found = append(found, f)
		}
	}
	return found, nil
}
