// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodeisolationreport

import (
	"cmp"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ruleID is the form of IDs. A page uses them as anchors.
var ruleID = regexp.MustCompile(`^[A-Z][A-Z0-9]*(-[A-Z0-9]+)+$`)

// Validate returns all problems as one error, or nil.
func (r *NodeIsolationReport) Validate() error {
	var errs field.ErrorList
	names := map[string]bool{}
	for i, profile := range r.Profiles {
		path := field.NewPath("profiles").Index(i)
		if names[profile.Name] {
			errs = append(errs, field.Duplicate(path.Child("name"), profile.Name))
		}
		names[profile.Name] = true
		if want := Count(r.Rules, profile.Name); profile.Name == "" || profile.Rules != want {
			errs = append(errs, field.Invalid(path.Child("rules"), profile.Rules, "differs from the rules of the profile"))
		}
	}
	errs = append(errs, r.validateRules(field.NewPath("rules"), names)...)
	for i, attack := range r.Attacks {
		path := field.NewPath("attacks").Index(i)
		errs = append(errs, oneOf(path.Child("verdict"), attack.Verdict, Verdicts())...)
		errs = append(errs, validateEvidence(path.Child("steps"), attack.Steps)...)
	}
	if r.Summary.Rules != Count(r.Rules, "") {
		errs = append(errs, field.Invalid(field.NewPath("summary", "rules"), r.Summary.Rules, "differs from the rules"))
	}
	if r.Summary.Attacks != CountAttacks(r.Attacks) {
		errs = append(errs, field.Invalid(field.NewPath("summary", "attacks"), r.Summary.Attacks, "differs from the attacks"))
	}
	return first(errs).ToAggregate()
}

func (r *NodeIsolationReport) validateRules(at *field.Path, profiles map[string]bool) (errs field.ErrorList) {
	seen := map[string]bool{}
	for i, rule := range r.Rules {
		path := at.Index(i)
		switch {
		case !ruleID.MatchString(rule.ID):
			errs = append(errs, field.Invalid(path.Child("id"), short(rule.ID), "must be an ID such as NA-LEASE-3"))
		case seen[rule.ID]:
			errs = append(errs, field.Duplicate(path.Child("id"), rule.ID))
		}
		seen[rule.ID] = true
		if !profiles[rule.Profile] {
			errs = append(errs, field.Invalid(path.Child("profile"), short(rule.Profile), "is not among the profiles"))
		}
		if rule.Result != Held && rule.Reason == "" {
			errs = append(errs, field.Required(path.Child("reason"), "the result is not held"))
		}
		errs = append(errs, oneOf(path.Child("result"), rule.Result, Results())...)
		errs = append(errs, validateEvidence(path.Child("evidence"), rule.Evidence)...)
	}
	return errs
}

func validateEvidence(at *field.Path, all []Evidence) (errs field.ErrorList) {
	for i, evidence := range all {
		errs = append(errs, oneOf(at.Index(i).Child("outcome"), evidence.Outcome, outcomes())...)
	}
	return errs
}

func oneOf[T ~string](at *field.Path, value T, valid []T) field.ErrorList {
	if slices.Contains(valid, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(at, T(short(string(value))), valid)}
}

// first limits the length of the error.
func first(errs field.ErrorList) field.ErrorList {
	const most = 20
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return cmp.Compare(a.Field, b.Field) })
	return errs[:min(len(errs), most)]
}

func short(text string) string {
	const longest = 80
	return text[:min(len(text), longest)]
}
