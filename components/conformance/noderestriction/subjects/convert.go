// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package subjects

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	// These imports register the API types in the scheme.
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

// Asked is a write in the two forms in which the API server passes it on. Upstream's plugin comes
// first, and gets internal objects. Then a validating webhook gets the versioned objects that are
// converted from them, with generated names and audiences.
type Asked struct {
	Upstream, Bulkhead admission.Attributes
}

// Ask prepares a write. It returns an error if the conversion fails. In that case the API server
// itself rejects the write.
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

// prepare returns the internal object of the API server, and the versioned object that is converted
// from it.
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

// Suffix is the generated suffix of names. In this test it is the same in all writes.
const Suffix = "x7k2p"

// complete does what the API server does to a new object between the plugins and the validating
// webhooks. It generates the name, and adds the API server's audiences to a TokenRequest without
// audiences.
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
