// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package filling watches Nodes and gives them what they lack of their row in the machine table.
package filling

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/machinetable"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

// resync is how often all Nodes are compared again: the table may have changed.
const resync = 30 * time.Second

// Config is the configuration of a [Filler]. All fields are required.
type Config struct {
	Client kubernetes.Interface
	// Policy returns the configuration with the machine table. It may return nil.
	Policy   func() *configuration.Configuration
	Registry metrics.KubeRegistry
}

// Filler writes to one Node after another. Several fillers with the same table may run at the same
// time: each writes only what is missing.
type Filler struct {
	config  Config
	nodes   cache.SharedIndexInformer
	factory informers.SharedInformerFactory
	writes  *metrics.CounterVec
}

// New registers the metrics. It makes no request.
func New(config Config) *Filler {
	factory := informers.NewSharedInformerFactoryWithOptions(config.Client, resync, informers.WithTransform(slim))
	f := &Filler{config: config, factory: factory, nodes: factory.Core().V1().Nodes().Informer(),
		writes: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "bulkhead_machine_table_writes_total",
			Help: "Writes to Nodes, by result: good, conflict or bad.",
		}, []string{"result"})}
	config.Registry.MustRegister(f.writes)
	return f
}

// slim keeps only what is compared and what the patch needs. A node decides how large its Node is.
func slim(object any) (any, error) {
	full, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: full.Name, UID: full.UID, ResourceVersion: full.ResourceVersion, Labels: full.Labels,
		},
		Spec: corev1.NodeSpec{Taints: full.Spec.Taints},
	}, nil
}

// Synced returns what is missing until all Nodes are known, or "".
func (f *Filler) Synced() string {
	if f.nodes.HasSynced() {
		return ""
	}
	return "the Nodes are not known yet"
}

// Run works until ctx is done.
func (f *Filler) Run(ctx context.Context) {
	queue := workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, resync))
	add := func(object any) {
		if name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			queue.Add(name)
		}
	}
	if _, err := f.nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: add, UpdateFunc: func(_, now any) { add(now) }, DeleteFunc: add,
	}); err != nil {
		klog.FromContext(ctx).Error(err, "Watching Nodes")
		return
	}
	f.factory.Start(ctx.Done())
	defer f.factory.Shutdown()
	defer context.AfterFunc(ctx, queue.ShutDown)()
	lister := f.factory.Core().V1().Nodes().Lister()
	for f.next(ctx, queue, lister) {
	}
}

func (f *Filler) next(ctx context.Context, queue workqueue.TypedRateLimitingInterface[string],
	lister corelisters.NodeLister) bool {
	name, stopped := queue.Get()
	if stopped {
		return false
	}
	defer queue.Done(name)
	node, err := lister.Get(name)
	if err == nil {
		err = f.fill(ctx, node)
	}
	switch {
	case err == nil || apierrors.IsNotFound(err):
		queue.Forget(name)
	case apierrors.IsConflict(err):
		// The Node has changed since. The watch delivers it soon.
		queue.AddRateLimited(name)
	default:
		klog.FromContext(ctx).Error(err, "Writing what a Node lacks; the next try follows", "node", name)
		queue.AddRateLimited(name)
	}
	return true
}

// fill writes what the Node lacks, and nothing if it lacks nothing.
func (f *Filler) fill(ctx context.Context, node *corev1.Node) error {
	missing := machinetable.Of(f.config.Policy(), node)
	if missing.None() {
		return nil
	}
	patch, err := patchFor(node, missing)
	if err != nil {
		return err
	}
	_, err = f.config.Client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	f.writes.WithLabelValues(resultOf(err)).Inc()
	if err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Filled in a Node", "node", node.Name,
		"labels", slices.Sorted(maps.Keys(missing.Labels)), "taints", missing.Taints != nil)
	return nil
}

// patchFor changes exactly the Node that was read: a Node that was created again has another UID. A merge
// patch replaces all taints. So a patch of taints names the version that was read, and the API server
// rejects it if the Node has changed since.
func patchFor(node *corev1.Node, missing machinetable.Missing) ([]byte, error) {
	metadata := map[string]any{"uid": node.UID}
	if len(missing.Labels) > 0 {
		metadata["labels"] = missing.Labels
	}
	patch := map[string]any{"metadata": metadata}
	if missing.Taints != nil {
		metadata["resourceVersion"] = node.ResourceVersion
		patch["spec"] = map[string]any{"taints": missing.Taints}
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encoding the patch of node %s: %w", node.Name, err)
	}
	return data, nil
}

func resultOf(err error) string {
	switch {
	case err == nil:
		return "good"
	case apierrors.IsConflict(err):
		return "conflict"
	}
	return "bad"
}
