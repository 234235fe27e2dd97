// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import "strings"

// Setting returns a field with its value as YAML on one line, for messages. The names in the path
// are separated by dots: nodePolicy.allowedLabels.
func Setting(path, value string) string {
	names := strings.Split(path, ".")
	return strings.Join(names, ": {") + ": " + value + strings.Repeat("}", len(names)-1)
}

// List returns strings as a YAML list on one line. The strings must need no escapes.
func List(values []string) string {
	if len(values) == 0 {
		return "[]"
	}
	return `["` + strings.Join(values, `", "`) + `"]`
}
