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

// forbidden is a refusal of the write for a reason.
func (c *comparison) forbidden(text string) subjects.Answer {
	err, ok := admission.NewForbidden(c.asked.Bulkhead, fmt.Errorf("%s", text)).(*apierrors.StatusError) //nolint:errorlint // it is not wrapped
	if !ok {
		return subjects.Answer{}
	}
	return subjects.Answer{Code: err.ErrStatus.Code, Reason: err.ErrStatus.Reason, Message: err.ErrStatus.Message}
}

// node is the name of the node that writes.
func (c *comparison) node() string {
	return strings.TrimPrefix(c.asked.Bulkhead.GetUserInfo().GetName(), "system:node:")
}

func (c *comparison) creates(resource, subresource string) bool {
	a := c.asked.Bulkhead
	return a.GetOperation() == admission.Create && a.GetResource().Resource == resource &&
		a.GetSubresource() == subresource
}

// withName has a refusal call a new object by the name that the API server made up.
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

// withType calls the types of objects as the API's package does. Of an update with a
// wrong old object, upstream prints the type of the new one.
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

// ofAnotherType is an object that upstream does not look at, or only at its name.
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

// byOldPod decides on the pod that is about to be deleted, which the watch may not
// show yet, or not any more, and which has no name where many are deleted at once.
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

// ofAnotherName is a Node in the name of the one that writes and with another name.
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

// ofTwoKinds is a mirror pod that hides a volume behind another, which Bulkhead refuses,
// by one or the other.
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

// byOldField is a mirror pod whose account is in the field that the API server keeps
// in step with the other.
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

// kinds counts the pointers of a struct that are set.
func kinds(source any) int {
	count, v := 0, reflect.ValueOf(source)
	for i := range v.NumField() {
		if !v.Field(i).IsNil() {
			count++
		}
	}
	return count
}

// forAPIAudiences is a token for just the API server's own audiences: it counts as one
// for none, and if there is one audience, also as one for that by its name.
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
		// Both were refused; Bulkhead says it of none, with what was wrong last.
		return c.bulkhead.WithoutRule()
	}
	return inPlural(p, c, asked[0])
}

// withAudiences is upstream's answer to the same request for other audiences.
func (c *comparison) withAudiences(p *subjects.Pair, audiences []string) subjects.Answer {
	write := c.write.Clone()
	write.Object.(*authenticationv1.TokenRequest).Spec.Audiences = audiences
	asked, err := subjects.Ask(write, nil)
	if err != nil {
		return subjects.Answer{}
	}
	return p.Upstream(context.Background(), asked.Upstream)
}

// ofLongRequest is one that Bulkhead does not read.
func ofLongRequest(_ *subjects.Pair, c *comparison, want subjects.Answer) subjects.Answer {
	request, ok := c.asked.Bulkhead.GetObject().(*certificatesv1.CertificateSigningRequest)
	if !ok || len(request.Spec.Request) <= 64<<10 {
		return want
	}
	return c.forbidden("unable to parse csr: it has more than 65536 bytes")
}
