// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
)

// updateVariable makes the test below write the condition into the file. `make update` sets it.
const updateVariable = "BULKHEAD_UPDATE_MATCH_CONDITION"

// The condition is generated from the rules. Only the hardened profile has it: in parity, every write
// is reviewed.
func TestRegistrationHasTheGeneratedCondition(t *testing.T) {
	const indent = "          "
	want := indent + strings.ReplaceAll(noderestriction.MatchCondition(), "\n", "\n"+indent) + "\n"
	file := string(read(t, RegistrationHardened))
	begin, end := "        expression: |-\n", "    rules:\n"
	before, rest, found := strings.Cut(file, begin)
	have, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatalf("%s has no expression with %q", RegistrationHardened, begin)
	}
	if os.Getenv(updateVariable) != "" {
		if err := os.WriteFile(RegistrationHardened, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("run `make update` (-want +got)\n%s", diff)
	}
	if parity := string(read(t, RegistrationParity)); strings.Contains(parity, begin) {
		t.Errorf("%s has the condition", RegistrationParity)
	}
}
