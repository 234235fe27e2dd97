// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package sarwebhook

import (
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// attributesFrom returns the attributes that an in-tree authorizer would see. Source:
// pkg/registry/authorization/util/helpers.go AuthorizationAttributesFrom. There is one difference:
// rawSelector is never parsed. kube-apiserver does not send it, and a selector that kube-apiserver
// has not applied must not grant anything.
func attributesFrom(spec *authorizationv1.SubjectAccessReviewSpec) *authorizer.AttributesRecord {
	who := &user.DefaultInfo{Name: spec.User, UID: spec.UID, Groups: spec.Groups, Extra: extraFrom(spec.Extra)}
	if r := spec.ResourceAttributes; r != nil {
		return resourceAttributesFrom(who, r)
	}
	return &authorizer.AttributesRecord{
		User: who,
		Verb: spec.NonResourceAttributes.Verb,
		Path: spec.NonResourceAttributes.Path,
	}
}

func resourceAttributesFrom(who user.Info, in *authorizationv1.ResourceAttributes) *authorizer.AttributesRecord {
	out := &authorizer.AttributesRecord{
		User:            who,
		Verb:            in.Verb,
		Namespace:       in.Namespace,
		APIGroup:        in.Group,
		APIVersion:      in.Version,
		Resource:        in.Resource,
		Subresource:     in.Subresource,
		Name:            in.Name,
		ResourceRequest: true,
	}
	if out.APIVersion == "" {
		out.APIVersion = "*"
	}
	if in.FieldSelector != nil {
		out.FieldSelectorRequirements, out.FieldSelectorParsingErr = fieldRequirements(in.FieldSelector.Requirements)
	}
	if in.LabelSelector != nil {
		out.LabelSelectorRequirements, out.LabelSelectorParsingErr = labelRequirements(in.LabelSelector.Requirements)
	}
	return out
}

// fieldRequirements returns the valid requirements, and errors for the others. Requirements are
// ANDed. So a request without one of them asks for more access, never for less.
func fieldRequirements(in []metav1.FieldSelectorRequirement) (fields.Requirements, error) {
	var out fields.Requirements
	var errs []error
	for _, r := range in {
		operator, err := fieldOperator(r)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, fields.Requirement{Field: r.Key, Operator: operator, Value: r.Values[0]})
	}
	return out, utilerrors.NewAggregate(errs)
}

// fieldOperator converts In and NotIn to the operators = and != of a field selector. In and NotIn
// with no value or several values are errors.
func fieldOperator(r metav1.FieldSelectorRequirement) (selection.Operator, error) {
	if len(r.Values) != 1 {
		return "", fmt.Errorf("field selector operator %q with %d values", r.Operator, len(r.Values))
	}
	switch r.Operator {
	case metav1.FieldSelectorOpIn:
		return selection.Equals, nil
	case metav1.FieldSelectorOpNotIn:
		return selection.NotEquals, nil
	default:
		return "", fmt.Errorf("field selector operator %q", r.Operator)
	}
}

func labelRequirements(in []metav1.LabelSelectorRequirement) (labels.Requirements, error) {
	var out labels.Requirements
	var errs []error
	for _, r := range in {
		operator, err := labelOperator(r.Operator)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		requirement, err := labels.NewRequirement(r.Key, operator, r.Values)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, *requirement)
	}
	return out, utilerrors.NewAggregate(errs)
}

func labelOperator(operator metav1.LabelSelectorOperator) (selection.Operator, error) {
	switch operator {
	case metav1.LabelSelectorOpIn:
		return selection.In, nil
	case metav1.LabelSelectorOpNotIn:
		return selection.NotIn, nil
	case metav1.LabelSelectorOpExists:
		return selection.Exists, nil
	case metav1.LabelSelectorOpDoesNotExist:
		return selection.DoesNotExist, nil
	default:
		return "", fmt.Errorf("label selector operator %q", operator)
	}
}

func extraFrom(in map[string]authorizationv1.ExtraValue) map[string][]string {
	if in == nil {
		return nil
	}
	out := make(map[string][]string, len(in))
	for k, v := range in {
		out[k] = v
	}
	return out
}
