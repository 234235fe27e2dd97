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
	Description: "While ServiceAccountNodeAudienceRestriction is on, a node gets a token for at most one audience, and " +
		"only for one that a projected volume of the pod names, or the driver of one of its volumes, or that an " +
		"administrator has granted the node.",
	Source: "plugin/pkg/admission/noderestriction/admission.go validateNodeServiceAccountAudience",
}

// audience is whom a token is for.
type audience struct {
	// name is empty if the request does not say, which stands for the API server.
	name string
	// alias is how a request would have named the API server, if it may have.
	alias string
	// many is true for several audiences, which no pod asks for at once.
	many bool
}

// audienceOf finds out what the client sent. Before it asks us, the API server puts
// its own audiences, all of them and in their order, in a request that names none
// (pkg/registry/core/serviceaccount/storage/token.go Create). A request that has
// just these is taken for one that names none. Where the API server has one
// audience only, a client that sent it by name looks the same, and gets the same
// token: it is enough then that the pod asks for either.
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

// is true if a pod that asks for this audience may be given the token.
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

// projects is true if the pod has a volume with a token for the audience.
func projects(pod *corev1.Pod, asked audience) bool {
	for token := range projectedTokens(pod) {
		if asked.is(token.Audience) {
			return true
		}
	}
	return false
}

// driversUse is true if the driver of one of the pod's volumes is given tokens for
// the audience. What could not be looked up matters only if nothing else has it.
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

// reviewGrantedAudience asks whether an administrator has granted what the pod does
// not ask for.
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

// granted asks the authorizers as the node. The resource of such a right is not one
// of the API's: it is an audience or a signer.
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
