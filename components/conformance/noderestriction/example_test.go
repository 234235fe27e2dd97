// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package againstupstream

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/againstupstream/sides"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/againstupstream/world"
)

// example is a write that is answered wrongly.
type example struct {
	set   map[string]bool
	world *world.World
	write *world.Write
}

// wrong is what is wrong with the answers, or empty.
func (e example) wrong() string {
	pair, err := sides.NewPair(e.set)
	if err != nil {
		return ""
	}
	if err := pair.Show(e.world); err != nil {
		return ""
	}
	return compare(pair, e.world, e.write, counts{})
}

// shrunk lacks as much as can be left out so that something is still wrong.
func (e example) shrunk() example {
	for {
		smaller, found := e.smaller()
		if !found {
			return e
		}
		e = smaller
	}
}

// smaller finds an example that lacks one thing and still goes wrong.
func (e example) smaller() (example, bool) {
	for _, w := range e.write.Simpler() {
		if less := (example{e.set, e.world, w}); less.wrong() != "" {
			return less, true
		}
	}
	for _, w := range e.world.Simpler() {
		if less := (example{e.set, w, e.write}); less.wrong() != "" {
			return less, true
		}
	}
	return e, false
}

// String says what is wrong, about what write, and what there is beside it.
func (e example) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\tgates: %v\n\t%s %s/%s %v namespace %q name %q\n\tuser: %+v\n\tdefaulted: %v, API audiences: %v",
		e.wrong(), e.set, e.write.Operation, e.write.Resource, e.write.Subresource, e.write.DryRun, e.write.Namespace, e.write.Name,
		e.write.User, e.write.Defaulted, e.world.APIAudiences)
	fmt.Fprintf(&b, "\n\tobject: %T %s\n\told:    %T %s", e.write.Object, inJSON(e.write.Object), e.write.Old, inJSON(e.write.Old))
	v := reflect.ValueOf(e.world).Elem()
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
