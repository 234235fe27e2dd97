// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crawler_test

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// belongings are the objects that belong to the two nodes, as resource/namespace/name.
type belongings struct {
	own, other string
	of         map[string]map[string]bool
}

// belongingsOf collects what the pods on both nodes use. The volumes are those of the claims.
func belongingsOf(ownNode, otherNode string, pods []corev1.Pod, claims []corev1.PersistentVolumeClaim) belongings {
	b := belongings{own: ownNode, other: otherNode, of: map[string]map[string]bool{ownNode: {}, otherNode: {}}}
	for i := range pods {
		b.addPod(&pods[i])
	}
	for _, claim := range claims {
		for _, has := range b.of {
			if has[keyOf("persistentvolumeclaims", claim.Namespace, claim.Name)] && claim.Spec.VolumeName != "" {
				has[keyOf("persistentvolumes", "", claim.Spec.VolumeName)] = true
			}
		}
	}
	return b
}

func keyOf(resource, namespace, name string) string { return resource + "/" + namespace + "/" + name }

func (b belongings) addPod(pod *corev1.Pod) {
	has := b.of[pod.Spec.NodeName]
	if has == nil {
		return
	}
	add := func(resource, name string) {
		if name != "" {
			has[keyOf(resource, pod.Namespace, name)] = true
		}
	}
	add("pods", pod.Name)
	add("serviceaccounts", pod.Spec.ServiceAccountName)
	for _, secret := range pod.Spec.ImagePullSecrets {
		add("secrets", secret.Name)
	}
	for _, volume := range pod.Spec.Volumes {
		addVolume(add, volume)
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		addEnvironment(add, c)
	}
}

func addVolume(add func(resource, name string), volume corev1.Volume) {
	if v := volume.Secret; v != nil {
		add("secrets", v.SecretName)
	}
	if v := volume.ConfigMap; v != nil {
		add("configmaps", v.Name)
	}
	if v := volume.PersistentVolumeClaim; v != nil {
		add("persistentvolumeclaims", v.ClaimName)
	}
	if volume.Projected == nil {
		return
	}
	for _, source := range volume.Projected.Sources {
		if source.Secret != nil {
			add("secrets", source.Secret.Name)
		}
		if source.ConfigMap != nil {
			add("configmaps", source.ConfigMap.Name)
		}
	}
}

func addEnvironment(add func(resource, name string), c corev1.Container) {
	for _, from := range c.EnvFrom {
		if from.SecretRef != nil {
			add("secrets", from.SecretRef.Name)
		}
		if from.ConfigMapRef != nil {
			add("configmaps", from.ConfigMapRef.Name)
		}
	}
	for _, env := range c.Env {
		if env.ValueFrom != nil && env.ValueFrom.SecretKeyRef != nil {
			add("secrets", env.ValueFrom.SecretKeyRef.Name)
		}
		if env.ValueFrom != nil && env.ValueFrom.ConfigMapKeyRef != nil {
			add("configmaps", env.ValueFrom.ConfigMapKeyRef.Name)
		}
	}
}

// nodePlaces are the fields where objects name their node, by resource.
var nodePlaces = map[string][][]string{
	"nodes":                               {{"metadata", "name"}},
	"csinodes.storage.k8s.io":             {{"metadata", "name"}},
	"pods":                                {{"spec", "nodeName"}},
	"volumeattachments.storage.k8s.io":    {{"spec", "nodeName"}},
	"resourceslices.resource.k8s.io":      {{"spec", "nodeName"}},
	"podcertificaterequests." + certs:     {{"spec", "nodeName"}},
	"certificatesigningrequests." + certs: {{"spec", "username"}},
	"events":                              {{"source", "host"}, {"reportingInstance"}},
	"events.events.k8s.io":                {{"deprecatedSource", "host"}, {"reportingInstance"}},
}

const certs = "certificates.k8s.io"

// relationOf returns the relation of the object. An object that both nodes use counts as own.
func (b belongings) relationOf(r schema.GroupResource, object map[string]any) relation {
	u := unstructured.Unstructured{Object: object}
	places := nodePlaces[r.String()]
	if r.Resource == "leases" && u.GetNamespace() == corev1.NamespaceNodeLease {
		places = [][]string{{"metadata", "name"}}
	}
	for _, place := range places {
		switch name, _, _ := unstructured.NestedString(object, place...); name {
		case b.own, "system:node:" + b.own:
			return own
		case b.other, "system:node:" + b.other:
			return other
		}
	}
	key := keyOf(r.Resource, u.GetNamespace(), u.GetName())
	switch {
	case r.Group != "":
		return unrelated
	case b.of[b.own][key]:
		return own
	case b.of[b.other][key]:
		return other
	}
	return unrelated
}
