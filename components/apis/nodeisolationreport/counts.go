// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeisolationreport

// Of returns the number of rules with the result.
func (c Counts) Of(result Result) int {
	switch result {
	case Held:
		return c.Held
	case NotHeld:
		return c.NotHeld
	case NotProved:
		return c.NotProved
	default:
		return c.NotApplicable
	}
}

// Total returns the number of all rules.
func (c Counts) Total() int { return c.Held + c.NotHeld + c.NotProved + c.NotApplicable }

// Count counts the results of rules. Without a profile it counts all of them.
func Count(rules []Rule, profile string) (c Counts) {
	for _, rule := range rules {
		if profile != "" && rule.Profile != profile {
			continue
		}
		switch rule.Result {
		case Held:
			c.Held++
		case NotHeld:
			c.NotHeld++
		case NotProved:
			c.NotProved++
		case NotApplicable:
			c.NotApplicable++
		}
	}
	return c
}

// Of returns the number of attacks with the verdict.
func (c AttackCounts) Of(verdict Verdict) int {
	switch verdict {
	case Stopped:
		return c.Stopped
	case Succeeded:
		return c.Succeeded
	case Unclear:
		return c.Unclear
	default:
		return c.NotTried
	}
}

// Total returns the number of all attacks.
func (c AttackCounts) Total() int { return c.Stopped + c.Succeeded + c.Unclear + c.NotTried }

// CountAttacks counts the verdicts of attacks.
func CountAttacks(attacks []Attack) (c AttackCounts) {
	for _, attack := range attacks {
		switch attack.Verdict {
		case Stopped:
			c.Stopped++
		case Succeeded:
			c.Succeeded++
		case Unclear:
			c.Unclear++
		case NotTried:
			c.NotTried++
		}
	}
	return c
}
