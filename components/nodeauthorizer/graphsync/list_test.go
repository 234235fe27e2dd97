// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/framer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graphsync/lean"
)

// ordinaryPod has the usual size of a pod: five kilobytes.
func ordinaryPod() *corev1.Pod {
	container := corev1.Container{Name: "server", Image: "registry.example.com/team/server:v1.2.3", Env: []corev1.EnvVar{
		{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "credentials"}, Key: "password",
		}}},
	}}
	for i := range 15 {
		container.Env = append(container.Env,
			corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", i), Value: "a value of ordinary length"})
		container.VolumeMounts = append(container.VolumeMounts,
			corev1.VolumeMount{Name: fmt.Sprintf("volume-%d", i), MountPath: "/somewhere"})
	}
	pod := podOn("node-1", nameAt(0))
	pod.UID, pod.ResourceVersion = "2c0c8a4e-5b1d-4f3a-9c2e-000000000000", "1"
	pod.Labels = map[string]string{"app.kubernetes.io/name": "server", "pod-template-hash": "7d9c5b8f6d"}
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet",
		FieldsV1: metav1.NewFieldsV1("{" + strings.Repeat(`"f:field":{},`, 150) + `"f:last":{}}`)}}
	pod.Spec.ServiceAccountName = "server"
	pod.Spec.Containers = []corev1.Container{container, container}
	pod.Status.Phase = corev1.PodRunning
	return pod
}

func nameAt(n int) string { return fmt.Sprintf("pod-%06d", n) }

// frameOf is one event as an API server encodes it.
func frameOf(t *testing.T, event string, object runtime.Object) []byte {
	t.Helper()
	var raw, frame bytes.Buffer
	objects, events := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme),
		protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme)
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		t.Fatal(err)
	}
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	if err := objects.Encode(object, &raw); err != nil {
		t.Fatal(err)
	}
	var whole bytes.Buffer
	if err := events.Encode(&metav1.WatchEvent{Type: event, Object: runtime.RawExtension{Raw: raw.Bytes()}},
		&whole); err != nil {
		t.Fatal(err)
	}
	_, _ = framer.NewLengthDelimitedFrameWriter(&frame).Write(whole.Bytes())
	return frame.Bytes()
}

// serveList is an API server that has this number of pods and nothing else.
func serveList(t *testing.T, pods int) kubernetes.Interface {
	t.Helper()
	end := metav1.ObjectMeta{ResourceVersion: "1",
		Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}
	ends := map[string][]byte{
		Pods:              frameOf(t, "BOOKMARK", &corev1.Pod{ObjectMeta: end}),
		PersistentVolumes: frameOf(t, "BOOKMARK", &corev1.PersistentVolume{ObjectMeta: end}),
		VolumeAttachments: frameOf(t, "BOOKMARK", &storagev1.VolumeAttachment{ObjectMeta: end}),
	}
	pod := frameOf(t, "ADDED", ordinaryPod())
	at := bytes.Index(pod, []byte(nameAt(0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		resource := path.Base(req.URL.Path)
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf;stream=watch")
		if resource == Pods {
			own := bytes.Clone(pod)
			for i := range pods {
				copy(own[at:], nameAt(i))
				_, _ = w.Write(own)
			}
		}
		_, _ = w.Write(ends[resource])
		_ = http.NewResponseController(w).Flush()
		<-req.Context().Done()
	}))
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{
		ContentType: runtime.ContentTypeProtobuf, AcceptContentTypes: runtime.ContentTypeProtobuf,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// fill returns a graph of the server's objects.
func fill(client kubernetes.Interface) *graph.Graph {
	ctx, stop := context.WithCancel(context.Background())
	g := graph.New(graph.Options{})
	s := New(client, g, Options{WithoutResourceSlices: true, WithoutPodCertificateRequests: true, TerminatedPodGrace: -1})
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	for !s.HasSynced() {
		time.Sleep(time.Millisecond)
	}
	stop()
	<-done
	return g
}

// Watches of a real server decode only the used fields, and the graph gets all of them.
func TestListFromAServer(t *testing.T) {
	client := serveList(t, 3)
	if coreOf(client, lean.Pods) == client.CoreV1() {
		t.Error("whole pods are decoded")
	}
	g := fill(client)
	for _, name := range []string{nameAt(0), nameAt(1), nameAt(2)} {
		if !g.Relation("node-1", graph.Pod, "ns", name).Related {
			t.Errorf("%s is not on its node", name)
		}
	}
	for _, name := range []string{"credentials", "secret-of-" + nameAt(0)} {
		if !g.Relation("node-1", graph.Secret, "ns", name).Related {
			t.Errorf("the secret %s is not the node's", name)
		}
		if g.Relation("node-2", graph.Secret, "ns", name).Related {
			t.Errorf("the secret %s is another node's", name)
		}
	}
}
