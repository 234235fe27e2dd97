// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/noderestriction/subjects"
)

// forbidden returns a denial of the write with this reason.
func (c *comparison) forbidden(text string) subjects.Answer {
	//nolint:errorlint // the error is not wrapped
	err, ok := admission.NewForbidden(c.asked.Bulkhead, fmt.Errorf("%s", text)).(*apierrors.StatusError)
	if !ok {
		return subjects.Answer{}
	}
	return subjects.Answer{Code: err.ErrStatus.Code, Reason: err.ErrStatus.Reason, Message: err.ErrStatus.Message}
}

// node returns the name of the node that writes.
func (c *comparison) node() string {
	return strings.TrimPrefix(c.asked.Bulkhead.GetUserInfo().GetName(), "system:node:")
}

func (c *comparison) creates(resource, subresource string) bool {
	a := c.asked.Bulkhead
	return a.GetOperation() == admission.Create && a.GetResource().Resource == resource &&
		a.GetSubresource() == subresource
}

// withName expects the name that the API server generated in the denial of a new object.
func withName(_ *subjects.Pair, c *comparison, want subjects.Answer) subjects.Answer {
	accessor, err := meta.Accessor(c.asked.Bulkhead.GetObject())
	if err != nil || want.Code != 403 || c.asked.Bulkhead.GetName() != "" ||
		c.asked.Bulkhead.GetOperation() != admission.Create {
		return want
	}
	if generated := accessor.GetGenerateName(); generated != "" && accessor.GetName() == generated+subjects.Suffix {
		want.Message = strings.Replace(
			want.Message,
			fmt.Sprintf("%q is forbidden", generated),
			fmt.Sprintf("%q is forbidden", accessor.GetName()),
			1,
		)
	}
	return want
}

// withType expects the Go type names of the API's package. For an update with a wrong old object,
// upstream prints the type of the new object.
func withType(_ *subjects.Pair, c *comparison, want subjects.Answer) subjects.Answer {
	const text = "unexpected type "
	before, _, found := strings.Cut(want.Message, text)
	if !found {
		return want
	}
	for _, o := range []runtime.Object{c.asked.Bulkhead.GetObject(), c.asked.Bulkhead.GetOldObject()} {
		if printed := before + text + fmt.Sprintf("%T", o); c.message() == printed {
			want.Message = printed
		}
	}
	return want
}

// ofAnotherType expects a denial of an object with a wrong type. Upstream checks only its name, or
// nothing.
func ofAnotherType(_ *subjects.Pair, c *comparison, want subjects.Answer) subjects.Answer {
	o := c.asked.Bulkhead.GetObject()
	switch {
	case c.creates("csinodes", c.write.Subresource):
		if _, ok := o.(*storagev1.CSINode); !ok {
			return c.forbidden("unable to access the object name")
		}
	case c.creates("certificatesigningrequests", c.write.Subresource):
		if _, ok := o.(*certificatesv1.CertificateSigningRequest); !ok {
			return c.forbidden(fmt.Sprintf("unexpected type %T", o))
		}
	}
	return want
}

// byOldPod expects a decision on the pod in the request's old object. The watch may not show that
// pod yet, or no longer. The request has no name if many pods are deleted at once.
func byOldPod(_ *subjects.Pair, c *comparison, want subjects.Answer) subjects.Answer {
	a := c.asked.Bulkhead
	if a.GetOperation() != admission.Delete || a.GetResource().Resource != "pods" || a.GetSubresource() != "" {
		return want
	}
	pod, ok := a.GetOldObject().(*corev1.Pod)
	switch {
	case !ok:
		return c.forbidden(fmt.Sprintf("unexpected type %T", a.GetOldObject()))
	case pod.Spec.NodeName == c.node():
		return subjects.Answer{}
	default:
		return c.forbidden(fmt.Sprintf("node %q can only delete pods with spec.nodeName set to itself", c.node()))
	}
}

// ofAnotherName expects a denial of a Node object with another name than the request, which names
// the writing node.
func ofAnotherName(_ *subjects.Pair, c *comparison, want subjects.Answer) subjects.Answer {
	a := c.asked.Bulkhead
	if a.GetResource().Resource != "nodes" || a.GetName() != c.node() {
		return want
	}
	for _, o := range []runtime.Object{a.GetObject(), a.GetOldObject()} {
		if node, ok := o.(*corev1.Node); ok && node.Name != c.node() {
			return c.forbidden(fmt.Sprintf("node %q is not allowed to modify node %q", c.node(), node.Name))
		}
	}
	return want
}

