// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"
	"iter"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	csitranslation "k8s.io/csi-translation-lib"
)

// projectedTokens are those that the pod's volumes project.
func projectedTokens(pod *corev1.Pod) iter.Seq[*corev1.ServiceAccountTokenProjection] {
	return func(yield func(*corev1.ServiceAccountTokenProjection) bool) {
		for i := range pod.Spec.Volumes {
			projected := pod.Spec.Volumes[i].Projected
			if projected == nil {
				continue
			}
			for j := range projected.Sources {
				if token := projected.Sources[j].ServiceAccountToken; token != nil && !yield(token) {
					return
				}
			}
		}
	}
}

// driverTokens are those that the kubelet asks for on behalf of the CSI drivers of
// the pod's volumes, each or the error that hides it. A driver is looked up once. The
// end of ctx is the last error: a pod may have thousands of volumes.
func (r *Restriction) driverTokens(ctx context.Context, pod *corev1.Pod) iter.Seq2[storagev1.TokenRequest, error] {
	return func(yield func(storagev1.TokenRequest, error) bool) {
		seen := map[string]bool{"": true}
		for i := range pod.Spec.Volumes {
			if ctx.Err() != nil {
				yield(storagev1.TokenRequest{}, fmt.Errorf("cannot look up csidrivers: %w", context.Cause(ctx)))
				return
			}
			name, err := r.driverOf(ctx, pod, &pod.Spec.Volumes[i])
			if err != nil && !yield(storagev1.TokenRequest{}, err) {
				return
			}
			if seen[name] {
				continue
			}
			seen[name] = true
			if !r.tokensOfDriver(ctx, name, yield) {
				return
			}
		}
	}
}

// tokensOfDriver yields the tokens of one driver, and returns false if that is
// enough.
func (r *Restriction) tokensOfDriver(ctx context.Context, name string,
	yield func(storagev1.TokenRequest, error) bool) bool {
	driver, err := r.config.Cluster.CSIDriver(ctx, name)
	if err != nil {
		return yield(storagev1.TokenRequest{}, err)
	}
	for _, token := range driver.Spec.TokenRequests {
		if !yield(token, nil) {
			return false
		}
	}
	return true
}

// driverOf returns the CSI driver behind a volume of the pod; empty if there is
// none. A volume of a kind that has moved to CSI is behind its driver.
func (r *Restriction) driverOf(ctx context.Context, pod *corev1.Pod, volume *corev1.Volume) (string, error) {
	inTree := csitranslation.New()
	switch {
	case volume.Ephemeral != nil && volume.Ephemeral.VolumeClaimTemplate != nil:
		return r.driverOfClaim(ctx, pod.Namespace, pod.Name+"-"+volume.Name)
	case volume.PersistentVolumeClaim != nil:
		return r.driverOfClaim(ctx, pod.Namespace, volume.PersistentVolumeClaim.ClaimName)
	case volume.CSI != nil:
		return volume.CSI.Driver, nil
	case inTree.IsInlineMigratable(volume):
		return driverOfTranslated(inTree.TranslateInTreeInlineVolumeToCSI(logr.Discard(), volume, pod.Namespace))
	default:
		return "", nil
	}
}

func (r *Restriction) driverOfClaim(ctx context.Context, namespace, name string) (string, error) {
	claim, err := r.config.Cluster.PersistentVolumeClaim(ctx, namespace, name)
	if err != nil {
		return "", err
	}
	if claim.Spec.VolumeName == "" {
		return "", apierrors.NewNotFound(corev1.Resource("persistentvolumes"), "")
	}
	volume, err := r.config.Cluster.PersistentVolume(ctx, claim.Spec.VolumeName)
	if err != nil {
		return "", err
	}
	if volume.Spec.CSI != nil {
		return volume.Spec.CSI.Driver, nil
	}
	inTree := csitranslation.New()
	if !inTree.IsPVMigratable(volume) {
		return "", nil
	}
	return driverOfTranslated(inTree.TranslateInTreePVToCSI(logr.Discard(), volume))
}

func driverOfTranslated(volume *corev1.PersistentVolume, err error) (string, error) {
	if err != nil || volume == nil || volume.Spec.CSI == nil {
		return "", err
	}
	return volume.Spec.CSI.Driver, nil
}
