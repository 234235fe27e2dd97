// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
)

func TestMirrorPodName(t *testing.T) {
	named := func(name string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Name = name } }
	refused := func(name string) string {
		return `pods "` + name +
			`" is forbidden: node "me" can only create mirror pods whose names end in -me and that have no finalizers [NR-MIRROR-5]`
	}
	lasting := func(p *corev1.Pod) { p.Finalizers = []string{"example.com/never"} }
	run(t, restrict(aCluster(), gated()), []row{
		{name: "a name as a kubelet makes it", write: mirror(nil)},
		{name: "another static pod's", write: mirror(nil, named("kube-apiserver-me"))},
		{name: "another node's", write: mirror(nil, named("kube-apiserver-other")), by: "NR-MIRROR-5",
			says: refused("kube-apiserver-other")},
		{name: "one that only ends so", write: mirror(nil, named("kube-apiserverme")), by: "NR-MIRROR-5",
			says: refused("kube-apiserverme")},
		{name: "the node's name alone", write: mirror(nil, named("me")), by: "NR-MIRROR-5", says: refused("me")},
		{name: "a finalizer", write: mirror(nil, lasting), by: "NR-MIRROR-5", says: refused("static-me")},
	})
	off := func(p *configuration.MirrorPods) { p.Gate = configuration.Off }
	run(t, restrict(aCluster(), gated(off)),
		[]row{{name: "off, any name", write: mirror(nil, named("kube-apiserver-other"))}})
	run(t, restrict(aCluster(), gated(warnOnly)),
		[]row{{name: "a warning admits it", write: mirror(nil, named("kube-apiserver-other"))}})
}
