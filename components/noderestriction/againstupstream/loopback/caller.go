// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/againstupstream/loopback"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/againstupstream/bench"
)

var errNotAdmitted = errors.New("not admitted")

// answer admits what was asked about.
func answer(w http.ResponseWriter, review *admissionv1.AdmissionReview) {
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: review.TypeMeta, Response: &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true},
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

// newCaller calls a webhook as kube-apiserver does: with client-go, in JSON, without
// a bound on the rate. Source: k8s.io/apiserver/pkg/util/webhook/client.go HookClient.
func newCaller(address string, files loopback.Files) (func(context.Context, int) error, error) {
	scheme := runtime.NewScheme()
	if err := admissionv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	codec := serializer.NewCodecFactory(scheme).LegacyCodec(admissionv1.SchemeGroupVersion)
	client, err := rest.UnversionedRESTClientFor(&rest.Config{
		Host: "https://" + address + path, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: files.CA.CertFile, CertFile: files.Client.CertFile, KeyFile: files.Client.KeyFile},
		ContentConfig:   rest.ContentConfig{NegotiatedSerializer: serializer.NegotiatedSerializerWrapper(runtime.SerializerInfo{Serializer: codec})},
	})
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	review, err := podStatusReview()
	return func(ctx context.Context, _ int) error {
		// Encoding writes the kind into what it encodes, so no two calls may share it.
		asked, answer := *review, admissionv1.AdmissionReview{}
		err := client.Post().Body(&asked).Do(ctx).Into(&answer)
		if err == nil && (answer.Response == nil || !answer.Response.Allowed) {
			return fmt.Errorf("%w: %v", errNotAdmitted, answer.Response)
		}
		return err
	}, err
}

// podStatusReview asks whether a node may say that its pod has ended.
func podStatusReview() (*admissionv1.AdmissionReview, error) {
	pod, old := bench.EndedPod()
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	old.TypeMeta = pod.TypeMeta
	object, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	oldObject, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	kind, resource := metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}, metav1.GroupVersionResource{Version: "v1", Resource: "pods"}
	return &admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
		UID:  types.UID("8f2f2d7e-5d6b-4c59-9c2b-0c4e1a7c5f11"),
		Kind: kind, Resource: resource, SubResource: "status", RequestKind: &kind, RequestResource: &resource, RequestSubResource: "status",
		Name: pod.Name, Namespace: pod.Namespace, Operation: admissionv1.Update,
		UserInfo: authenticationv1.UserInfo{Username: bench.Me.GetName(), Groups: bench.Me.GetGroups()},
		Object:   runtime.RawExtension{Raw: object}, OldObject: runtime.RawExtension{Raw: oldObject},
	}}, nil
}
