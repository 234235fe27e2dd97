// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package interference_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// apiServer answers the live reads of one cluster and records them.
type apiServer struct {
	pods   map[string][]*corev1.Pod
	byPath map[string]any

	mu    sync.Mutex
	calls []string
}

// transport sends the calls of a clientset to the cluster that is asked at the moment.
type transport struct{ to *apiServer }

func newClient(t *testing.T) (*transport, kubernetes.Interface) {
	t.Helper()
	through := &transport{}
	client, err := kubernetes.NewForConfigAndClient(&rest.Config{Host: "https://test.invalid", QPS: -1,
		ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, &http.Client{Transport: through})
	if err != nil {
		t.Fatal(err)
	}
	return through, client
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	code, object := t.to.answer(req)
	body, err := json.Marshal(object)
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body))}, err
}

func (s *apiServer) answer(req *http.Request) (code int, object any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, req.Method+" "+req.URL.RequestURI())
	if selector := req.URL.Query().Get("fieldSelector"); selector != "" {
		list := &corev1.PodList{}
		for _, pod := range s.pods[strings.TrimPrefix(selector, "spec.nodeName=")] {
			list.Items = append(list.Items, *pod)
		}
		return http.StatusOK, list
	}
	if object := s.byPath[req.URL.Path]; object != nil {
		return http.StatusOK, object
	}
	status := apierrors.NewNotFound(schema.GroupResource{}, "x").Status()
	return http.StatusNotFound, &status
}

// take returns the calls since the last take. Calls of one request are in no order.
func (s *apiServer) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := slices.Sorted(slices.Values(s.calls))
	s.calls = s.calls[:0]
	return fmt.Sprint(calls)
}

func (s *apiServer) add(resource schema.GroupVersionResource, object metav1.Object) {
	if pod, is := object.(*corev1.Pod); is {
		s.pods[pod.Spec.NodeName] = append(s.pods[pod.Spec.NodeName], pod)
	}
	path := "/apis/" + resource.Group
	if resource.Group == "" {
		path = "/api"
	}
	path += "/" + resource.Version + "/"
	if namespace := object.GetNamespace(); namespace != "" {
		path += "namespaces/" + namespace + "/"
	}
	s.byPath[path+resource.Resource+"/"+object.GetName()] = object
}
