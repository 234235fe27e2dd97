// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesync

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graphsync"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopeindex"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope/scopelist"
)

const (
	scopeKey = "bulkhead.dev/node-scoped-resources"

	authorizationFile = `apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
  - type: Webhook
    name: node-scope.bulkhead.dev
    webhook:
      failurePolicy: Deny
      matchConditions:
        - expression: ` + scopelist.AuthorizationExpression + "\n"

	admissionFile = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
webhooks:
  - name: node-scope.bulkhead.dev
    failurePolicy: Fail
    sideEffects: None
    timeoutSeconds: 2
    matchConditions:
      - expression: ` + scopelist.AdmissionExpression + "\n"
)

// world is a cluster with one host and its two files.
type world struct {
	t      *testing.T
	dir    string
	client *fake.Clientset
	pods   *metadatafake.FakeMetadataClient
	events *record.FakeRecorder
	syncer *Syncer

	mu sync.Mutex
	// server has, by file name, the hash of the file that the API server has loaded.
	server map[string]string
	// down is the error of a request for metrics, and refuse is the error of the validator.
	down, refuse error
	// seen are the answers of the two components, and away are their errors.
	seen [2]SeenVersions
	away [2]error
	// asked is the number of requests for metrics.
	asked int
}

func newWorld(t *testing.T, objects ...runtime.Object) *world {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, dir: t.TempDir(), pods: metadatafake.NewSimpleMetadataClient(scheme), events: record.NewFakeRecorder(10000),
		server: map[string]string{},
		client: fake.NewClientset(
			append(objects, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: scopelist.RecordsNamespace,
				Name: scopelist.RecordsName}})...),
	}
	w.place("authorization", authorizationFile)
	w.place("admission", admissionFile)
	w.syncer = New(Config{
		Client: w.client, Metadata: w.pods, Events: w.events, NodeName: "cp-1", Heartbeat: filepath.Join(w.dir, "heartbeat"),
		Authorization: w.file("authorization", scopelist.Authorization), Admission: w.file("admission", scopelist.Admission),
		Seen: [2]Decider{{"node-authorizer", w.sees(0)}, {"node-restriction", w.sees(1)}},
		Watch: func(index *scopeindex.Annotations) View {
			return graphsync.NewAnnotated(w.client, index, index, graphsync.Options{})
		},
		Loaded: func(context.Context) (LoadedFiles, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.asked++
			return LoadedFiles{Authorization: LoadedFile{Hash: w.server["authorization"]},
				Admission: LoadedFile{Hash: w.server["admission"]}}, w.down
		},
	})
	return w
}

func (w *world) file(name string, kind *scopelist.Kind) *ListFile {
	validate := func([]byte) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.refuse
	}
	return NewListFile(ListFileConfig{Path: filepath.Join(w.dir, name), Kind: kind, Validate: validate})
}

// fail sets the errors of the API server's metrics and of the validator.
func (w *world) fail(down, refuse error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down, w.refuse = down, refuse
}

// sees returns the function that asks a component.
func (w *world) sees(i int) func(context.Context) (SeenVersions, error) {
	return func(context.Context) (SeenVersions, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.seen[i], w.away[i]
	}
}

// see sets the version that a component has seen, or the error of its answer.
func (w *world) see(i int, version string, away error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[i], w.away[i] = SeenVersions{"serviceaccounts": version, "pods": version}, away
}

func (w *world) timesAsked() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked
}

func (w *world) place(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// load makes the server load the files.
func (w *world) load(names ...string) {
	w.t.Helper()
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(w.dir, name))
		if err != nil {
			w.t.Fatal(err)
		}
		w.mu.Lock()
		w.server[name] = fmt.Sprintf("sha256:%x", sha256.Sum256(data))
		w.mu.Unlock()
	}
}

// start runs the syncer until stop is called.
func (w *world) start() (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.syncer.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// settle waits for some turns.
func settle(turns int) {
	synctest.Wait()
	time.Sleep(time.Duration(turns) * interval)
	synctest.Wait()
}

func meta(name string, annotated bool) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("u-" + name)}
	if annotated {
		m.Annotations = map[string]string{scopeKey: "pods"}
	}
	return m
}

func account(name string, annotated bool) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: meta(name, annotated)}
}

func pod(name, runsAs string, annotated bool) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: meta(name, annotated), Spec: corev1.PodSpec{ServiceAccountName: runsAs}}
}

var both = scopelist.State{Authorization: true, Admission: true}

// live sets the result of reads without a cache. Watches do not show these objects.
func (w *world) live(sa *corev1.ServiceAccount, pod *corev1.Pod, broken string) {
	fails := func(resource string) error {
		if resource == broken {
			return errors.New("broken")
		}
		return nil
	}
	if sa != nil || broken == "serviceaccounts" {
		w.client.PrependReactor("get", "serviceaccounts", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, sa, fails("serviceaccounts")
		})
	}
	w.pods.PrependReactor("list", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		list, ok := action.(clienttesting.ListActionImpl)
		if want := "spec.serviceAccountName=agent"; !ok || list.ListRestrictions.Fields.String() != want ||
			list.Namespace != "ns" {
			w.t.Errorf("asked for %+v", action)
		}
		if err := fails("pods"); err != nil {
			return true, nil, err
		}
		all := &metav1.List{}
		if pod != nil {
			all.Items = append(all.Items,
				runtime.RawExtension{Object: &metav1.PartialObjectMetadata{ObjectMeta: pod.ObjectMeta}})
		}
		return true, all, nil
	})
}
