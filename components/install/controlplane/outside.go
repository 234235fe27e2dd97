// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bulkhead-k8s/bulkhead/components/install/render"
)

// SharedObjects returns the API objects that depend on no setting and no file of a host, as `bulkhead
// install` of this version writes them. guards is true if the installation protects the kubelets' API.
func SharedObjects(guards bool) ([]*unstructured.Unstructured, error) {
	objects, err := apiObjects()
	if err != nil || !guards {
		return objects, err
	}
	guard, err := guardObjects()
	if err != nil {
		return nil, err
	}
	proxy, err := proxyObjects()
	if err != nil {
		return nil, err
	}
	// The DaemonSet has the image and the rule modes of the hosts. The binding has the user name of a
	// certificate on the host.
	return slices.DeleteFunc(slices.Concat(objects, guard, proxy), func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "DaemonSet" || o.GetKind() == "ClusterRoleBinding" && o.GetName() == kubeletClientRole
	}), nil
}

// Installed reports whether the API has everything of an object. have is nil if the API has none.
func Installed(have, want *unstructured.Unstructured) bool {
	return have != nil && render.Contains(have.Object, want.Object)
}

// Registration returns the webhook configuration of Bulkhead in the API, or nil if there is none.
func Registration(ctx context.Context, api interface {
	Get(context.Context, *unstructured.Unstructured) (*unstructured.Unstructured, error)
}) (*unstructured.Unstructured, error) {
	return api.Get(ctx, registered())
}

// JudgeRegistration compares a webhook configuration in the API with that of the profile. changed is
// true if it is another one. ignores is true if it is the same one with failure policy Ignore. It does
// not compare the CAs, which are those of the hosts.
func JudgeRegistration(have *unstructured.Unstructured, p Profile) (changed, ignores bool, err error) {
	want, err := RegistrationInAPI(p, bundleOf(have))
	if err != nil {
		return false, false, err
	}
	if Installed(have, want) {
		return false, false, nil
	}
	if err := render.IgnoreFailures(want); err != nil {
		return false, false, err
	}
	ignores = Installed(have, want)
	return !ignores, ignores, nil
}

// RegistrationInAPI returns the webhook configuration of the profile for a kube-apiserver that does not
// read it from disk.
func RegistrationInAPI(p Profile, bundle []byte) (*unstructured.Unstructured, error) {
	object, err := render.Registration(p.registration(), bundle)
	if err != nil {
		return nil, err
	}
	object.SetName(registeredName)
	return object, nil
}
