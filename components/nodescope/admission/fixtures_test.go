// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// cluster has the nodes me and other, and pods by name. All other look-ups of NodeRestriction
// panic. No row needs them.
type cluster struct {
	noderestriction.Cluster
	pods map[string]*corev1.Pod
	// err, if set, is the result of every look-up of a pod.
	err error
}

func (c cluster) Node(_ context.Context, name string) (*corev1.Node, error) {
	if name != "me" && name != "other" {
		return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
	}
	return aNode(name), nil
}

func (c cluster) Pod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	if c.err != nil {
		return nil, c.err
	}
	if pod, known := c.pods[namespace+"/"+name]; known {
		return pod, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
}

func (c cluster) BoundTo(ctx context.Context, namespace, name string, _ types.UID) (string, error) {
	pod, err := c.Pod(ctx, namespace, name)
	if err != nil {
		return "", err
	}
	return pod.Spec.NodeName, nil
}

func (c cluster) LastReported(context.Context, string) (none noderestriction.Reported, err error) {
	return none, nil
}

func (c cluster) LastJoined(context.Context, string) (none time.Time, err error) { return none, nil }

var errAway = errors.New("cannot look up pods: the API server does not answer")

func aCluster() cluster {
	c := cluster{pods: map[string]*corev1.Pod{}}
	for _, pod := range []*corev1.Pod{
		aPod("agent-me", "me"), aPod("agent-other", "other"), aPod("agent-pending", ""), aPod("mine", "me"),
		aPod("theirs", "other"),
		aPod("free-me", "me", func(p *corev1.Pod) { p.Spec.ServiceAccountName = "free" }),
		aPod("marked-me", "me", func(p *corev1.Pod) {
			p.Spec.ServiceAccountName = "free"
			p.Annotations = map[string]string{nodescope.ScopeAnnotation: "nodes"}
		}),
		aPod("mirror-me", "me",
			func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }),
	} {
		c.pods["ns/"+pod.Name] = pod
	}
	return c
}

func aNode(name string, edits ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name + "-uid"),
		Labels: map[string]string{corev1.LabelHostname: name}}}
	for _, edit := range edits {
		edit(node)
	}
	return node
}

// aPod returns a pod of the account agent. Its UID is its name and -uid.
func aPod(name, node string, edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name + "-uid"),
			Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{NodeName: node, ServiceAccountName: "agent"},
	}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

// accounts are accounts by name. All are in the namespace ns.
type accounts map[string]nodescope.Account

func (a accounts) Account(namespace, name string) (nodescope.Account, bool) {
	account, known := a[name]
	return account, known && namespace == "ns"
}

const usualScope = "pods,pods/status,pods/eviction,pods/exec,nodes,nodes/status,events," +
	"leases.coordination.k8s.io,serviceaccounts/token," +
	"widgets.example.com,widgets.example.com/status,widgets.example.com/scale,gadgets.example.com"

const usualCustom = "widgets.example.com=field:spec.node,gadgets.example.com=label:example.com/node"

// world returns a Reviewer with two accounts: "agent" has the scope and the exemptions, "free"
// has none.
func world(tb testing.TB, scope, exemptions string, edits ...func(*Config)) *Reviewer {
	tb.Helper()
	held, _ := nodescope.ParseScope(scope)
	lifted, err := nodescope.ParseExemptions(exemptions)
	custom, err2 := nodescope.ParseDeclarations(usualCustom)
	if err := errors.Join(err, err2); err != nil {
		tb.Fatal(err)
	}
	c := aCluster()
	config := Config{
		Nodes: noderestriction.New(noderestriction.Config{
			Cluster: c, Features: noderestriction.DefaultFeatures(), Modes: noderestriction.Modes(rules.Enforce),
		}),
		HasRules: noderestriction.HasRules,
		Accounts: accounts{"agent": {Scope: held, Exemptions: lifted}, "free": {}},
		Pods:     c, Custom: custom, Unready: func() string { return "" },
	}
	for _, edit := range edits {
		edit(&config)
	}
	return New(config)
}

const (
	podName  = "authentication.kubernetes.io/pod-name"
	podUID   = "authentication.kubernetes.io/pod-uid"
	nodeName = "authentication.kubernetes.io/node-name"
)

// tokenOf is the user of a pod's token.
func tokenOf(account, pod, node string) *user.DefaultInfo {
	return &user.DefaultInfo{
		Name: "system:serviceaccount:ns:" + account, Groups: []string{"system:serviceaccounts", "system:authenticated"},
		Extra: map[string][]string{podName: {pod}, podUID: {pod + "-uid"}, nodeName: {node}},
	}
}

func kubelet(name string) user.Info {
	return &user.DefaultInfo{Name: "system:node:" + name, Groups: []string{"system:nodes", "system:authenticated"}}
}

// kinds are the resources that write accepts.
var kinds = map[string]schema.GroupVersionKind{
	"pods": {Version: "v1", Kind: "Pod"}, "nodes": {Version: "v1", Kind: "Node"},
	"serviceaccounts": {Version: "v1", Kind: "ServiceAccount"},
	"configmaps":      {Version: "v1", Kind: "ConfigMap"}, "bindings": {Version: "v1", Kind: "Binding"},
	"secrets": {Version: "v1", Kind: "Secret"}, "events": {Version: "v1", Kind: "Event"},
	"podcertificaterequests": {Group: "certificates.k8s.io", Version: "v1", Kind: "PodCertificateRequest"},
	"leases":                 {Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
	"widgets":                {Group: "example.com", Version: "v1", Kind: "Widget"},
	"gadgets":                {Group: "example.com", Version: "v2", Kind: "Gadget"},
}

// write is a write of the pod agent-me. The name is that of its objects.
func write(op admission.Operation, at string, object, old runtime.Object) admission.Attributes {
	return by(tokenOf("agent", "agent-me", "me"), op, at, object, old)
}

func by(who user.Info, op admission.Operation, at string, object, old runtime.Object) admission.Attributes {
	resource, subresource, _ := strings.Cut(at, "/")
	kind := kinds[resource]
	var namespace, name string
	for _, o := range []runtime.Object{old, object} {
		if o == nil {
			continue
		}
		if accessor, err := meta.Accessor(o); err == nil {
			namespace, name = accessor.GetNamespace(), accessor.GetName()
		}
	}
	return admission.NewAttributesRecord(object, old, kind, namespace, name, kind.GroupVersion().WithResource(resource),
		subresource, op, nil, false, who)
}

// row is one write and the expected decision.
type row struct {
	name              string
	scope, exemptions string
	write             admission.Attributes
	// by is the rule that denies; empty if the write is admitted.
	by rules.ID
	// says is the whole message.
	says string
}

func (row row) reviewer(tb testing.TB) *Reviewer {
	tb.Helper()
	scope := row.scope
	if scope == "" {
		scope = usualScope
	}
	return world(tb, scope, row.exemptions)
}

func (row row) check(t *testing.T, got rules.Decision) {
	t.Helper()
	var says string
	if !got.Allowed() {
		says = got.Status.Message
	}
	if got.Rule != row.by || says != row.says {
		t.Errorf("got %s %q\nwant %s %q", got.Rule, says, row.by, row.says)
	}
}

func run(t *testing.T, rows []row) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			row.check(t, row.reviewer(t).Review(t.Context(), row.write))
		})
	}
}
