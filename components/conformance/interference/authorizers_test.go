// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package interference_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/livelookup"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopeindex"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// object is an object of a cluster, as the node authorizer and node scope see it.
type object struct {
	api metav1.Object
	// lags is true if the watches have not shown the object yet.
	lags bool
	// gone is true if the object was deleted.
	gone bool
}

// widget is an object of a custom resource that names its node.
type widget struct {
	metav1.ObjectMeta
	Node string
}

func (o object) String() string {
	text, _ := json.Marshal(o.api)
	return fmt.Sprintf("%T %s lags=%v gone=%v", o.api, text, o.lags, o.gone)
}

// view passes live reads to the graph. News are objects that the watches have not shown yet.
type view struct {
	graph *graph.Graph
	index *scopeindex.Index
	seen  map[string]bool
}

func (v *view) Watches(string) bool { return true }

func (v *view) Fold(_ string, objects ...runtime.Object) (news int, err error) {
	for _, read := range objects {
		if o, ok := read.(metav1.Object); ok && !v.seen[keyOf(o)] {
			v.set(o)
			news++
		}
	}
	return news, nil
}

func keyOf(o metav1.Object) string { return fmt.Sprintf("%T/%s/%s", o, o.GetNamespace(), o.GetName()) }

func (v *view) set(o metav1.Object) {
	v.seen[keyOf(o)] = true
	switch o := o.(type) {
	case *corev1.Pod:
		v.index.SetPod(o)
		v.graph.SetPod(o)
		if graph.HasEnded(o) {
			v.graph.EndPod(o.Namespace, o.Name, o.UID)
		}
	case *corev1.ServiceAccount:
		v.index.SetAccount(o)
	case *corev1.Node:
		v.graph.SetNode(o)
	case *corev1.PersistentVolume:
		v.graph.SetPersistentVolume(o)
	case *corev1.PersistentVolumeClaim:
		v.graph.SetPersistentVolumeClaim(o)
	case *storagev1.VolumeAttachment:
		v.graph.SetVolumeAttachment(o)
	case *resourcev1.ResourceSlice:
		v.graph.SetResourceSlice(o)
	case *certificatesv1.PodCertificateRequest:
		v.graph.SetPodCertificateRequest(o)
	case *certificatesv1.CertificateSigningRequest:
		v.graph.SetCertificateSigningRequest(o)
	}
}

func (v *view) remove(o metav1.Object) {
	namespace, name := o.GetNamespace(), o.GetName()
	switch o.(type) {
	case *corev1.Pod:
		v.graph.DeletePod(namespace, name)
		v.index.DeletePod(namespace, name)
	case *corev1.ServiceAccount:
		v.index.DeleteAccount(namespace, name)
	case *corev1.Node:
		v.graph.DeleteNode(name)
	case *corev1.PersistentVolume:
		v.graph.DeletePersistentVolume(name)
	case *corev1.PersistentVolumeClaim:
		v.graph.DeletePersistentVolumeClaim(namespace, name)
	case *storagev1.VolumeAttachment:
		v.graph.DeleteVolumeAttachment(name)
	case *resourcev1.ResourceSlice:
		v.graph.DeleteResourceSlice(name)
	case *certificatesv1.PodCertificateRequest:
		v.graph.DeletePodCertificateRequest(namespace, name)
	case *certificatesv1.CertificateSigningRequest:
		v.graph.DeleteCertificateSigningRequest(name)
	}
}

// resourceOf returns the resource of an object that is read live.
func resourceOf(o metav1.Object) schema.GroupVersionResource {
	switch o.(type) {
	case *corev1.Node:
		return corev1.SchemeGroupVersion.WithResource("nodes")
	case *corev1.PersistentVolume:
		return corev1.SchemeGroupVersion.WithResource("persistentvolumes")
	case *corev1.PersistentVolumeClaim:
		return corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	case *storagev1.VolumeAttachment:
		return storagev1.SchemeGroupVersion.WithResource("volumeattachments")
	case *resourcev1.ResourceSlice:
		return resourcev1.SchemeGroupVersion.WithResource("resourceslices")
	case *certificatesv1.PodCertificateRequest:
		return certificatesv1.SchemeGroupVersion.WithResource("podcertificaterequests")
	case *certificatesv1.CertificateSigningRequest:
		return certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests")
	default:
		return corev1.SchemeGroupVersion.WithResource("pods")
	}
}

// BoundPod implements scopeindex.Pods, as in cmd/node-authorizer.
func (v *view) BoundPod(namespace, name string) (nodescope.Pod, bool) {
	pod, known := v.graph.BoundPod(namespace, name)
	return nodescope.Pod{UID: pod.UID, NodeName: pod.Node, RunsAs: pod.RunsAs}, known
}

// widgets answers which node an object of a custom resource belongs to, and records the reads.
type widgets struct {
	nodes map[string]string
	reads []string
}

func (w *widgets) NodeOf(_ context.Context, asks string, _ nodescope.Declaration, version, namespace,
	name string) (string, error) {
	w.reads = append(w.reads, fmt.Sprintf("%s reads %s widget %s/%s", asks, version, namespace, name))
	return w.nodes[namespace+"/"+name], nil
}

