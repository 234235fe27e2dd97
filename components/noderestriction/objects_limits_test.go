// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

func saying(length int) *corev1.Event {
	event := anEvent()
	event.Message = strings.Repeat("x", length)
	return event
}

// padded makes an object larger.
func padded(o runtime.Object, by int) runtime.Object {
	accessor, err := meta.Accessor(o)
	if err != nil {
		panic(err)
	}
	accessor.SetAnnotations(map[string]string{"example.com/a": strings.Repeat("x", by)})
	return o
}

func TestObjectSize(t *testing.T) {
	const by = "NR-SIZE-1"
	tells := func(length, before int) admission.Attributes {
		return write("me", admission.Update, "events", "", saying(length), saying(before))
	}
	status := func(length, before int) admission.Attributes {
		with := func(n int) podEdit { return func(p *corev1.Pod) { p.Status.Message = strings.Repeat("x", n) } }
		return updateStatus(with(before), with(length))
	}
	node := func(length int) admission.Attributes {
		return changing("status", unchanged, func(n *corev1.Node) {
			n.Status.Images = []corev1.ContainerImage{{Names: []string{strings.Repeat("x", length)}}}
		})
	}
	const toolarge = " with %d bytes: the limit is %d [NR-SIZE-1]"
	r := restrict(aCluster(), enforce(by))
	run(t, r, []row{
		{name: "event of 60 KiB: admitted", write: write("me", admission.Create, "events", "", saying(60*kib), nil)},
		{name: "event that stays too large: admitted", write: tells(70*kib, 70*kib)},
		{name: "status of a pod of 200 KiB: admitted", write: status(200*kib, 0)},
		{name: "status of a Node of 500 KiB: admitted", write: node(500 * kib)},
		{name: "deletion of an event that is too large: admitted",
			write: write("me", admission.Delete, "events", "", nil, saying(70*kib))},
	})
	for name, large := range map[string]admission.Attributes{
		"event of 64 KiB":  write("me", admission.Create, "events", "", saying(64*kib), nil),
		"event that grows": tells(70*kib, 69*kib),
		"status of a pod":  status(256*kib, 0),
		"status of a Node": node(512 * kib),
		"ResourceSlice":    write("me", admission.Create, "resourceslices", "", padded(aSlice("me"), 512*kib), nil),
		"mirror pod": createMirror(func(p *corev1.Pod) {
			p.Spec.Containers[0].Args = []string{strings.Repeat("x", 256*kib)}
		}),
		"CSINode": write("me", admission.Create, "csinodes", "", padded(aCSINode("me"), 64*kib), nil),
		"lease": write("me", admission.Create, "leases", "",
			padded(aLease("kube-node-lease", "me"), 64*kib), nil),
		"CertificateSigningRequest": write("me", admission.Create, "certificatesigningrequests", "",
			padded(signs(clientSigner, signed(t)).GetObject(), 128*kib), nil),
	} {
		t.Run(name+" that is too large: denied", func(t *testing.T) {
			v := r.Review(t.Context(), large)
			if v.Rule != by || !strings.HasSuffix(v.Status.Message,
				fmt.Sprintf(toolarge, sizeOf(large.GetObject(), large.GetSubresource()),
					maxSizes[resourceKindOf(large.GetResource())])) {
				t.Errorf("%+v", v)
			}
		})
	}
	run(t, restrict(aCluster()),
		[]row{{name: "rule off, event of 64 KiB: admitted",
			write: write("me", admission.Create, "events", "", saying(64*kib), nil)}})
	auditedOnly(t, restrict(aCluster(), inMode(rules.Audit, by)), node(512*kib), by)
}

func TestObjectFinalizers(t *testing.T) {
	const by = "NR-FINALIZER-1"
	finalized := func(event *corev1.Event) *corev1.Event {
		event.Finalizers = []string{"example.com/keep"}
		return event
	}
	kept := aSlice("me")
	kept.Finalizers = []string{"example.com/keep"}
	says := func(about string) string {
		return about + ` is forbidden: node "me" cannot add the finalizer "example.com/keep" [NR-FINALIZER-1]`
	}
	event := anEvent()
	run(t, restrict(aCluster(), enforce(by)), []row{
		{name: "event without a finalizer: admitted", write: write("me", admission.Create, "events", "", event, nil)},
		{name: "event with a finalizer: denied",
			write: write("me", admission.Create, "events", "", finalized(anEvent()), nil), by: by,
			says: says(fmt.Sprintf("events %q", event.Name))},
		{name: "finalizer that others added: admitted",
			write: write("me", admission.Update, "events", "", finalized(anEvent()), finalized(anEvent()))},
		{name: "finalizer that is added: denied",
			write: write("me", admission.Update, "events", "", finalized(anEvent()), anEvent()), by: by,
			says: says(fmt.Sprintf("events %q", event.Name))},
		{name: "ResourceSlice with a finalizer: denied",
			write: write("me", admission.Create, "resourceslices", "", kept, nil), by: by,
			says: says(fmt.Sprintf("resourceslices.resource.k8s.io %q", kept.Name))},
		{name: "ResourceSlice without a finalizer: admitted",
			write: write("me", admission.Create, "resourceslices", "", aSlice("me"), nil)},
	})
	run(t, restrict(aCluster()),
		[]row{{name: "rule off, event with a finalizer: admitted",
			write: write("me", admission.Create, "events", "", finalized(anEvent()), nil)}})
	auditedOnly(t, restrict(aCluster(), inMode(rules.Audit, by)),
		write("me", admission.Create, "events", "", finalized(anEvent()), nil), by)
}
