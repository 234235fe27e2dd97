// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"io"
	"time"
)

// worthTelling is how long a step takes before its duration is of interest.
const worthTelling = 3 * time.Second

// progress tells a person what is going on, a line for each step.
type progress struct {
	out io.Writer
	now func() time.Time
}

func (p progress) say(format string, args ...any) {
	_, _ = fmt.Fprintf(p.out, format+"\n", args...)
}

// note tells what is worth knowing about the step that runs.
func (p progress) note(format string, args ...any) { p.say("  note       "+format, args...) }

// step runs one step and prints how it ended.
func (p progress) step(name string, run func() (changed bool, err error)) (bool, error) {
	begin := p.now()
	changed, err := run()
	took := ""
	if elapsed := p.now().Sub(begin); elapsed > worthTelling {
		took = fmt.Sprintf(" (%s)", elapsed.Round(100*time.Millisecond))
	}
	switch {
	case err != nil:
		p.say("  failed     %s%s", name, took)
	case changed:
		p.say("  done       %s%s", name, took)
	default:
		p.say("  unchanged  %s%s", name, took)
	}
	return changed, err
}
