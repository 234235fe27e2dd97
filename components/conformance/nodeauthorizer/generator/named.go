// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package generator

import (
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graph"
)

// questionsAbout are the usual requests for each kind.
var questionsAbout = func() map[graph.Kind][]question {
	kinds := map[string]graph.Kind{
		"secrets": graph.Secret, "configmaps": graph.ConfigMap, "persistentvolumeclaims": graph.PersistentVolumeClaim,
		"persistentvolumes": graph.PersistentVolume, "serviceaccounts": graph.ServiceAccount, "pods": graph.Pod,
		"volumeattachments": graph.VolumeAttachment, "resourceclaims": graph.ResourceClaim,
		"resourceslices": graph.ResourceSlice, "podcertificaterequests": graph.PodCertificateRequest,
	}
	about := map[graph.Kind][]question{}
	for _, q := range usualQuestions {
		if kind, ok := kinds[q.resource]; ok {
			about[kind] = append(about[kind], q)
		}
	}
	return about
}()

// named returns a request for an existing object, or for an object that it names. It also returns
// the node that is likely to be allowed.
func (m *Generator) named() (a authorizer.AttributesRecord, node string) {
	object := harness.Pick(m.RNG, m.existing)
	key := object.Key()
	switch o := object.(type) {
	case Pod:
		node = o.Node
		if keys := o.Named(); len(keys) > 0 && !m.OneIn(6) {
			key = harness.Pick(m.RNG, keys)
		}
	case Volume:
		node = m.nodeOf(o)
		if len(o.Refs) > 0 && !m.OneIn(3) {
			ref := harness.Pick(m.RNG, o.Refs)
			key = Key{graph.Secret, ref.Namespace, ref.Name}
			if m.OneIn(2) || ref.Namespace == "" {
				key.Namespace = o.ClaimNamespace
			}
		}
	case Attachment:
		node = o.Node
	case Slice:
		node = o.Node
	case Certificate:
		node = o.Node
	}
	q := harness.Pick(m.RNG, questionsAbout[key.Kind])
	return authorizer.AttributesRecord{
		Verb: harness.Pick(m.RNG, q.verbs), APIGroup: q.group, Resource: q.resource, Subresource: q.subresource,
		Namespace: key.Namespace, Name: key.Name,
	}, node
}

// nodeOf returns a node with a pod that names the volume's claim.
func (m *Generator) nodeOf(volume Volume) string {
	claim := Key{graph.PersistentVolumeClaim, volume.ClaimNamespace, volume.ClaimName}
	for _, object := range m.existing {
		if pod, ok := object.(Pod); ok && pod.Node != "" {
			for _, key := range pod.Named() {
				if key == claim {
					return pod.Node
				}
			}
		}
	}
	return ""
}
