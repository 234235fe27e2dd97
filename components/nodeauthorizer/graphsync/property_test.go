// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

var (
	worldNodes = []string{"n1", "n2"}
	worldNames = []string{"a", "b", "c", "d"}
)

// firstRevision is just below 100, so that the versions soon get one more digit.
const firstRevision = 95

// history is what an API server has stored of pods: the state after each revision. A pod refers to
// a secret that is named after its latest revision. So the graph shows which state it has.
type history struct {
	// states[i] is the set of pods after revision firstRevision+i.
	states []map[string]*corev1.Pod
	// changed[i] is the name of the pod that this revision changed.
	changed []string
}

func newHistory() *history {
	return &history{states: []map[string]*corev1.Pod{{}}, changed: []string{""}}
}

func (h *history) now() int { return firstRevision + len(h.states) - 1 }

func (h *history) at(revision int) map[string]*corev1.Pod { return h.states[revision-firstRevision] }

// change creates, updates or deletes a pod. A pod that is created again has another UID and
// sometimes another node.
func (h *history) change(r *rand.Rand) {
	name, next := worldNames[r.IntN(len(worldNames))], map[string]*corev1.Pod{}
	for k, v := range h.at(h.now()) {
		next[k] = v
	}
	revision := h.now() + 1
	old := next[name]
	if old != nil && r.IntN(2) == 0 {
		delete(next, name)
	} else {
		next[name] = podAt(name, revision, old, worldNodes[r.IntN(len(worldNodes))])
	}
	h.states, h.changed = append(h.states, next), append(h.changed, name)
}

func podAt(name string, revision int, old *corev1.Pod, node string) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.ResourceVersion = "ns", name, strconv.Itoa(revision)
	pod.UID, pod.Spec.NodeName = types.UID(fmt.Sprint(name, revision)), node
	if old != nil {
		pod.UID, pod.Spec.NodeName = old.UID, old.Spec.NodeName
	}
	pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: secretAt(name, revision)}}
	return pod
}

func secretAt(name string, revision int) string { return fmt.Sprintf("%s-%d", name, revision) }

// lagging is a graph that receives the history from a late watch and from live reads.
type lagging struct {
	*history
	rand  *rand.Rand
	graph *graph.Graph
	sync  *Sync
	// watched is the revision that the watch has reached.
	watched int
	reading []liveRead
	// floor is, for each pod, the revision that the graph must have at least.
	floor map[string]int
}

type liveRead struct {
	revision int
	objects  []runtime.Object
}

func newLagging(seed uint64) *lagging {
	g := graph.New(graph.Options{})
	l := &lagging{
		history: newHistory(), rand: rand.New(rand.NewPCG(seed, 0)),
		graph: g, sync: New(fake.NewClientset(), g, Options{TerminatedPodGrace: -1}), floor: map[string]int{},
	}
	for range l.rand.IntN(5) {
		l.change(l.rand)
	}
	l.relist()
	return l
}

func (l *lagging) store() *store { return l.sync.watched[0].store }

func (l *lagging) relist() {
	l.watched = max(l.watched, l.now()-l.rand.IntN(min(4, l.now()-firstRevision+1)))
	var listed []any
	early := l.rand.IntN(2) == 0
	for _, pod := range l.at(l.watched) {
		if !early {
			listed = append(listed, pod.DeepCopy())
			continue
		}
		// The list is a stream, so live reads may end between two of its pods.
		gathered, err := l.store().Transformer()(pod.DeepCopy())
		must(err)
		listed = append(listed, gathered)
		if l.rand.IntN(4) == 0 {
			l.endRead()
		}
	}
	must(l.store().Replace(listed, strconv.Itoa(l.watched)))
	l.floor = map[string]int{}
}

// deliver moves the watch to the next revision.
func (l *lagging) deliver() {
	if l.watched == l.now() {
		return
	}
	l.watched++
	name := l.changed[l.watched-firstRevision]
	before, after := l.at(l.watched - 1)[name], l.at(l.watched)[name]
	switch {
	case after == nil:
		gone := before.DeepCopy()
		gone.ResourceVersion = strconv.Itoa(l.watched)
		must(l.store().Delete(gone))
	case before == nil:
		must(l.store().Add(after.DeepCopy()))
	default:
		must(l.store().Update(after.DeepCopy()))
	}
}

