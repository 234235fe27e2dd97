// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package subjects

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	// The scheme knows what is installed.
	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/noderestriction/generator"
)

// Asked is a write as the API server has it when it asks each subject: upstream's plugin
// first, with objects of its own types; then a validating webhook, with objects of
// the API's types made from those, with names and audiences filled in.
type Asked struct {
	Upstream, Bulkhead admission.Attributes
}

// Ask prepares a write. An error is one of the conversion, on which the API server
// refuses by itself.
func Ask(w *generator.Write, apiAudiences []string) (Asked, error) {
	object, older, err := prepare(w, w.Object)
	if err != nil {
		return Asked{}, err
	}
	oldObject, olderOld, err := prepare(w, w.Old)
	if err != nil {
		return Asked{}, err
	}
	if w.Operation == admission.Create {
		complete(older, w.Subresource, apiAudiences)
	}
	return Asked{Upstream: attributes(w, object, oldObject), Bulkhead: attributes(w, older, olderOld)}, nil
}

func attributes(w *generator.Write, object, old runtime.Object) admission.Attributes {
	return admission.NewAttributesRecord(
		object,
		old,
		w.Kind(),
		w.Namespace,
		w.Name,
		w.Resource,
		w.Subresource,
		w.Operation,
		nil,
		w.DryRun,
		w.User,
	)
}

// prepare returns an object of the API server's own type, and one of the API's type
// that is made from it.
func prepare(w *generator.Write, o runtime.Object) (internal, external runtime.Object, err error) {
	if o == nil {
		return nil, nil, nil
	}
	if w.Defaulted {
		o = o.DeepCopyObject()
		legacyscheme.Scheme.Default(o)
	}
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(o)
	if err != nil {
		return nil, nil, fmt.Errorf("%T: %w", o, err)
	}
	if internal, err = legacyscheme.Scheme.UnsafeConvertToVersion(o, runtime.InternalGroupVersioner); err != nil {
		return nil, nil, err
	}
	external, err = legacyscheme.Scheme.UnsafeConvertToVersion(internal, kinds[0].GroupVersion())
	return internal, external, err
}

// Suffix is what the API server makes up of a name, in all writes the same here.
const Suffix = "x7k2p"

// complete does what the API server does to a new object between the plugins and the
// validating webhooks: it makes up the name, and puts its audiences in a TokenRequest
// without any.
func complete(o runtime.Object, subresource string, apiAudiences []string) {
	if token, ok := o.(*authenticationv1.TokenRequest); ok && len(token.Spec.Audiences) == 0 {
		token.Spec.Audiences = append([]string(nil), apiAudiences...)
	}
	if accessor, err := meta.Accessor(
		o,
	); err == nil && subresource == "" && accessor.GetName() == "" &&
		accessor.GetGenerateName() != "" {
		accessor.SetName(accessor.GetGenerateName() + Suffix)
	}
}
