// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopeindex

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

// account is a ServiceAccount. scope is nil if it has no scope annotation.
type account struct {
	scope      *Value
	exemptions *nodescope.Exemptions
	audits     bool
	// misread is true if the exemptions or the mode could not be parsed.
	misread bool
	created time.Time
}

// SetAccount stores the account's annotations and replaces earlier ones.
func (x *Index) SetAccount(sa *corev1.ServiceAccount) {
	named := types.NamespacedName{Namespace: sa.Namespace, Name: sa.Name}
	x.mu.Lock()
	defer x.mu.Unlock()
	before := x.accounts[named]
	next := account{created: sa.CreationTimestamp.Time}
	var errs []error
	wasMisread := before.misread || before.scope.misread()
	if text, annotated := sa.Annotations[nodescope.ScopeAnnotation]; annotated {
		next.scope = x.values.Change(before.scope, Owner{Namespace: named.Namespace}, text)
		errs = append(errs, next.scope.Err)
	} else {
		x.values.Release(before.scope)
	}
	if text, annotated := sa.Annotations[nodescope.ExemptionsAnnotation]; annotated {
		exemptions, err := nodescope.ParseExemptions(text)
		next.exemptions, next.misread = exemptions, err != nil
		errs = append(errs, err)
	}
	if text, annotated := sa.Annotations[nodescope.ModeAnnotation]; annotated {
		audits, err := nodescope.ParseMode(text)
		next.audits, next.misread = audits, next.misread || err != nil
		errs = append(errs, err)
	}
	x.accounts[named] = next
	if err := errors.Join(errs...); err != nil && !wasMisread {
		x.unread("ServiceAccount", named.Namespace, named.Name, err)
	}
}

// DeleteAccount removes the account. Later requests of the account are denied.
func (x *Index) DeleteAccount(namespace, name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.deleteAccount(types.NamespacedName{Namespace: namespace, Name: name})
}

// RetainAccounts removes the accounts that are not in the set.
func (x *Index) RetainAccounts(keep map[types.NamespacedName]struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for named := range x.accounts {
		if _, kept := keep[named]; !kept {
			x.deleteAccount(named)
		}
	}
}

func (x *Index) deleteAccount(named types.NamespacedName) {
	x.values.Release(x.accounts[named].scope)
	delete(x.accounts, named)
}
