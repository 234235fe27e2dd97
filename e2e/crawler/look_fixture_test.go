// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// reader reads as the administrator.
type reader struct {
	client *http.Client
	host   string
}

func newReader() reader {
	GinkgoHelper()
	client, host, err := suite.AsAdmin().HTTP()
	Expect(err).NotTo(HaveOccurred())
	return reader{client, host}
}

// read returns the object at a path, or nil if it does not exist.
func (r reader) read(ctx context.Context, path string) (map[string]any, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.host+path, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	request.Header.Set("Accept", plainJSON)
	response, err := r.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, err
	}
	object := map[string]any{}
	return object, json.Unmarshal(body, &object)
}

// discover returns all resources that the API server serves, and marks the groups of aggregated API
// servers.
func (r reader) discover(ctx context.Context) []resource {
	GinkgoHelper()
	groups, lists, err := suite.Client.Discovery().ServerGroupsAndResources()
	Expect(err).NotTo(HaveOccurred())
	services, err := r.read(ctx, "/apis/apiregistration.k8s.io/v1/apiservices")
	Expect(err).NotTo(HaveOccurred())
	remote := map[string]bool{}
	items, _ := services["items"].([]any)
	for _, item := range items {
		service, _ := item.(map[string]any)
		spec, _ := service["spec"].(map[string]any)
		if group, _ := spec["group"].(string); spec["service"] != nil {
			remote[group] = true
		}
	}
	return catalogue(groups, lists, remote)
}

// look returns the current world.
func look(ctx context.Context, r reader, s stage, all []resource) world {
	GinkgoHelper()
	pods, err := suite.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	claims, err := suite.Client.CoreV1().PersistentVolumeClaims("").List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	w := world{
		Own: suite.Worker, Other: suite.ControlPlane, Namespace: s.namespace, Samples: map[schema.GroupResource][]object{},
		Made: s.made(), Tokens: s.tokens(), Logs: logsOf(pods.Items),
	}
	r.sample(ctx, all, &w, belongingsOf(w.Own, w.Other, pods.Items, claims.Items))
	return w
}

// logsOf returns one running container of each node.
func logsOf(pods []corev1.Pod) map[string]string {
	logs := map[string]string{}
	for i := range pods {
		if pod := &pods[i]; pod.Status.Phase == corev1.PodRunning && pod.Annotations["kubernetes.io/config.mirror"] == "" {
			logs[pod.Spec.NodeName] = strings.Join([]string{pod.Namespace, pod.Name, pod.Spec.Containers[0].Name}, "/")
		}
	}
	return logs
}
