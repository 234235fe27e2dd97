// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"math/rand/v2"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
)

// world is what exists, told in the test's own words: neither the extraction of
// references nor the graph has a part in it.
type world struct {
	pods        map[identity]worldPod
	volumes     map[string]worldVolume
	attachments map[string]string
	slices      map[string]string
	requests    map[identity]string
}

type worldPod struct {
	uid, node string
	mirror    bool
	// named holds what the pod names, now and then twice.
	named []reference
}

type worldVolume struct {
	claim   identity
	secrets []identity
}

func newWorld() *world {
	return &world{
		pods:        map[identity]worldPod{},
		volumes:     map[string]worldVolume{},
		attachments: map[string]string{},
		slices:      map[string]string{},
		requests:    map[identity]string{},
	}
}

// vertex is a kind, a namespace and a name; a node has the kind kindCount.
type vertex struct {
	kind Kind
	identity
}

func nodeVertex(name string) vertex { return vertex{kindCount, identity{"", name}} }

// edges draws the picture of the package's documentation.
func (w *world) edges() map[vertex][]vertex {
	edges := map[vertex][]vertex{}
	add := func(from, to vertex) { edges[from] = append(edges[from], to) }
	direct := func(kind Kind, object identity, node string) {
		if node != "" {
			add(vertex{kind, object}, nodeVertex(node))
		}
	}
	for id, pod := range w.pods {
		direct(Pod, id, pod.node)
		for _, ref := range pod.named {
			if pod.node != "" && !pod.mirror {
				add(vertex{ref.kind, identity{id.namespace, ref.name}}, vertex{Pod, id})
			}
		}
	}
	for name, volume := range w.volumes {
		if volume.claim.name == "" {
			continue
		}
		self := vertex{PersistentVolume, identity{"", name}}
		add(self, vertex{PersistentVolumeClaim, volume.claim})
		for _, secret := range volume.secrets {
			add(vertex{Secret, secret}, self)
		}
	}
	for name, node := range w.attachments {
		direct(VolumeAttachment, identity{"", name}, node)
	}
	for name, node := range w.slices {
		direct(ResourceSlice, identity{"", name}, node)
	}
	for id, node := range w.requests {
		direct(PodCertificateRequest, id, node)
	}
	return edges
}

// stats is the size of a graph that has each edge once.
func stats(edges map[vertex][]vertex) Stats {
	seen := map[[2]vertex]bool{}
	vertices, nodes, namespaces := map[vertex]bool{}, map[vertex]bool{}, map[string]bool{}
	for from, tos := range edges {
		for _, to := range tos {
			seen[[2]vertex{from, to}] = true
			for _, end := range []vertex{from, to} {
				if end.kind == kindCount {
					nodes[end] = true
					continue
				}
				vertices[end], namespaces[end.namespace] = true, true
			}
		}
	}
	size := Stats{Nodes: len(nodes), Namespaces: len(namespaces), Edges: len(seen)}
	for v := range vertices {
		size.Objects[v.kind]++
	}
	return size
}

func hasPath(edges map[vertex][]vertex, from, to vertex) bool {
	for _, next := range edges[from] {
		if next == to || hasPath(edges, next, to) {
			return true
		}
	}
	return false
}

func (p worldPod) object(id identity) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.UID = id.namespace, id.name, types.UID(p.uid)
	pod.Spec.NodeName = p.node
	if p.mirror {
		pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	}
	for _, ref := range p.named {
		nameIn(pod, ref)
	}
	return pod
}

func nameIn(pod *corev1.Pod, ref reference) {
	switch ref.kind {
	case Secret:
		pod.Spec.Volumes = append(pod.Spec.Volumes, secretVolume(ref.name))
	case ConfigMap:
		pod.Spec.Volumes = append(pod.Spec.Volumes, configMapVolume(ref.name))
	case PersistentVolumeClaim:
		pod.Spec.Volumes = append(pod.Spec.Volumes, claimVolume(ref.name))
	case ResourceClaim:
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{ResourceClaimName: &ref.name})
	case ServiceAccount:
		pod.Spec.ServiceAccountName = ref.name
	}
}

func (v worldVolume) object(name string) *corev1.PersistentVolume {
	volume := &corev1.PersistentVolume{}
	volume.Name = name
	if v.claim.name != "" {
		volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: v.claim.namespace, Name: v.claim.name}
	}
	volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{}
	for i, field := range []**corev1.SecretReference{
		&volume.Spec.CSI.NodePublishSecretRef, &volume.Spec.CSI.NodeStageSecretRef, &volume.Spec.CSI.NodeExpandSecretRef,
	} {
		if i < len(v.secrets) {
			*field = &corev1.SecretReference{Namespace: v.secrets[i].namespace, Name: v.secrets[i].name}
		}
	}
	return volume
}

// fill makes the graph agree with the world by lists.
func (w *world) fill(g *Graph) {
	var pods []*corev1.Pod
	for id, pod := range w.pods {
		pods = append(pods, pod.object(id))
	}
	var volumes []*corev1.PersistentVolume
	for name, volume := range w.volumes {
		volumes = append(volumes, volume.object(name))
	}
	var attachments []*storagev1.VolumeAttachment
	for name, node := range w.attachments {
		attachments = append(attachments, attachmentTo(node, name))
	}
	var slices []*resourcev1.ResourceSlice
	for name, node := range w.slices {
		slices = append(slices, sliceOf(node, name))
	}
	var requests []*certificatesv1.PodCertificateRequest
	for id, node := range w.requests {
		requests = append(requests, requestFrom(node, id.namespace, id.name))
	}
	g.ReplacePods(pods)
	g.ReplacePersistentVolumes(volumes)
	g.ReplaceVolumeAttachments(attachments)
	g.ReplaceResourceSlices(slices)
	g.ReplacePodCertificateRequests(requests)
}

// dice draws from pools so small that everything collides with everything.
type dice struct{ *rand.Rand }

func (d dice) pick(pool ...string) string { return pool[d.IntN(len(pool))] }
func (d dice) namespace() string          { return d.pick("ns1", "ns2") }
func (d dice) node() string               { return d.pick("n1", "n2", "n3", "") }
func (d dice) name() string               { return d.pick("a", "b", "c") }
func (d dice) in() identity               { return identity{d.namespace(), d.name()} }

func (d dice) pod() worldPod {
	pod := worldPod{uid: d.pick("1", "2"), node: d.node(), mirror: d.IntN(8) == 0}
	for range d.IntN(7) {
		kind := []Kind{Secret, Secret, ConfigMap, PersistentVolumeClaim, PersistentVolumeClaim, ResourceClaim}[d.IntN(6)]
		pod.named = append(pod.named, reference{kind, d.name()})
	}
	if d.IntN(2) == 0 {
		pod.named = append(pod.named, reference{ServiceAccount, d.name()})
	}
	return pod
}

func (d dice) volume() worldVolume {
	volume := worldVolume{claim: d.in()}
	if d.IntN(6) == 0 {
		volume.claim = identity{}
	}
	for range d.IntN(4) {
		volume.secrets = append(volume.secrets, d.in())
	}
	return volume
}