func (l *lagging) bookmark() { must(l.store().Bookmark(strconv.Itoa(l.watched))) }

// beginRead reads the pods of a node, or one pod.
func (l *lagging) beginRead() {
	read, node, name := liveRead{revision: l.now()}, worldNodes[l.rand.IntN(2)], worldNames[l.rand.IntN(4)]
	one := l.rand.IntN(2) == 0
	for _, pod := range l.at(l.now()) {
		if one && pod.Name == name || !one && pod.Spec.NodeName == node {
			read.objects = append(read.objects, pod.DeepCopy())
		}
	}
	l.reading = append(l.reading, read)
}

// endRead folds a random read that has begun, so reads can overtake each other.
func (l *lagging) endRead() {
	if len(l.reading) == 0 {
		return
	}
	i := l.rand.IntN(len(l.reading))
	read := l.reading[i]
	l.reading = append(l.reading[:i], l.reading[i+1:]...)
	if _, err := l.sync.Fold(Pods, read.objects...); err != nil {
		panic(err)
	}
	for _, object := range read.objects {
		name := object.(*corev1.Pod).Name
		l.floor[name] = max(l.floor[name], read.revision)
	}
}

func (l *lagging) step() {
	switch l.rand.IntN(16) {
	case 0:
		l.relist()
	case 1:
		l.bookmark()
	case 2, 3, 4, 5, 6:
		l.change(l.rand)
	case 7, 8, 9:
		l.deliver()
	case 10, 11, 12:
		l.beginRead()
	default:
		l.endRead()
	}
}

// related returns the state of a pod in the graph, as node and secret. There is at most one.
func (l *lagging) related(name string) []string {
	var found []string
	for _, node := range worldNodes {
		for revision := firstRevision; revision <= l.now(); revision++ {
			if secret := secretAt(name, revision); l.graph.Reaches(node, graph.Secret, "ns", secret) {
				found = append(found, node+" "+secret)
			}
		}
	}
	return found
}

func stateOf(pod *corev1.Pod) []string {
	if pod == nil {
		return nil
	}
	return []string{pod.Spec.NodeName + " " + pod.Spec.ImagePullSecrets[0].Name}
}

// fault describes a pod whose state in the graph is wrong. A correct state is one that the pod had
// between the latest revision shown by the watch or a live read, and now.
func (l *lagging) fault() string {
	for _, name := range worldNames {
		got := l.related(name)
		from := max(l.watched, l.floor[name])
		possible := false
		for revision := from; revision <= l.now(); revision++ {
			possible = possible || cmp.Equal(got, stateOf(l.at(revision)[name]))
		}
		if !possible {
			return fmt.Sprintf("graph has %v of pod %s, which is in no state between revisions %d and %d", got, name, from,
				l.now())
		}
	}
	return ""
}

// For any order of a late watch and live reads, the graph is never behind either of them, and it
// ends in the last state.
func TestLiveReadsAndALateWatchAgree(t *testing.T) {
	for seed := range uint64(600) {
		l := newLagging(seed)
		for step := range 60 {
			l.step()
			if fault := l.fault(); fault != "" {
				t.Fatalf("seed %d, step %d: %s", seed, step, fault)
			}
		}
		l.settle(t, seed)
	}
}

// settle delivers all outstanding events and reads.
func (l *lagging) settle(t *testing.T, seed uint64) {
	t.Helper()
	for l.watched < l.now() || len(l.reading) > 0 {
		if l.rand.IntN(2) == 0 {
			l.deliver()
		} else {
			l.endRead()
		}
	}
	want := graph.New(graph.Options{})
	for _, pod := range l.at(l.now()) {
		want.SetPod(pod)
	}
	if diff := cmp.Diff(want.Stats(), l.graph.Stats()); diff != "" {
		t.Fatalf("seed %d: Stats in the end (-want +got):\n%s", seed, diff)
	}
	if fault := l.fault(); fault != "" {
		t.Fatalf("seed %d, in the end: %s", seed, fault)
	}
	if left := l.store().versions.ahead; len(left) > 0 {
		t.Fatalf("seed %d: still ahead of a watch that has shown everything: %v", seed, left)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
