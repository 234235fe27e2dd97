// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopelist

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// MaxAccounts is the maximum number of accounts in a list.
	MaxAccounts = 1000
	// maxListLength is the maximum number of characters of a list. An API server does not
	// compile an expression of more than 100,000 characters, and the text before the list needs
	// some of them. [MaxAccounts] accounts fit if namespace and name have 70 characters
	// together on average.
	//
	// Source: github.com/google/cel-go/parser, expressionSizeCodePointLimit.
	maxListLength = 99_000
)

// Account is a ServiceAccount.
type Account = types.NamespacedName

// userPrefix is the prefix of the user names of ServiceAccounts.
//
// Source: k8s.io/apiserver/pkg/authentication/serviceaccount MakeUsername.
const userPrefix = "system:serviceaccount:"

// Validate returns an error for an account that cannot exist. A valid account has no character
// that could end a string in CEL or YAML.
func Validate(account Account) error {
	problems := validation.IsDNS1123Label(account.Namespace)
	problems = append(problems, validation.IsDNS1123Subdomain(account.Name)...)
	if len(problems) > 0 {
		return fmt.Errorf("%q in namespace %q is no ServiceAccount: %s", account.Name, account.Namespace,
			strings.Join(problems, "; "))
	}
	return nil
}

// Compare compares accounts by namespace, then by name. This is the order of a list.
func Compare(a, b Account) int {
	if by := strings.Compare(a.Namespace, b.Namespace); by != 0 {
		return by
	}
	return strings.Compare(a.Name, b.Name)
}

// length returns the number of characters of an account in a list: quotes, a comma, a line
// break and two spaces included.
func length(account Account) int {
	return len(userPrefix) + len(account.Namespace) + len(":") + len(account.Name) + len("\n  '',")
}

// inOrder returns the accounts sorted and without duplicates. It returns an error if a list of
// them cannot be written.
func inOrder(accounts []Account) ([]Account, error) {
	sorted := slices.Clone(accounts)
	slices.SortFunc(sorted, Compare)
	sorted = slices.Compact(sorted)
	var errs []error
	for _, account := range sorted {
		errs = append(errs, Validate(account))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	candidates := make([]Candidate, len(sorted))
	for i, account := range sorted {
		candidates[i].Account = account
	}
	if _, overShare := Fit(candidates); len(overShare) > 0 {
		return nil, fmt.Errorf(
			"there are %d accounts, and there is no room for %d of them: a list has at most %d, in %d characters",
			len(sorted), len(overShare), MaxAccounts, maxListLength)
	}
	return sorted, nil
}

// isBlank reports whether both CEL and YAML treat the character as white space.
func isBlank(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' }

// parse parses an expression. Every other form of expression is an error.
func (k *Kind) parse(expression string) ([]Account, error) {
	text := strings.Join(strings.FieldsFunc(expression, isBlank), " ")
	list, ours := strings.CutPrefix(text, k.before+" [")
	list, closed := strings.CutSuffix(list, "]")
	if !ours || !closed {
		return nil, fmt.Errorf("the expression is not %s ['%sNAMESPACE:NAME', …]", k.before, userPrefix)
	}
	if strings.TrimFunc(list, isBlank) == "" {
		return nil, nil
	}
	var accounts []Account
	for entry := range strings.SplitSeq(list, ",") {
		account, err := parseEntry(strings.TrimFunc(entry, isBlank))
		if err != nil {
			return nil, err
		}
		accounts = append(accounts, account)
	}
	sorted, err := inOrder(accounts)
	if err == nil && len(sorted) != len(accounts) {
		err = errors.New("an account is listed twice")
	}
	return sorted, err
}

func parseEntry(entry string) (Account, error) {
	user, opens := strings.CutPrefix(entry, "'"+userPrefix)
	user, closes := strings.CutSuffix(user, "'")
	namespace, name, named := strings.Cut(user, ":")
	if !opens || !closes || !named {
		return Account{}, fmt.Errorf("%.80q in the list is not '%sNAMESPACE:NAME'", entry, userPrefix)
	}
	return Account{Namespace: namespace, Name: name}, nil
}

// render returns the text between the brackets: one account a line, so that the list is
// readable and diffs are short.
func render(accounts []Account, indent string) string {
	var b strings.Builder
	for i, account := range accounts {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n" + indent + "'" + userPrefix + account.Namespace + ":" + account.Name + "'")
	}
	return b.String()
}
