// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeisolationreport

import (
	"fmt"

	"github.com/bulkhead-k8s/bulkhead/components/internal/strictyaml"
)

// MaxBytes is the size of the largest report.
const MaxBytes = 4 << 20

// Parse reads a report in YAML or JSON, of at most [MaxBytes]. It is strict: an unknown or duplicate
// field, an unknown result, and counts that differ from the rules are errors. The error lists up to
// 20 problems.
func Parse(data []byte) (*NodeIsolationReport, error) {
	root, err := strictyaml.ParseUpTo(data, MaxBytes)
	if err != nil {
		return nil, err
	}
	r := &NodeIsolationReport{}
	if err := strictyaml.CheckHeader(root, APIVersion, Kind); err != nil {
		return nil, err
	}
	if _, err := strictyaml.Decode(root, r); err != nil {
		return nil, err
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return r, nil
}

// Marshal returns the report in YAML. The fields have the order of the types. The same report gives
// the same bytes.
func (r *NodeIsolationReport) Marshal() ([]byte, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	root, err := strictyaml.Node(r)
	if err != nil {
		return nil, err
	}
	text, err := strictyaml.Encode(root)
	if err != nil {
		return nil, err
	}
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("the report has %d bytes, which is more than %d", len(text), MaxBytes)
	}
	return text, nil
}
