// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// claimsAtOnce is how many claims are looked up at the same time. Most new volumes are
// those of the newest pod, so the first few claims are mostly enough.
const claimsAtOnce = 8

// podClaim is a claim that a volume of a pod uses.
type podClaim struct {
	pod  *corev1.Pod
	name string
	// ephemeral is true for a claim that was created for the pod.
	ephemeral bool
}

// explainByPods deletes from names the volumes of the pods that are bound to a node, and
// returns early if nothing is left. An error means that a volume could not be looked up
// and that a name is left.
func (r *Restriction) explainByPods(ctx context.Context, node string, names map[corev1.UniqueVolumeName]bool) error {
	pods, err := r.config.Cluster.PodsOn(ctx, node)
	if err != nil {
		return err
	}
	claims := inTurns(explainByInlineVolumes(pods, names))
	var failed error
	for some := range slices.Chunk(claims, claimsAtOnce) {
		if len(names) == 0 {
			return nil
		}
		found, err := r.volumesOf(ctx, some)
		if err != nil {
			failed = err
		}
		for _, name := range found {
			delete(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return failed
}

// inTurns orders claims by pod in turns: the first claim of each pod, then the second of
// each. Otherwise one pod with thousands of claims takes the time for all others.
func inTurns(claims []podClaim) []podClaim {
	turn := map[*corev1.Pod]int{}
	turns := make([]int, len(claims))
	order := make([]int, len(claims))
	for i, claim := range claims {
		order[i], turns[i] = i, turn[claim.pod]
		turn[claim.pod]++
	}
	slices.SortStableFunc(order, func(a, b int) int { return turns[a] - turns[b] })
	ordered := make([]podClaim, len(claims))
	for i, at := range order {
		ordered[i] = claims[at]
	}
	return ordered
}

// explainByInlineVolumes deletes from names the volumes that pods describe themselves, and
// returns the claims of the pods.
func explainByInlineVolumes(
	pods []*corev1.Pod, names map[corev1.UniqueVolumeName]bool,
) (claims []podClaim) {
	for _, pod := range pods {
		for i := range pod.Spec.Volumes {
			volume := &pod.Spec.Volumes[i]
			switch {
			case volume.PersistentVolumeClaim != nil:
				claims = append(claims, podClaim{pod: pod, name: volume.PersistentVolumeClaim.ClaimName})
			case volume.Ephemeral != nil:
				claims = append(claims, podClaim{pod: pod, name: pod.Name + "-" + volume.Name, ephemeral: true})
			default:
				delete(names, inlineVolumeName(volume, pod.Namespace))
			}
		}
	}
	return claims
}

// volumesOf are the unique names of the volumes that are bound to claims, of those that
// could be looked up, and the first error.
func (r *Restriction) volumesOf(ctx context.Context, claims []podClaim) ([]corev1.UniqueVolumeName, error) {
	names := make([]corev1.UniqueVolumeName, len(claims))
	var all errgroup.Group
	for i, claim := range claims {
		all.Go(func() (err error) {
			names[i], err = r.volumeOf(ctx, claim)
			return err
		})
	}
	err := all.Wait()
	return names, err
}

// volumeOf is empty for a claim that a kubelet does not mount: it does not exist, is not
// the pod's, or the volume is not bound to it. Otherwise a user could let a node claim any
// volume, by a claim that only names it.
func (r *Restriction) volumeOf(ctx context.Context, of podClaim) (corev1.UniqueVolumeName, error) {
	claim, err := r.config.Cluster.PersistentVolumeClaim(ctx, of.pod.Namespace, of.name)
	if err != nil {
		return "", ignoreNotFound(err)
	}
	if claim.Spec.VolumeName == "" || of.ephemeral && !metav1.IsControlledBy(claim, of.pod) {
		return "", nil
	}
	volume, err := r.config.Cluster.PersistentVolume(ctx, claim.Spec.VolumeName)
	if err != nil {
		return "", ignoreNotFound(err)
	}
	bound := volume.Spec.ClaimRef
	if bound == nil || bound.Namespace != claim.Namespace || bound.Name != claim.Name || bound.UID != claim.UID {
		return "", nil
	}
	return persistentVolumeName(volume), nil
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
