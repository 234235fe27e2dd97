// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	csitranslation "k8s.io/csi-translation-lib"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

var tokenAudience = rules.Rule{
	ID: "NR-SA-4",
	Description: "While ServiceAccountNodeAudienceRestriction is on, a node creates a token for at most one " +
		"audience. A projected volume of the pod names that audience, the driver of one of its volumes does, or " +
		"an administrator has granted it to the node.",
	Source: "plugin/pkg/admission/noderestriction/admission.go validateNodeServiceAccountAudience",
}

// audience is the audience that a node requests a token for.
type audience struct {
	// name is empty if the request names no audience. Then the token is for the API server.
	name string
	// alias is the name of the API server's audience, if the client may have sent it. Otherwise it
	// is empty.
	alias string
	// many is true for several audiences. A pod never requests several in one token.
	many bool
}

// audienceOf finds the audience that the client sent. If a request names no audience, the API
// server inserts all of its own audiences in their order. It does so before it calls the webhook
// (pkg/registry/core/serviceaccount/storage/token.go Create). So a request with exactly these
// audiences counts as one that names none. If the API server has only one audience, a client that
// sent its name looks the same and gets the same token. Then it is enough if the pod requests the
// empty audience or this name.
func (r *Restriction) audienceOf(requested []string) audience {
	own := r.config.APIAudiences
	switch {
	case len(requested) == 0:
		return audience{}
	case slices.Equal(requested, own) && len(own) > 1:
		return audience{}
	case slices.Equal(requested, own):
		return audience{alias: own[0]}
	case len(requested) == 1:
		return audience{name: requested[0]}
	default:
		return audience{many: true}
	}
}

// is reports whether a pod that requests the audience named may get this token.
func (a audience) is(named string) bool {
	return !a.many && (named == a.name || a.alias != "" && named == a.alias)
}

func (r *Restriction) reviewAudience(ctx context.Context, q *request, pod *corev1.Pod, asked audience) *rules.Decision {
	if !r.config.Features.ServiceAccountNodeAudienceRestriction {
		return nil
	}
	if asked.many {
		return q.forbid(tokenAudience, "node may only request 0 or 1 audiences")
	}
	if projects(pod, asked) {
		return nil
	}
	used, err := r.driversUse(ctx, pod, asked)
	if err != nil {
		return q.forbid(tokenAudience, fmt.Sprintf("error validating audience %q: %v", asked.name, err))
	}
	if used {
		return nil
	}
	return r.reviewGrantedAudience(ctx, q, asked)
}

// projects reports whether the pod has a volume that projects a token for the audience.
func projects(pod *corev1.Pod, asked audience) bool {
	for token := range projectedTokens(pod) {
		if asked.is(token.Audience) {
			return true
		}
	}
	return false
}

// driversUse reports whether the CSI driver of one of the pod's volumes requests tokens for the
// audience. It returns a failed lookup as an error only if no driver requests them.
func (r *Restriction) driversUse(ctx context.Context, pod *corev1.Pod, asked audience) (bool, error) {
	var errs []error
	for token, err := range r.driverTokens(ctx, pod) {
		if err != nil {
			errs = append(errs, err)
		} else if asked.is(token.Audience) {
			return true, nil
		}
	}
	return false, utilerrors.NewAggregate(errs)
}

// reviewGrantedAudience checks whether an administrator has granted the node an audience that the
// pod does not request.
func (r *Restriction) reviewGrantedAudience(ctx context.Context, q *request, asked audience) *rules.Decision {
	who := q.GetUserInfo().GetName()
	granted, err := r.granted(ctx, q, "request-serviceaccounts-token-audience", asked.name, q.GetName())
	if !granted && asked.alias != "" {
		granted, err = r.granted(ctx, q, "request-serviceaccounts-token-audience", asked.alias, q.GetName())
	}
	if granted {
		return nil
	}
	if err != nil {
		return q.forbid(tokenAudience,
			fmt.Sprintf("error authorizing %s to request tokens for audience %q: %v", who, asked.name, err))
	}
	return q.forbid(tokenAudience, fmt.Sprintf("%s is not authorized to request tokens for audience %q", who, asked.name))
}

// granted asks the authorizers whether the node has the right. The resource of such a right is not
// an API resource. It is an audience or a signer.
func (r *Restriction) granted(ctx context.Context, q *request, verb, resource, name string) (bool, error) {
	if r.config.Authorizer == nil {
		return false, nil
	}
	allowed, err := r.config.Authorizer.Allowed(ctx, q.GetUserInfo(), Right{
		Verb: verb, Group: q.GetResource().Group, Version: q.GetResource().Version,
		Resource: resource, Namespace: q.GetNamespace(), Name: name,
	})
	return allowed && err == nil, err
}

// projectedTokens returns the service account tokens that the pod's volumes project.
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

// driverTokens returns the tokens that the kubelet requests for the CSI drivers of the pod's
// volumes. For a failed lookup it yields the error instead. It looks up every driver once. It stops
// when ctx ends and yields that as the last error, because a pod can have thousands of volumes.
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

// tokensOfDriver yields the tokens of one driver. It returns false when the caller needs no more.
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

// driverOf returns the CSI driver of a volume of the pod. It returns "" if there is none. An
// in-tree volume type that has migrated to CSI has the driver that it migrated to.
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
