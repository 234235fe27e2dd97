// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package auditreport

import (
	"context"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// withoutLookup are the rules that decide on a new Node or mirror pod from the object alone. Other
// rules look up objects of the cluster, which a log does not have. NR-POD-2 looks up only the UID of
// the Node, see [noCluster.Node].
var withoutLookup = map[rules.ID]bool{
	"NR-NODE-1": true, "NR-NODE-2": true, "NR-NODE-3": true, "NR-NODE-7": true,
	"NR-LABEL-1": true, "NR-TAINT-1": true, "NR-ANNOTATION-1": true, "NR-NODESPEC-1": true, "NR-ADDRESS-1": true,
	"NR-MACHINE-1": true, "NR-MACHINE-2": true, "NR-MACHINE-3": true,
	"NR-POD-1": true, "NR-POD-2": true, "NR-POD-3": true, "NR-POD-11": true, "NR-POD-12": true,
	"NR-MIRROR-3": true, "NR-MIRROR-4": true, "NR-MIRROR-5": true,
}

// nodeWrites checks new Nodes and mirror pods with the rules of node-restriction.
type nodeWrites struct {
	policy *configuration.Configuration
	config noderestriction.Config
}

func newNodeWrites(policy *configuration.Configuration) *nodeWrites {
	return &nodeWrites{policy: policy, config: noderestriction.Config{
		Features: noderestriction.DefaultFeatures(), Modes: noderestriction.Modes(rules.Enforce), AuditOnly: true,
		Configuration: func() *configuration.Configuration { return policy },
	}}
}

// byObject returns the findings for the object of a request. If node-restriction has checked the
// request, its own annotation counts.
func (l *AuditLog) byObject(ctx context.Context, event *auditv1.Event, base Finding) []Finding {
	ref := event.ObjectRef
	if event.Verb != "create" || ref == nil || ref.APIGroup != "" || ref.APIVersion != "v1" || ref.Subresource != "" {
		return nil
	}
	if _, isNode := nodeidentity.NodeName(effectiveUser(event)); !isNode {
		return nil
	}
	object, uid := l.object(event)
	if object == nil || isReviewed(event) {
		return nil
	}
	a := attributesOf(event, object)
	config := l.nodes.config
	config.Cluster = noCluster{uid: uid}
	d := noderestriction.New(config).Review(ctx, a).AsFinding(rules.Allow)
	var findings []Finding
	for _, found := range d.Findings {
		if !withoutLookup[found.Rule] || l.nodes.isStickyTaint(found, object) {
			continue
		}
		f := base
		f.Rule, f.Reason, f.Name = found.Rule, found.Message, a.GetName()
		findings = append(findings, f)
	}
	return findings
}

// object returns the Node or the pod in the request. uid is the UID of the Node that a pod names. It
// returns nil if the event has no such object.
func (l *AuditLog) object(event *auditv1.Event) (object runtime.Object, uid string) {
	switch event.ObjectRef.Resource {
	case "nodes":
		l.stats.NodeCreates++
		node := &corev1.Node{}
		if !decode(event, node) {
			return nil, ""
		}
		l.stats.NodeObjects++
		return node, ""
	case "pods":
		pod := &corev1.Pod{}
		if !decode(event, pod) {
			return nil, ""
		}
		l.stats.MirrorPods++
		if len(pod.OwnerReferences) > 0 {
			uid = string(pod.OwnerReferences[0].UID)
		}
		return pod, uid
	}
	return nil, ""
}

func decode(event *auditv1.Event, into any) bool {
	raw := event.RequestObject
	return raw != nil && len(raw.Raw) > 0 && json.Unmarshal(raw.Raw, into) == nil
}

func isReviewed(event *auditv1.Event) bool {
	for key := range event.Annotations {
		if strings.HasPrefix(key, "node-restriction.bulkhead.dev/") {
			return true
		}
	}
	return false
}

// attributesOf returns the write as the webhook would see it.
func attributesOf(event *auditv1.Event, object runtime.Object) admission.Attributes {
	ref := event.ObjectRef
	kind, name := "Node", ref.Name
	switch o := object.(type) {
	case *corev1.Node:
		name = o.Name
	case *corev1.Pod:
		kind, name = "Pod", o.Name
	}
	return admission.NewAttributesRecord(object, nil, schema.GroupVersionKind{Version: "v1", Kind: kind}, ref.Namespace,
		name, schema.GroupVersionResource{Version: "v1", Resource: ref.Resource}, "", admission.Create,
		&metav1.CreateOptions{}, false, effectiveUser(event))
}

// isStickyTaint reports whether the taints may be recorded ones, with which a node may register.
func (w *nodeWrites) isStickyTaint(found rules.Finding, object runtime.Object) bool {
	node, ok := object.(*corev1.Node)
	if found.Rule != "NR-TAINT-1" || !ok {
		return false
	}
	for _, key := range noderestriction.TaintsDenied(w.policy, node.Name, node.Spec.Taints) {
		if !w.policy.StickyTaints.Has(key) {
			return false
		}
	}
	return true
}
