// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import "k8s.io/apimachinery/pkg/types"

// told are graphs that receive the same calls.
type told map[Options]*Graph

func (t told) all(tell func(*Graph)) {
	for _, g := range t {
		tell(g)
	}
}

// step changes one thing in the world and in the graphs.
func (w *world) step(d dice, graphs told) {
	drop := d.oneIn(3)
	switch d.IntN(22) {
	case 0:
		w.replaceAll(d, graphs)
	case 1, 2, 3, 4, 5, 6:
		w.stepPod(d, graphs, drop)
	case 7, 8, 9:
		w.stepEnd(d, graphs)
	case 10, 11, 12:
		w.stepVolume(d, graphs, drop)
	case 13, 14, 15, 16:
		w.stepClaim(d, graphs, drop)
	default:
		w.stepDirect(d, graphs, drop)
	}
}

// stepDirect does the same for objects that name their node directly.
func (w *world) stepDirect(d dice, graphs told, drop bool) {
	switch d.IntN(5) {
	case 0:
		w.stepAttachment(d, graphs, drop)
	case 1:
		w.stepSlice(d, graphs, drop)
	case 2:
		w.stepRequest(d, graphs, drop)
	case 3:
		w.stepSigning(d, graphs, drop)
	default:
		w.stepNode(d, graphs, drop)
	}
}

// replaceAll removes a third of the world, adds to it, and sends it as lists.
func (w *world) replaceAll(d dice, graphs told) {
	added := d.in()
	was := w.pods[added]
	forgetSome(d, w.pods)
	forgetSome(d, w.volumes)
	forgetSome(d, w.claims)
	forgetSome(d, w.nodes)
	clear(w.attachments)
	clear(w.slices)
	clear(w.requests)
	clear(w.signing)
	w.pods[added] = d.pod().after(was)
	w.volumes[d.name()] = d.volume()
	w.claims[d.claimIn()] = d.claim()
	w.attachments[d.name()] = d.node()
	w.slices[d.name()] = d.node()
	w.requests[d.in()] = d.node()
	w.signing[d.name()] = d.user()
	graphs.all(w.fill)
}

func forgetSome[K comparable, V any](d dice, known map[K]V) {
	for id := range known {
		if d.oneIn(3) {
			delete(known, id)
		}
	}
}

// after is the pod, if the graph had the pod in the state was before. A pod of the same UID that
// has ended stays ended. A graph does not keep a pod without a node.
func (p worldPod) after(was worldPod) worldPod {
	p.ended = was.ended && was.uid == p.uid && p.node != ""
	return p
}

func (w *world) stepPod(d dice, graphs told, drop bool) {
	id := d.in()
	if drop {
		delete(w.pods, id)
		graphs.all(func(g *Graph) { g.DeletePod(id.namespace, id.name) })
		return
	}
	w.pods[id] = d.pod().after(w.pods[id])
	graphs.all(func(g *Graph) { g.SetPod(w.pods[id].object(id)) })
}

// stepEnd may use a pod that does not exist or that has another UID.
func (w *world) stepEnd(d dice, graphs told) {
	id, uid := d.in(), d.uid()
	if pod, ok := w.pods[id]; ok && pod.uid == uid && pod.node != "" {
		pod.ended = true
		w.pods[id] = pod
	}
	graphs.all(func(g *Graph) { g.EndPod(id.namespace, id.name, types.UID(uid)) })
}

func (w *world) stepVolume(d dice, graphs told, drop bool) {
	name := d.name()
	if drop {
		delete(w.volumes, name)
		graphs.all(func(g *Graph) { g.DeletePersistentVolume(name) })
		return
	}
	w.volumes[name] = d.volume()
	graphs.all(func(g *Graph) { g.SetPersistentVolume(w.volumes[name].object(name)) })
}

func (w *world) stepClaim(d dice, graphs told, drop bool) {
	id := d.claimIn()
	if drop {
		delete(w.claims, id)
		graphs.all(func(g *Graph) { g.DeletePersistentVolumeClaim(id.namespace, id.name) })
		return
	}
	w.claims[id] = d.claim()
	graphs.all(func(g *Graph) { g.SetPersistentVolumeClaim(w.claims[id].object(id)) })
}

func (w *world) stepAttachment(d dice, graphs told, drop bool) {
	name := d.name()
	if drop {
		delete(w.attachments, name)
		graphs.all(func(g *Graph) { g.DeleteVolumeAttachment(name) })
		return
	}
	w.attachments[name] = d.node()
	graphs.all(func(g *Graph) { g.SetVolumeAttachment(attachmentTo(w.attachments[name], name)) })
}

func (w *world) stepSlice(d dice, graphs told, drop bool) {
	name := d.name()
	if drop {
		delete(w.slices, name)
		graphs.all(func(g *Graph) { g.DeleteResourceSlice(name) })
		return
	}
	w.slices[name] = d.node()
	graphs.all(func(g *Graph) { g.SetResourceSlice(sliceOf(w.slices[name], name)) })
}

func (w *world) stepRequest(d dice, graphs told, drop bool) {
	id := d.in()
	if drop {
		delete(w.requests, id)
		graphs.all(func(g *Graph) { g.DeletePodCertificateRequest(id.namespace, id.name) })
		return
	}
	w.requests[id] = d.node()
	graphs.all(func(g *Graph) { g.SetPodCertificateRequest(requestFrom(w.requests[id], id.namespace, id.name)) })
}

func (w *world) stepSigning(d dice, graphs told, drop bool) {
	name := d.name()
	if drop {
		delete(w.signing, name)
		graphs.all(func(g *Graph) { g.DeleteCertificateSigningRequest(name) })
		return
	}
	w.signing[name] = d.user()
	graphs.all(func(g *Graph) { g.SetCertificateSigningRequest(signingBy(w.signing[name], name)) })
}

func (w *world) stepNode(d dice, graphs told, drop bool) {
	name := d.pick("n1", "n2", "n3")
	if drop {
		delete(w.nodes, name)
		graphs.all(func(g *Graph) { g.DeleteNode(name) })
		return
	}
	w.nodes[name] = true
	graphs.all(func(g *Graph) { g.SetNode(nodeNamed(name)) })
}

func (w *world) deleteEach(g *Graph) {
	for name := range w.volumes {
		g.DeletePersistentVolume(name)
	}
	for id := range w.claims {
		g.DeletePersistentVolumeClaim(id.namespace, id.name)
	}
	for id := range w.pods {
		g.DeletePod(id.namespace, id.name)
	}
	for name := range w.attachments {
		g.DeleteVolumeAttachment(name)
	}
	for name := range w.slices {
		g.DeleteResourceSlice(name)
	}
	for id := range w.requests {
		g.DeletePodCertificateRequest(id.namespace, id.name)
	}
	for name := range w.signing {
		g.DeleteCertificateSigningRequest(name)
	}
	for name := range w.nodes {
		g.DeleteNode(name)
	}
}
