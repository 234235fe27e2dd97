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

// claimsAtOnce is how many claims are looked up at the same time. Most new volumes belong to the
// newest pod, so the first few claims are usually enough.
const claimsAtOnce = 8

// podClaim is a claim that a volume of a pod uses.
type podClaim struct {
	pod  *corev1.Pod
	name string
	// ephemeral is true for a claim that was created for the pod.
	ephemeral bool
}

// explainByPods deletes from names the volumes of the pods that are bound to a node. It returns
// early when names is empty. It returns an error if the lookup of the pods fails, or if the lookup
// of a volume fails and names is not empty.
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

// inTurns orders the claims in rounds: first the first claim of each pod, then the second claim of
// each pod. Otherwise one pod with thousands of claims would use the time of all other pods.
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

// explainByInlineVolumes deletes from names the volumes that are defined in pod specs. It returns
// the claims of the pods.
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

// volumesOf returns the unique names of the volumes that are bound to the claims. It omits volumes
// whose lookup failed, and also returns the first error.
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

// volumeOf returns "" for a claim that a kubelet does not mount: the claim does not exist, is not
// the pod's, or has no volume bound to it. Otherwise a user could make a node report any volume,
// with a claim that only names it.
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
