// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import "slices"

// world is what exists, as a separate model. It uses neither the graph nor its extraction of
// references.
type world struct {
	pods        map[identity]worldPod
	volumes     map[string]worldVolume
	claims      map[identity]worldClaim
	attachments map[string]string
	slices      map[string]string
	requests    map[identity]string
	signing     map[string]string
	nodes       map[string]bool
}

type worldPod struct {
	uid, node string
	mirror    bool
	// ended is true if EndPod was called while the graph had a pod of this UID.
	ended bool
	// named are the pod's references, sometimes with duplicates. token, certificate and driver are
	// volumes without references.
	named                      []worldRef
	token, certificate, driver bool
}

// worldRef is an object in the pod's namespace. If ephemeral is set, name is the name of the
// ephemeral volume, not of its claim.
type worldRef struct {
	kind      Kind
	name      string
	ephemeral bool
}

type worldVolume struct {
	claim   identity
	secrets []identity
}

// worldClaim sometimes has an owner that is not a controlling pod.
type worldClaim struct {
	pod, uid string
	other    bool
}

func newWorld() *world {
	return &world{
		pods:        map[identity]worldPod{},
		volumes:     map[string]worldVolume{},
		claims:      map[identity]worldClaim{},
		attachments: map[string]string{},
		slices:      map[string]string{},
		requests:    map[identity]string{},
		signing:     map[string]string{},
		nodes:       map[string]bool{},
	}
}

// vertex is an object with its kind. The kind of a node is kindCount.
type vertex struct {
	kind Kind
	identity
}

func nodeVertex(name string) vertex { return vertex{kindCount, identity{"", name}} }

// edge leads to another vertex. against are its conditions.
type edge struct {
	to      vertex
	against []Condition
}

type edges map[vertex][]edge

func (e edges) add(from, to vertex, against ...Condition) {
	e[from] = append(e[from], edge{to, against})
}

// edges returns the edges that the package documentation draws.
func (w *world) edges() edges {
	all := edges{}
	direct := func(kind Kind, object identity, node string) {
		if node != "" {
			all.add(vertex{kind, object}, nodeVertex(node))
		}
	}
	for id, pod := range w.pods {
		direct(Pod, id, pod.node)
		if pod.node != "" && !pod.mirror {
			w.addPod(all, id, pod)
		}
	}
	for name, volume := range w.volumes {
		if volume.claim.name == "" {
			continue
		}
		self := vertex{PersistentVolume, identity{"", name}}
		all.add(self, vertex{PersistentVolumeClaim, volume.claim})
		for _, secret := range volume.secrets {
			all.add(vertex{Secret, secret}, self)
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
	for name, user := range w.signing {
		direct(CertificateSigningRequest, identity{"", name}, nodeOf[user])
	}
	return all
}

func (w *world) addPod(all edges, id identity, pod worldPod) {
	self := vertex{Pod, id}
	var ended []Condition
	if pod.ended {
		ended = []Condition{Ended}
	}
	for _, ref := range pod.named {
		object := vertex{ref.kind, identity{id.namespace, ref.name}}
		switch {
		case ref.ephemeral:
			object.name = id.name + "-" + ref.name
			if w.claims[object.identity] == (worldClaim{pod: id.name, uid: pod.uid}) {
				all.add(object, self, ended...)
			} else {
				all.add(object, self, append([]Condition{Unowned}, ended...)...)
			}
		case ref.kind == ServiceAccount:
			all.add(object, self, unless(pod.certificate, Unusable, ended)...)
			object.kind = ServiceAccountToken
			all.add(object, self, unless(pod.needsToken(), Unusable, ended)...)
		case ref.kind == ResourceClaim:
			all.add(object, self)
		default:
			all.add(object, self, ended...)
		}
	}
}

func (p worldPod) needsToken() bool {
	return p.token || p.driver ||
		slices.ContainsFunc(p.named, func(ref worldRef) bool { return ref.kind == PersistentVolumeClaim })
}

func unless(objectIDs bool, against Condition, others []Condition) []Condition {
	if objectIDs {
		return others
	}
	return append([]Condition{against}, others...)
}

// paths lists, for every path between the two vertices, its conditions.
func (e edges) paths(from, to vertex) [][]Condition {
	var found [][]Condition
	for _, next := range e[from] {
		if next.to == to {
			found = append(found, next.against)
			continue
		}
		for _, rest := range e.paths(next.to, to) {
			found = append(found, slices.Concat(next.against, rest))
		}
	}
	return found
}

// stats is the expected size of a graph without conditions, with each edge once.
func (w *world) stats() Stats {
	seen := map[[2]vertex]bool{}
	vertices, nodes, namespaces := map[vertex]bool{}, map[vertex]bool{}, map[string]bool{}
	for from, all := range w.edges() {
		if from.kind == ServiceAccountToken {
			continue
		}
		for _, next := range all {
			seen[[2]vertex{from, next.to}] = true
			for _, end := range []vertex{from, next.to} {
				if end.kind == kindCount {
					nodes[end] = true
					continue
				}
				vertices[end], namespaces[end.namespace] = true, true
			}
		}
	}
	for name := range w.nodes {
		nodes[nodeVertex(name)] = true
	}
	size := Stats{Nodes: len(nodes), Registered: len(w.nodes), Namespaces: len(namespaces), Edges: len(seen)}
	for v := range vertices {
		size.Objects[v.kind]++
	}
	return size
}