// podConfirmer is that of cmd/node-authorizer, without node scope's limit of 400 ms: on a busy machine it
// can pass in one of the two clusters.
type podConfirmer struct{ reader *livelookup.Reader }

func (p podConfirmer) ConfirmPod(ctx context.Context, node, namespace, name, uid string) string {
	return p.reader.RefreshPod(context.WithoutCancel(ctx), node, namespace, name, uid)
}

// limits do not delay any read, and never forget an answer. So the clock changes nothing.
func limits() livelookup.Limits {
	l := livelookup.DefaultLimits()
	l.ListInterval, l.Gets, l.Reads = time.Nanosecond, 1e9, 1e9
	l.QueueTimeout, l.ReadTimeout, l.NegativeCacheTTL = time.Minute, time.Minute, time.Hour
	return l
}

// authorizers are the node authorizer and node scope in one cluster.
type authorizers struct {
	through *transport
	server  *apiServer
	reader  *livelookup.Reader
	widgets *widgets
	node    *nodeauthorizer.Authorizer
	scope   *nodescope.Authorizer
}

func newAuthorizers(through *transport, client kubernetes.Interface, objects []object) *authorizers {
	modes := nodeauthorizer.Modes(rules.Enforce)
	v := &view{graph: graph.New(nodeauthorizer.GraphOptions(modes, false)), seen: map[string]bool{}}
	v.index = scopeindex.New(v, nil)
	z := &authorizers{
		through: through, server: &apiServer{pods: map[string][]*corev1.Pod{}, byPath: map[string]any{}},
		widgets: &widgets{nodes: map[string]string{}},
	}
	for _, o := range objects {
		z.add(v, o)
	}
	z.reader = livelookup.New(livelookup.Config{Client: client, View: v, Limits: limits(),
		Registry: unregistered{}})
	ready := func() string { return "" }
	z.node = nodeauthorizer.New(nodeauthorizer.Config{Mode: nodeauthorizer.Strict, Modes: modes,
		Features: nodeauthorizer.DefaultFeatures(), Relations: v.graph, Refresher: z.reader, Unready: ready})
	z.scope = nodescope.New(nodescope.Config{Node: z.node, Info: v.index, Confirmer: podConfirmer{z.reader},
		Custom: custom, Objects: z.widgets, Unready: ready})
	return z
}

var custom, errCustom = nodescope.ParseDeclarations("widgets.example.com=field:spec.node")

func (z *authorizers) add(v *view, o object) {
	if w, is := o.api.(*widget); is {
		z.widgets.nodes[w.Namespace+"/"+w.Name] = w.Node
		return
	}
	if !o.lags {
		v.set(o.api)
	}
	if o.gone {
		v.remove(o.api)
	} else {
		z.server.add(resourceOf(o.api), o.api)
	}
}

// answer decides one request, by the authorizer for its user.
func (z *authorizers) answer(q authorizer.AttributesRecord) string {
	z.through.to = z.server
	var d rules.Decision
	if _, isNode := nodeidentity.NodeName(q.User); isNode {
		d = z.node.Decide(context.Background(), &q)
	} else {
		d = z.scope.Decide(context.Background(), &q)
	}
	z.reader.Wait()
	text := fmt.Sprintf("%s:%s %q findings=%v annotations=%v calls=%s reads=%v", d.Effect, d.Rule, d.Reason(),
		d.Findings, d.Annotations, z.server.take(), z.widgets.reads)
	z.widgets.reads = nil
	return text
}

// TestAuthorizers asks the node authorizer and node scope, with the graph, the index of scopes and
// the live reads of node-authorizer.
func TestAuthorizers(t *testing.T) {
	if errCustom != nil {
		t.Fatal(errCustom)
	}
	var p policy[object, authorizer.AttributesRecord]
	p.run(t, func(t *testing.T) policy[object, authorizer.AttributesRecord] {
		t.Helper()
		through, client := newClient(t)
		return policy[object, authorizer.AttributesRecord]{
			pair: authorizerPair, object: object.String, asked: askedText,
			build: func(objects []object) answerer[authorizer.AttributesRecord] {
				return newAuthorizers(through, client, objects).answer
			},
		}
	}, []string{
		"allow:NA-SECRET-1", "deny:NA-SECRET-1", "deny:NA-POD-6", "deny:NA-NODE-4", "deny:NA-PVC-3",
		"allow:NA-SLICE-2", "deny:NA-SLICE-2", "allow:NA-PCR-2", "deny:NA-PCR-2", "allow:NA-VA-1", "deny:NA-VA-1",
		"allow:NA-SA-2", "deny:NA-SA-2", "allow:NA-PV-1", "deny:NA-PV-1", "deny:NS-POD-1", "no-opinion:NS-POD-1",
		"deny:NS-CUSTOM-2", "no-opinion:NS-CUSTOM-2", "deny:NS-SCOPE-1", "no-opinion:NS-SCOPE-1", "deny:NS-TOKEN-1",
	})
}

func askedText(q authorizer.AttributesRecord) string {
	q.User = nil
	return fmt.Sprintf("%+v", q)
}
