// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bulkhead-k8s/bulkhead/components/internal/certificatetimes"
	"github.com/bulkhead-k8s/bulkhead/components/internal/strictyaml"
)

// validateEffect rejects fields without effect: a user who sets one expects a protection that does not
// exist. Profile in-tree has its own check.
func (i *Installation) validateEffect() field.ErrorList {
	enabled := i.KubeletAPI.Enabled
	switch {
	case i.Profile == parity:
		const other = "has no effect with profile: parity. Remove the field, or set profile: hardened"
		errs := i.KubeletAPI.without(other)
		if i.ServiceAccountTokens.ExtendExpiration {
			errs = append(errs, field.Forbidden(field.NewPath("serviceAccountTokens", "extendExpiration"), other))
		}
		return errs
	case enabled != nil && !*enabled:
		return i.KubeletAPI.without("has no effect with kubeletAPI.enabled: false. Remove the field, or set " +
			"kubeletAPI.enabled: true")
	}
	return nil
}

// without returns an error for each field that is set. It allows enabled: false, which is true of every
// installation without kubelet-auth-proxy.
func (k KubeletAPI) without(why string) field.ErrorList {
	if k.Enabled != nil && !*k.Enabled {
		k.Enabled = nil
	}
	values := map[string]string{}
	root, err := strictyaml.Node(k)
	if err != nil {
		return field.ErrorList{field.InternalError(field.NewPath("kubeletAPI"), err)}
	}
	if len(root.Content) > 0 {
		flatten(root, "kubeletAPI", values)
	}
	var errs field.ErrorList
	for _, path := range slices.Sorted(maps.Keys(values)) {
		errs = append(errs, field.Forbidden(field.NewPath(path), why))
	}
	return errs
}

// imageReference is the grammar of github.com/distribution/reference, which the kubelet uses: host and
// port, path, tag and digest.
var imageReference = regexp.MustCompile(
	`^(?:(?:` + hostComponent + `(?:\.` + hostComponent + `)*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?/)?` +
		pathComponent + `(?:/` + pathComponent + `)*` +
		`(?::[\w][\w.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$`)

const (
	hostComponent = `[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?`
	pathComponent = `[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`
)

func validateImage(path *field.Path, image string) field.ErrorList {
	if image == "" || imageReference.MatchString(image) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, strictyaml.Shorten(image), "is not the name of an image: use the form "+
		"registry.example/bulkhead:v1, in lower case and without a scheme")}
}

// validate checks the times that are in force: a field that is absent has its default.
func (c *Certificates) validate(path *field.Path) field.ErrorList {
	errs := append(positive(path.Child("validity"), c.Validity), positive(path.Child("renewBefore"), c.RenewBefore)...)
	if len(errs) > 0 {
		return errs
	}
	validity, validityText := orElse(c.Validity, certificatetimes.DefaultValidity)
	before, beforeText := orElse(c.RenewBefore, certificatetimes.DefaultRenewBefore)
	switch {
	case before < certificatetimes.LeastRenewBefore:
		errs = append(errs, field.Invalid(path.Child("renewBefore"), beforeText, fmt.Sprintf("must be %v or more: "+
			"kube-apiserver looks for a new client certificate every 5 minutes", certificatetimes.LeastRenewBefore)))
	case before >= validity && c.RenewBefore != nil:
		errs = append(errs, field.Invalid(path.Child("renewBefore"), beforeText,
			"must be less than certificates.validity, which is "+validityText))
	case before >= validity:
		errs = append(errs, field.Invalid(path.Child("validity"), validityText,
			"must be more than certificates.renewBefore, which is "+beforeText))
	}
	return errs
}

// orElse returns a duration, and how to name it in a message.
func orElse(d *metav1.Duration, otherwise time.Duration) (time.Duration, string) {
	if d == nil {
		return otherwise, otherwise.String() + " by default"
	}
	return d.Duration, d.Duration.String()
}
