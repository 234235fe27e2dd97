// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeauthorizer_test

import (
	"fmt"
	"io"
	"sync"

	certificatesinformers "k8s.io/client-go/informers/certificates/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	resourceinformers "k8s.io/client-go/informers/resource/v1"
	storageinformers "k8s.io/client-go/informers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/auth/nodeidentifier"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/node"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/nodeauthorizer/generator"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// upstream is the in-tree authorizer with its own event handlers. The test delivers the events.
type upstream struct {
	*node.NodeAuthorizer
	handlers map[graph.Kind]cache.ResourceEventHandler
}

// silence suppresses the two klog lines for each new graph.
var silence = sync.OnceFunc(func() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
})

func newUpstream() upstream {
	silence()
	informers := map[graph.Kind]*source{}
	for _, kind := range generator.Kinds() {
		informers[kind] = &source{}
	}
	g := node.NewGraph()
	node.AddGraphEventHandlers(g, nil,
		podSource{source: informers[graph.Pod]},
		volumeSource{source: informers[graph.PersistentVolume]},
		attachmentSource{source: informers[graph.VolumeAttachment]},
		sliceSource{source: informers[graph.ResourceSlice]},
		certificateSource{source: informers[graph.PodCertificateRequest]},
	)
	u := upstream{
		NodeAuthorizer: node.NewAuthorizer(g, nodeidentifier.NewDefaultNodeIdentifier(), bootstrappolicy.NodeRules()),
		handlers:       map[graph.Kind]cache.ResourceEventHandler{},
	}
	for kind, informer := range informers {
		u.handlers[kind] = informer.handler
	}
	return u
}

// tell delivers an event as an informer does. For an object that is missing in a new list, it
// delivers a tombstone.
func (u upstream) tell(event generator.Event, before, after any, relisted bool) {
	handler := u.handlers[event.Key.Kind]
	switch {
	case before == nil:
		handler.OnAdd(after, false)
	case after != nil:
		handler.OnUpdate(before, after)
	case relisted:
		handler.OnDelete(cache.DeletedFinalStateUnknown{Key: fmt.Sprint(event.Key), Obj: before})
	default:
		handler.OnDelete(before)
	}
}

// source is an informer that only records its handler.
type source struct {
	cache.SharedIndexInformer
	handler cache.ResourceEventHandler
}

func (s *source) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	s.handler = handler
	return registration{}, nil
}

// registration always reports that it has synced, because the test delivers all events itself.
type registration struct {
	cache.ResourceEventHandlerRegistration
}

func (registration) HasSynced() bool { return true }

type podSource struct {
	coreinformers.PodInformer
	*source
}

type volumeSource struct {
	coreinformers.PersistentVolumeInformer
	*source
}

type attachmentSource struct {
	storageinformers.VolumeAttachmentInformer
	*source
}

type sliceSource struct {
	resourceinformers.ResourceSliceInformer
	*source
}

type certificateSource struct {
	certificatesinformers.PodCertificateRequestInformer
	*source
}

func (s podSource) Informer() cache.SharedIndexInformer         { return s.source }
func (s volumeSource) Informer() cache.SharedIndexInformer      { return s.source }
func (s attachmentSource) Informer() cache.SharedIndexInformer  { return s.source }
func (s sliceSource) Informer() cache.SharedIndexInformer       { return s.source }
func (s certificateSource) Informer() cache.SharedIndexInformer { return s.source }
