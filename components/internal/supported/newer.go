// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package supported

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"
)

// Newer reports whether a version of Kubernetes, in the form of gitVersion of /version, has a newer
// minor version than the newest tested one. A pre-release of a newer minor version is newer. An invalid version is
// an error.
func Newer(gitVersion string) (bool, error) {
	v, err := version.ParseGeneric(gitVersion)
	if err != nil {
		return false, fmt.Errorf("cannot read the version of Kubernetes: %w", err)
	}
	newest := version.MustParseGeneric(tested[len(tested)-1])
	if v.Major() != newest.Major() {
		return v.Major() > newest.Major(), nil
	}
	return v.Minor() > newest.Minor(), nil
}
