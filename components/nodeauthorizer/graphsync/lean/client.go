// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package lean

import (
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Client returns a client of the same server with smaller watches. They decode only the used fields
// for objects of this kind, and everything for other objects. The second result is false if full is
// not a *rest.RESTClient, or if no client can be created.
func (k Kind) Client(full rest.Interface) (rest.Interface, bool) {
	client, ok := full.(*rest.RESTClient)
	if !ok || client == nil {
		return nil, false
	}
	version := client.APIVersion()
	address := client.Get().URL()
	base := &url.URL{Scheme: address.Scheme, Host: address.Host}
	lean, err := rest.NewRESTClient(base, address.Path, rest.ClientContentConfig{
		ContentType:        runtime.ContentTypeProtobuf,
		AcceptContentTypes: runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON,
		GroupVersion:       version,
		Negotiator:         negotiator{runtime.NewClientNegotiator(scheme.Codecs.WithoutConversion(), version), k},
	}, client.GetRateLimiter(), client.Client)
	return lean, err == nil
}

// negotiator is the negotiator of a typed client, except for protobuf watches.
type negotiator struct {
	runtime.ClientNegotiator
	kind Kind
}

// StreamDecoder implements runtime.ClientNegotiator.
func (n negotiator) StreamDecoder(contentType string, params map[string]string) (runtime.Decoder, runtime.Serializer,
	runtime.Framer, error) {
	objects, events, framer, err := n.ClientNegotiator.StreamDecoder(contentType, params)
	if err == nil && contentType == runtime.ContentTypeProtobuf {
		events = &eventSerializer{Serializer: events, kind: n.kind}
	}
	return objects, events, framer, err
}

// eventSerializer decodes the events of one watch, one after another.
type eventSerializer struct {
	runtime.Serializer
	kind Kind
	room []byte
}

// Decode implements runtime.Decoder. The decoded event keeps no reference to data.
func (s *eventSerializer) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object,
	*schema.GroupVersionKind, error) {
	if _, isEvent := into.(*metav1.WatchEvent); isEvent {
		lean, _, understood := s.kind.event.keep(s.room[:0], data)
		if s.room = lean; understood {
			data = lean
		}
	}
	return s.Serializer.Decode(data, defaults, into)
}
