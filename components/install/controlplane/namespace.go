// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/components/install/journal"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

const (
	// MirrorAllowed is the annotation that allows mirror pods in a namespace (KEP-1314).
	MirrorAllowed = "node.kubernetes.io/mirror.allowed"
	// MirrorLabelKeys lists the label keys that mirror pods may have there.
	MirrorLabelKeys = "node.kubernetes.io/mirror.allowed-label-keys"

	// objectNamespace is the name of kube-system in the journal.
	objectNamespace = "namespace:" + metav1.NamespaceSystem
)

// kubeadmLabels are the labels of kubeadm's static pods.
var kubeadmLabels = []string{"component", "tier"}

// mirrorAnnotations returns the annotations that kube-system needs. Without them, the mirror pods
// of kubeadm and Bulkhead would be denied.
func mirrorAnnotations() (map[string]string, error) {
	keys, err := staticPodLabelKeys()
	return map[string]string{MirrorAllowed: "true", MirrorLabelKeys: strings.Join(keys, ",")}, err
}

// staticPodLabelKeys returns the keys of all labels of kubeadm's and Bulkhead's static pods.
var staticPodLabelKeys = sync.OnceValues(func() ([]string, error) {
	keys := slices.Clone(kubeadmLabels)
	for _, file := range []string{manifests.NodeAuthorizerStaticPod, manifests.NodeRestrictionStaticPod,
		manifests.CertsStaticPod, manifests.KubeletApproverStaticPod, manifests.ScopeSyncStaticPod} {
		data, err := manifests.FS.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var pod corev1.Pod
		if err := yaml.Unmarshal(data, &pod); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		for _, key := range slices.Sorted(maps.Keys(pod.Labels)) {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys, nil
})

// openNamespace annotates kube-system in every profile. A user can change node-restriction's policy
// without the installer. Even then, the mirror pods of the control plane must be allowed.
// Annotations that others have set stay.
func (p *plan) openNamespace(ctx context.Context) (bool, error) {
	before, after, err := p.annotations(ctx)
	if err != nil || after == nil {
		return false, err
	}
	data, err := json.Marshal(before)
	if err != nil {
		return false, err
	}
	if err := p.journal.Object(objectNamespace, data); err != nil {
		return false, err
	}
	return true, p.Namespaces.SetAnnotations(ctx, metav1.NamespaceSystem, after)
}

// annotations returns the annotations that Bulkhead has set on kube-system, and the wanted ones.
// after is nil if nothing has to change.
func (p *plan) annotations(ctx context.Context) (before, after map[string]string, err error) {
	want, err := mirrorAnnotations()
	if err != nil {
		return nil, nil, err
	}
	have, ours, err := p.Namespaces.Annotations(ctx, metav1.NamespaceSystem)
	if err != nil {
		return nil, nil, err
	}
	before, after = map[string]string{}, map[string]string{}
	for _, key := range ours {
		before[key] = have[key]
	}
	for key, value := range want {
		there, set := have[key]
		if !set || slices.Contains(ours, key) {
			after[key] = value
			continue
		}
		if lacks := missing(key, there, value); lacks != "" {
			p.Note("namespace kube-system has the annotation %s=%q, which Bulkhead has not set: it stays, though it lacks %s",
				key, there, lacks)
		}
	}
	if maps.Equal(before, after) {
		return before, nil, nil
	}
	return before, after, nil
}

// missing returns what an annotation that another user has set lacks.
func missing(key, have, want string) string {
	if key == MirrorAllowed {
		if have != want {
			return want
		}
		return ""
	}
	listed := map[string]bool{}
	for label := range strings.SplitSeq(have, ",") {
		listed[strings.TrimSpace(label)] = true
	}
	var lacks []string
	for label := range strings.SplitSeq(want, ",") {
		if !listed[label] {
			lacks = append(lacks, label)
		}
	}
	return strings.Join(lacks, ",")
}

// revertNamespace restores the annotations that Bulkhead had set on kube-system, unless another
// host runs Bulkhead.
func (in *Installer) revertNamespace(ctx context.Context, j *journal.Journal, e journal.Entry) error {
	data, err := j.Before(e)
	if err != nil {
		return err
	}
	before := map[string]string{}
	if err := json.Unmarshal(data, &before); err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	others, err := in.elsewhere(ctx)
	if err != nil {
		return err
	}
	if others != "" {
		in.Note("the annotations of namespace kube-system stay: Bulkhead runs on %s too", others)
		return nil
	}
	return in.Namespaces.SetAnnotations(ctx, metav1.NamespaceSystem, before)
}

// closeNamespace removes the annotations that Bulkhead has set, unless another host runs Bulkhead.
func (in *Installer) closeNamespace(ctx context.Context) (changed bool, err error) {
	others, err := in.elsewhere(ctx)
	if err != nil || others != "" {
		return false, err
	}
	_, ours, err := in.Namespaces.Annotations(ctx, metav1.NamespaceSystem)
	if err != nil || len(ours) == 0 {
		return false, err
	}
	return true, in.Namespaces.SetAnnotations(ctx, metav1.NamespaceSystem, nil)
}
