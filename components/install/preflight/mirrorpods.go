// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const (
	mirrorPodsCheck = "mirror pods of static pods"
	// podsPerPage limits the memory for a list. mostNamed limits the names in a finding.
	podsPerPage = 500
	mostNamed   = 10
)

// mirrorPodFindings checks the existing mirror pods with node-restriction's rules. It evaluates
// them as if their nodes created them again under the policy to be installed. If a mirror pod is
// denied, no kubelet can create it again. Its static pod runs, but the API does not show it.
func mirrorPodFindings(ctx context.Context, in Input) ([]Finding, error) {
	if in.Policy == nil || in.Policy.MirrorPods.Gate != configuration.Enforce {
		return nil, nil
	}
	pods, err := mirrorPods(ctx, in)
	if err != nil {
		return nil, err
	}
	denied, audited, count := reviewMirrorPods(ctx, in, pods)
	switch findings := slices.Concat(denied, audited); {
	case len(findings) == 0:
		return []Finding{{OK, mirrorPodsCheck, fmt.Sprintf("all %d would be admitted", len(pods))}}, nil
	case count == 0:
		return findings, nil
	default:
		return append(findings,
			Finding{Fail, mirrorPodsCheck,
				fmt.Sprintf("%d of %d would be denied: their static pods run on, but the API does not show them after a restart. "+
					"`bulkhead mirror-labels` prints the annotations that their namespaces need; keys of annotations belong into "+
					"mirrorPods.allowedAnnotations of node-restriction's configuration", count, len(pods))}), nil
	}
}

// reviewMirrorPods returns the first denials, the first findings of rules that only audit, and how many
// pods would be denied.
func reviewMirrorPods(ctx context.Context, in Input, pods []corev1.Pod) (denied, audited []Finding, count int) {
	restriction := noderestriction.New(noderestriction.Config{
		Cluster: clusterOf{in: in}, Features: noderestriction.DefaultFeatures(), Modes: configuredModes(in),
		Configuration: func() *configuration.Configuration { return in.Policy },
	})
	for i := range pods {
		d := restriction.Review(ctx, madeAnew(&pods[i]))
		if d.Allowed() && len(d.Findings) == 0 || withoutNode(ctx, in, &pods[i]) {
			continue
		}
		for _, found := range d.Findings[:min(len(d.Findings), mostNamed-len(audited))] {
			audited = append(audited,
				Finding{Warn, mirrorPodsCheck, fmt.Sprintf("before you enforce %s: in namespace %s, pod %s: %.600s", found.Rule,
					pods[i].Namespace, pods[i].Name, found.Message)})
		}
		if d.Allowed() {
			continue
		}
		if count++; count <= mostNamed {
			denied = append(denied,
				Finding{Fail, mirrorPodsCheck, fmt.Sprintf("in namespace %s, %.600s", pods[i].Namespace, d.Status.Message)})
		}
	}
	return denied, audited, count
}

// configuredModes returns the modes of the policy's rules. The optional rules stay off: they ask for what
// [clusterOf] does not answer.
func configuredModes(in Input) map[rules.ID]rules.Mode {
	modes := maps.Clone(in.Modes)
	maps.DeleteFunc(modes, func(id rules.ID, _ rules.Mode) bool {
		rule, _ := rules.Find(noderestriction.Rules, id)
		return !rule.Configured
	})
	return modes
}

// withoutNode reports whether the pod's Node was deleted. Then no kubelet creates the mirror pod again, and
// kube-controller-manager is about to delete it.
func withoutNode(ctx context.Context, in Input, pod *corev1.Pod) bool {
	_, err := in.Client.CoreV1().Nodes().Get(ctx, pod.Spec.NodeName, metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}

func mirrorPods(ctx context.Context, in Input) ([]corev1.Pod, error) {
	var all []corev1.Pod
	options := metav1.ListOptions{Limit: podsPerPage}
	for {
		page, err := in.Client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("listing pods: %w", err)
		}
		all = append(all, slices.DeleteFunc(page.Items, func(pod corev1.Pod) bool {
			_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
			return !mirror
		})...)
		if page.Continue == "" {
			return all, nil
		}
		options.Continue = page.Continue
	}
}

// madeAnew is the create request of a kubelet for this mirror pod.
func madeAnew(pod *corev1.Pod) admission.Attributes {
	who := &user.DefaultInfo{Name: nodePrefix + pod.Spec.NodeName, Groups: []string{nodesGroup, user.AllAuthenticated}}
	return admission.NewAttributesRecord(pod, nil, corev1.SchemeGroupVersion.WithKind("Pod"), pod.Namespace, pod.Name,
		corev1.SchemeGroupVersion.WithResource("pods"), "", admission.Create, &metav1.CreateOptions{}, true, who)
}

// clusterOf answers only the queries of the rules for mirror pods.
type clusterOf struct {
	noderestriction.Cluster
	in Input
}

func (c clusterOf) Node(ctx context.Context, name string) (*corev1.Node, error) {
	return c.in.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
}

// Namespace returns a namespace as it will be after the installation. The installer sets its
// annotations on kube-system, but keeps values that others have set there.
func (c clusterOf) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	namespace, err := c.in.Client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if err != nil || name != metav1.NamespaceSystem {
		return namespace, err
	}
	namespace = namespace.DeepCopy()
	opened := maps.Clone(c.in.Opened)
	maps.Copy(opened, namespace.Annotations)
	namespace.Annotations = opened
	return namespace, nil
}
