// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Paths of the webhooks.
const (
	AuthorizePath = "/authorize"
	AdmitPath     = "/review"
)

// newClient returns a webhook client with kube-apiserver's settings: client-go, JSON, no rate
// limit. Source: k8s.io/apiserver/pkg/util/webhook NewGenericWebhook, without its retries.
func newClient(
	address, path string,
	files Files,
	add func(*runtime.Scheme) error,
	version schema.GroupVersion,
) (*rest.RESTClient, error) {
	scheme := runtime.NewScheme()
	if err := add(scheme); err != nil {
		return nil, err
	}
	codec := serializer.NewCodecFactory(scheme).LegacyCodec(version)
	client, err := rest.UnversionedRESTClientFor(&rest.Config{
		Host: "https://" + address + path,
		QPS:  -1,
		TLSClientConfig: rest.TLSClientConfig{
			CAFile:   files.CA.CertFile,
			CertFile: files.Client.CertFile,
			KeyFile:  files.Client.KeyFile,
		},
		ContentConfig: rest.ContentConfig{NegotiatedSerializer: serializer.NegotiatedSerializerWrapper(
			runtime.SerializerInfo{Serializer: codec})},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot make a client of %s: %w", address, err)
	}
	return client, nil
}

// SecretCaller returns a function that reviews whether a node may get a secret. The answer must be
// allow.
func SecretCaller(
	address string,
	files Files,
) (func(ctx context.Context, node, namespace, secret string) error, error) {
	client, err := newClient(
		address,
		AuthorizePath,
		files,
		authorizationv1.AddToScheme,
		authorizationv1.SchemeGroupVersion,
	)
	return func(ctx context.Context, node, namespace, secret string) error {
		asked := authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:node:" + node, Groups: []string{"system:nodes", "system:authenticated"},
			Extra: map[string]authorizationv1.ExtraValue{"authentication.kubernetes.io/credential-id": {
				"X509SHA256=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}},
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: "get", Version: "v1", Resource: "secrets", Name: secret,
			},
		}}
		var answer authorizationv1.SubjectAccessReview
		if err := client.Post().Body(&asked).Do(ctx).Into(&answer); err != nil {
			return err
		}
		if !answer.Status.Allowed {
			return fmt.Errorf("%s may not get secret %s/%s: %s", node, namespace, secret, answer.Status.Reason)
		}
		return nil
	}, err
}

// PodStatusCaller returns a function that reviews whether a node may set the status of a pod on it
// to a final phase. The answer must be allow.
func PodStatusCaller(address string, files Files, pod *corev1.Pod) (func(ctx context.Context) error, error) {
	client, err := newClient(address, AdmitPath, files, admissionv1.AddToScheme, admissionv1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	ended := pod.DeepCopy()
	ended.Status.Phase = corev1.PodSucceeded
	object, err := json.Marshal(ended)
	if err != nil {
		return nil, err
	}
	old, err := json.Marshal(pod)
	kind, resource := metav1.GroupVersionKind{
		Version: "v1",
		Kind:    "Pod",
	}, metav1.GroupVersionResource{
		Version:  "v1",
		Resource: "pods",
	}
	request := &admissionv1.AdmissionRequest{
		UID:                types.UID("8f2f2d7e-5d6b-4c59-9c2b-0c4e1a7c5f11"),
		Kind:               kind,
		Resource:           resource,
		SubResource:        "status",
		RequestKind:        &kind,
		RequestResource:    &resource,
		RequestSubResource: "status",
		Name:               pod.Name,
		Namespace:          pod.Namespace,
		Operation:          admissionv1.Update,
		UserInfo: authenticationv1.UserInfo{
			Username: "system:node:" + pod.Spec.NodeName, Groups: []string{"system:nodes", "system:authenticated"},
		},
		Object:    runtime.RawExtension{Raw: object},
		OldObject: runtime.RawExtension{Raw: old},
	}
	return func(ctx context.Context) error {
		// Encoding writes the kind into the encoded object, so concurrent calls must not share a
		// review.
		asked, answer := admissionv1.AdmissionReview{Request: request}, admissionv1.AdmissionReview{}
		err := client.Post().Body(&asked).Do(ctx).Into(&answer)
		if err == nil && (answer.Response == nil || !answer.Response.Allowed) {
			err = fmt.Errorf("the pod's status was not admitted: %v", answer.Response)
		}
		return err
	}, err
}
