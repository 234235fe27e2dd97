// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/noderestriction/generator"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/noderestriction/subjects"
)

// example is a write that is answered wrongly.
type example struct {
	set     map[string]bool
	cluster *generator.Cluster
	write   *generator.Write
}

// wrong returns what is wrong with the answers, or "".
func (e example) wrong() string {
	pair, err := subjects.NewPair(e.set)
	if err != nil {
		return ""
	}
	if err := pair.Show(e.cluster); err != nil {
		return ""
	}
	return compare(pair, e.cluster, e.write, harness.Counts{})
}

// shrunk returns the smallest example that still fails.
func (e example) shrunk() example {
	return harness.Shrink(e, example.smaller, func(e example) bool { return e.wrong() != "" })
}

// smaller returns examples with one detail less: first in the write, then in the cluster.
func (e example) smaller() iter.Seq[example] {
	return func(yield func(example) bool) {
		for _, w := range e.write.Simpler() {
			if !yield(example{e.set, e.cluster, w}) {
				return
			}
		}
		for _, c := range e.cluster.Simpler() {
			if !yield(example{e.set, c, e.write}) {
				return
			}
		}
	}
}

// String returns what is wrong, the write, and the other objects in the cluster.
func (e example) String() string {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"%s\n\tgates: %v\n\t%s %s/%s %v namespace %q name %q\n\tuser: %+v\n\tdefaulted: %v, API audiences: %v",
		e.wrong(),
		e.set,
		e.write.Operation,
		e.write.Resource,
		e.write.Subresource,
		e.write.DryRun,
		e.write.Namespace,
		e.write.Name,
		e.write.User,
		e.write.Defaulted,
		e.cluster.APIAudiences,
	)
	fmt.Fprintf(
		&b,
		"\n\tobject: %T %s\n\told:    %T %s",
		e.write.Object,
		inJSON(e.write.Object),
		e.write.Old,
		inJSON(e.write.Old),
	)
	v := reflect.ValueOf(e.cluster).Elem()
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Slice && v.Field(i).Len() > 0 {
			fmt.Fprintf(&b, "\n\t%s: %s", v.Type().Field(i).Name, inJSON(v.Field(i).Interface()))
		}
	}
	return b.String()
}

func inJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
