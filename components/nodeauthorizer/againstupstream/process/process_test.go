// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

func archiveOf(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(content)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Programs are found in layers, whether these are compressed or not, among
// manifests and other files of the same name.
func TestProgramsAreTakenFromLayers(t *testing.T) {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = w.Write(archiveOf(t, map[string][]byte{"./usr/local/bin/etcd": []byte("an etcd")}))
	_ = w.Close()
	blobs := archiveOf(t, map[string][]byte{
		"sha256/1": []byte(`{"schemaVersion":2}`),
		"sha256/2": archiveOf(t, map[string][]byte{"usr/local/bin/kube-apiserver": []byte("a server"), "etc/etcd": []byte("no program")}),
		"sha256/3": zipped.Bytes(),
	})
	dir := t.TempDir()
	missing, err := takeFromBlobs(bytes.NewReader(blobs), dir, []string{"etcd", "kube-apiserver", "kubelet"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"kubelet"}, missing); diff != "" {
		t.Errorf("missing (-want +got)\n%s", diff)
	}
	for name, want := range map[string]string{"etcd": "an etcd", "kube-apiserver": "a server"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q, error %v", name, got, err)
		}
	}
}

// What is written straight to etcd is what kube-apiserver reads: its prefix, the
// kind, and the whole object, under its key.
func TestObjectsAreStoredAsKubeAPIServerStoresThem(t *testing.T) {
	size := Size{Nodes: 7, Pods: 40, Namespaces: 3}
	s := newStore(nil)
	for _, tc := range []struct {
		resource, key string
		object        object
	}{
		{"minions", "/registry/minions/node-00003", size.node(3)},
		{"pods", "/registry/pods/namespace-001/application-00001-7d9c5b8f6d-0000a", size.pod(10)},
		{"persistentvolumeclaims", "/registry/persistentvolumeclaims/namespace-001/data-00010", size.claim(10)},
		{"persistentvolumes", "/registry/persistentvolumes/" + volumeName(10), size.volume(10)},
		{"volumeattachments", "/registry/volumeattachments/csi-" + string(uidOf(5, 10)), size.attachment(10)},
	} {
		op, err := s.put(tc.resource, tc.object)
		if err != nil {
			t.Fatal(err)
		}
		if key := string(op.KeyBytes()); key != tc.key {
			t.Errorf("key %s, want %s", key, tc.key)
		}
		raw := op.ValueBytes()
		if !bytes.HasPrefix(raw, []byte("k8s\x00")) {
			t.Errorf("%s begins with %q", tc.key, raw[:min(4, len(raw))])
		}
		read, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), raw)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.object, read); diff != "" {
			t.Errorf("%s (-written +read)\n%s", tc.key, diff)
		}
	}
}

// The pod, its claim, the volume and the attachment belong together.
func TestObjectsReferToEachOther(t *testing.T) {
	size := Size{Nodes: 7, Pods: 40, Namespaces: 3}
	pod, claim, volume, attachment := size.pod(10), size.claim(10), size.volume(10), size.attachment(10)
	last := pod.Spec.Volumes[len(pod.Spec.Volumes)-1].PersistentVolumeClaim
	if last == nil || last.ClaimName != claim.Name || pod.Namespace != claim.Namespace {
		t.Errorf("pod %s/%s uses %+v, the claim is %s/%s", pod.Namespace, pod.Name, last, claim.Namespace, claim.Name)
	}
	if volume.Spec.ClaimRef.Name != claim.Name || *attachment.Spec.Source.PersistentVolumeName != volume.Name || attachment.Spec.NodeName != pod.Spec.NodeName {
		t.Errorf("volume %+v, attachment %+v", volume.Spec.ClaimRef, attachment.Spec)
	}
}