// ofTwoKinds expects a denial of a mirror pod in which one volume has two sources. Bulkhead denies
// it because of either source.
func ofTwoKinds(_ *subjects.Pair, c *comparison, want subjects.Answer) subjects.Answer {
	pod, ok := c.asked.Bulkhead.GetObject().(*corev1.Pod)
	if !ok || !c.creates("pods", "") || c.bulkhead.Admitted() || want.Code != 0 && want.Code != 403 {
		return want
	}
	for i := range pod.Spec.Volumes {
		source := &pod.Spec.Volumes[i].VolumeSource
		if kinds(*source) > 1 ||
			source.Projected != nil &&
				slices.ContainsFunc(
					source.Projected.Sources,
					func(s corev1.VolumeProjection) bool { return kinds(s) > 1 },
				) {
			return c.bulkhead.WithoutRule()
		}
	}
	return want
}

// byOldField expects a denial of a mirror pod that names its account only in the deprecated field.
// The API server keeps both fields equal.
func byOldField(_ *subjects.Pair, c *comparison, want subjects.Answer) subjects.Answer {
	pod, ok := c.asked.Bulkhead.GetObject().(*corev1.Pod)
	if !ok || !c.creates("pods", "") || c.write.Defaulted || pod.Spec.ServiceAccountName != "" ||
		pod.Spec.DeprecatedServiceAccount == "" {
		return want
	}
	const text = "can not create pods that reference "
	if want.Admitted() || strings.Contains(want.Message, text) ||
		strings.Contains(want.Message, "error checking mirror pod") {
		return c.forbidden(fmt.Sprintf("node %q %sserviceaccounts", c.node(), text))
	}
	return want
}

// kinds returns the number of pointers in a struct that are set.
func kinds(source any) int {
	count, v := 0, reflect.ValueOf(source)
	for i := range v.NumField() {
		if !v.Field(i).IsNil() {
			count++
		}
	}
	return count
}

// forAPIAudiences applies to a token for exactly the API server's own audiences. Such a request
// counts as one without audiences. If there is one audience, it also counts as one for that
// audience.
func forAPIAudiences(p *subjects.Pair, c *comparison, want subjects.Answer) subjects.Answer {
	token, ok := c.asked.Bulkhead.GetObject().(*authenticationv1.TokenRequest)
	if own := c.cluster.APIAudiences; !ok || !c.creates("serviceaccounts", "token") || len(own) == 0 ||
		!slices.Equal(token.Spec.Audiences, own) {
		return want
	}
	asked := []subjects.Answer{c.withAudiences(p, nil)}
	if len(c.cluster.APIAudiences) == 1 {
		asked = append(asked, c.withAudiences(p, c.cluster.APIAudiences))
	}
	for _, answer := range asked {
		if answer.Admitted() {
			return answer
		}
	}
	if len(asked) == 2 && strings.Contains(c.bulkhead.Message, `audience ""`) {
		// Both were denied. Bulkhead's message names no audience, and the last reason.
		return c.bulkhead.WithoutRule()
	}
	return inPlural(p, c, asked[0])
}

// withAudiences returns upstream's answer to the same request with other audiences.
func (c *comparison) withAudiences(p *subjects.Pair, audiences []string) subjects.Answer {
	write := c.write.Clone()
	write.Object.(*authenticationv1.TokenRequest).Spec.Audiences = audiences
	asked, err := subjects.Ask(write, nil)
	if err != nil {
		return subjects.Answer{}
	}
	return p.Upstream(context.Background(), asked.Upstream)
}

// ofLongRequest expects a denial of a certificate request that is too long for Bulkhead to read.
func ofLongRequest(_ *subjects.Pair, c *comparison, want subjects.Answer) subjects.Answer {
	request, ok := c.asked.Bulkhead.GetObject().(*certificatesv1.CertificateSigningRequest)
	if !ok || len(request.Spec.Request) <= 64<<10 {
		return want
	}
	return c.forbidden("unable to parse csr: it has more than 65536 bytes")
}
