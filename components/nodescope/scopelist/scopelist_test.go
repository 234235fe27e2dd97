// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopelist

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	for _, tc := range []struct {
		name, list string
		want       []string
		wrong      string
	}{
		{"nobody", "", nil, ""},
		{"blanks", " \n              ", nil, ""},
		{"one", "'system:serviceaccount:ns:agent'", []string{"ns/agent"}, ""},
		{"on several lines, in another order",
			"\n                'system:serviceaccount:ns:b',\n                'system:serviceaccount:a:c.d'",
			[]string{"a/c.d", "ns/b"}, ""},
		{"twice", "'system:serviceaccount:ns:a', 'system:serviceaccount:ns:a'", nil, "listed twice"},
		{"another user", "'system:node:n'", nil, "is not 'system:serviceaccount:NAMESPACE:NAME'"},
		{"no name", "'system:serviceaccount:ns'", nil, "is not 'system:serviceaccount:NAMESPACE:NAME'"},
		{"an empty name", "'system:serviceaccount:ns:'", nil, "is no ServiceAccount"},
		{"a part more", "'system:serviceaccount:ns:a:b'", nil, "is no ServiceAccount"},
		{"a namespace of two labels", "'system:serviceaccount:n.s:a'", nil, "is no ServiceAccount"},
		{"capitals", "'system:serviceaccount:ns:Agent'", nil, "is no ServiceAccount"},
		{"double quotes", `"system:serviceaccount:ns:a"`, nil, "is not 'system:serviceaccount:NAMESPACE:NAME'"},
		{"a comma at the end", "'system:serviceaccount:ns:a',", nil, "is not 'system:serviceaccount:NAMESPACE:NAME'"},
		{"an expression in the list", "'system:serviceaccount:ns:a' + 'b'", nil, "is no ServiceAccount"},
		{"more behind the list", "] || request.user in ['a'", nil, "is not 'system:serviceaccount:NAMESPACE:NAME'"},
	} {
		for kind, k := range kinds {
			t.Run(tc.name+"/"+kind, func(t *testing.T) {
				got, err := Read(k.kind, with(k.template, tc.list))
				if tc.wrong != "" {
					if err == nil || !strings.Contains(err.Error(), tc.wrong) {
						t.Fatalf("got %v, %v; want %q", got, err, tc.wrong)
					}
					return
				}
				if diff := cmp.Diff(accounts(t, tc.want...), got); diff != "" || err != nil {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
			})
		}
	}
}

// A file that differs from the template is not changed.
func TestOtherFilesAreRefused(t *testing.T) {
	for _, tc := range []struct{ name, kind, old, new, wrong string }{
		{"no entry", "authorization", "name: node-scope.bulkhead.dev", "name: node-scope", "there is no entry named"},
		{"no entry", "admission", "name: node-scope.bulkhead.dev", "name: node-scope", "there is no entry named"},
		{"two entries", "authorization", "name: node-authorizer.bulkhead.dev", "name: node-scope.bulkhead.dev",
			"two entries"},
		{"two entries", "admission", "webhooks:", "webhooks:\n- name: node-scope.bulkhead.dev", "two entries"},
		{"unknown failure policy", "authorization", "failurePolicy: Deny", "failurePolicy: Maybe",
			`failurePolicy is "Maybe"`},
		{"unknown failure policy", "admission", "failurePolicy: Fail", "failurePolicy: Maybe", `failurePolicy is "Maybe"`},
		{"no policy", "admission", "  failurePolicy: Fail\n", "", `failurePolicy is ""`},
		{"another type", "authorization", "type: Webhook\n    name: node-scope", "type: ABAC\n    name: node-scope",
			`type is "ABAC"`},
		{"a long timeout", "admission", "timeoutSeconds: 2", "timeoutSeconds: 10", `timeoutSeconds is "10"`},
		{"side effects", "admission", "sideEffects: None", "sideEffects: Some", `sideEffects is "Some"`},
		{"another kind", "authorization", "kind: AuthorizationConfiguration", "kind: AuthenticationConfiguration", "kind is"},
		{"another kind", "admission", "kind: Validating", "kind: Mutating", "kind is"},
		{"another version", "authorization", "k8s.io/v1", "k8s.io/v1beta1", "apiVersion is"},
		{"two conditions", "authorization", "        - expression: >-",
			"        - expression: 'true'\n        - expression: >-", "has 2 match conditions"},
		{"no condition", "admission", "  matchConditions:\n", "  conditions:\n", "has 0 match conditions"},
		{"an expression that is not total", "authorization", "has(request.user) &&\n", "\n", "the expression is not"},
		{"an expression that is not total", "admission", "has(request.userInfo) && ", "", "the expression is not"},
		{"another expression", "authorization", "            request.user in", "            request.uid in",
			"the expression is not"},
		{"the other file's expression", "admission", "request.userInfo.username in", "request.user in",
			"the expression is not"},
		{"two documents", "authorization", "  - type: RBAC", "---\n  - type: RBAC", "more than one document"},
		{"an alias", "admission", `["v1"]`, `&a ["v1"]`, "anchors or aliases"},
		{"a key that is there twice", "admission", "sideEffects: None", "sideEffects: None\n  sideEffects: None",
			"already defined"},
		{"a list", "admission", "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata",
			"metadata", "apiVersion is"},
		{"no YAML", "admission", "webhooks:", "webhooks: {", "reading the file"},
	} {
		t.Run(tc.name+"/"+tc.kind, func(t *testing.T) {
			k := kinds[tc.kind]
			good := with(k.template, "")
			if _, err := Read(k.kind, good); err != nil {
				t.Fatal(err)
			}
			bad := bytes.Replace(good, []byte(tc.old), []byte(tc.new), 1)
			_, err1 := Read(k.kind, bad)
			_, err2 := Replace(k.kind, bad, accounts(t, "ns/a"))
			for _, err := range []error{err1, err2} {
				if err == nil || !strings.Contains(err.Error(), tc.wrong) {
					t.Errorf("got %v, want %q", err, tc.wrong)
				}
			}
		})
	}
	for _, nothing := range []string{"", "\n", "# only a comment\n", strings.Repeat("#", MaxBytes+1)} {
		if _, err := Read(Admission, []byte(nothing)); err == nil {
			t.Errorf("%.20q is read", nothing)
		}
	}
	if _, err := Read(Admission, with(authorization, "")); err == nil {
		t.Error("one file is read as the other")
	}
}

func TestReplace(t *testing.T) {
	for kind, k := range kinds {
		t.Run(kind, func(t *testing.T) {
			empty := with(k.template, "")
			first, err := Replace(k.kind, empty, accounts(t, "ns/b", "a/agent.v2", "ns/b"))
			if err != nil {
				t.Fatal(err)
			}
			indent := map[string]string{"authorization": strings.Repeat(" ", 14), "admission": strings.Repeat(" ", 6)}[kind]
			want := with(k.template, "\n"+indent+"'system:serviceaccount:a:agent.v2',\n"+indent+"'system:serviceaccount:ns:b'")
			if diff := cmp.Diff(string(want), string(first)); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			again, err := Replace(k.kind, first, accounts(t, "a/agent.v2", "ns/b"))
			if !bytes.Equal(again, first) || err != nil {
				t.Errorf("a second time, %v:\n%s", err, again)
			}
			back, err := Replace(k.kind, first, nil)
			if diff := cmp.Diff(string(empty), string(back)); diff != "" || err != nil {
				t.Errorf("emptied, %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// If the list has the same accounts in another form, the file is not changed.
func TestTheSameListIsLeftAlone(t *testing.T) {
	written := with(admission, "'system:serviceaccount:ns:b',  'system:serviceaccount:ns:a'")
	got, err := Replace(Admission, written, accounts(t, "ns/a", "ns/b"))
	if !bytes.Equal(got, written) || err != nil {
		t.Errorf("%v:\n%s", err, got)
	}
}

func TestStylesOfTheExpression(t *testing.T) {
	const plain = "expression: " + AdmissionExpression + "\n"
	for name, style := range map[string]string{
		"double quotes": "expression: \"" + AdmissionExpression + "\"\n",
		"literal":       "expression: |\n      " + AdmissionExpression + "\n",
		"folded":        "expression: >-\n      " + strings.ReplaceAll(AdmissionExpression, "&& ", "&&\n      ") + "\n",
		"several lines": "expression: has(request.userInfo) &&\n      " +
			strings.TrimPrefix(AdmissionExpression, "has(request.userInfo) && ") + "\n",
		"with a tag":         "expression: !!str " + AdmissionExpression + "\n",
		"behind other words": "\"äö [x]\": 1\n    expression: " + AdmissionExpression + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			file := bytes.Replace(with(admission, ""), []byte(plain), []byte(style), 1)
			got, err := Replace(Admission, file, accounts(t, "ns/a", "ns/b"))
			if err != nil {
				t.Fatal(err)
			}
			read, err := Read(Admission, got)
			if diff := cmp.Diff(accounts(t, "ns/a", "ns/b"), read); diff != "" || err != nil {
				t.Errorf("%v %s\n%s", err, diff, got)
			}
		})
	}
	for name, tc := range map[string]struct{ style, wrong string }{
		"single quotes": {"expression: '" + AdmissionExpression + "'\n", "single quotes"},
		"a comment with brackets": {"expression: >- # a list []\n      " + AdmissionExpression + "\n",
			"cannot be replaced"},
		"brackets that are escaped": {"expression: \"" + strings.ReplaceAll(AdmissionExpression, "[]", `\x5b\x5d`) + "\"\n",
			"cannot be replaced"},
	} {
		t.Run(name, func(t *testing.T) {
			file := bytes.Replace(with(admission, ""), []byte(plain), []byte(tc.style), 1)
			got, err := Replace(Admission, file, accounts(t, "ns/a"))
			if err == nil || !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("got %v, want %q\n%s", err, tc.wrong, got)
			}
		})
	}
}

func TestReplaceBounds(t *testing.T) {
	var many, long []Account
	for i := range MaxAccounts + 1 {
		number := fmt.Sprintf("%04d", i)
		many = append(many, Account{Namespace: "ns", Name: "a" + number})
		long = append(long, Account{Namespace: strings.Repeat("n", 63), Name: strings.Repeat("a", 249) + number})
	}
	for _, k := range kinds {
		for _, tc := range []struct {
			name  string
			all   []Account
			room  int
			wrong string
		}{
			{"many", many, MaxAccounts, "there are 1001 accounts, and there is no room for 1 of them: a list has at most 1000"},
			{"long", long, maxListLength / length(long[0]), "in 99000 characters"},
		} {
			if _, err := Replace(k.kind, with(k.template, ""), tc.all[:tc.room]); err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
			if _, err := Replace(k.kind, with(k.template, ""), tc.all[:tc.room+1]); err == nil ||
				!strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("%s: got %v, want %q", tc.name, err, tc.wrong)
			}
		}
	}
	for _, bad := range []Account{
		{}, {Namespace: "ns"}, {Name: "a"}, {Namespace: "n.s", Name: "a"}, {Namespace: "ns", Name: "a'] || ['"},
		{Namespace: "ns", Name: "a\n"}, {Namespace: "ns:x", Name: "a"},
		{Namespace: "ns", Name: strings.Repeat("a", 254)}, {Namespace: strings.Repeat("a", 64), Name: "a"},
		{Namespace: "ns", Name: "\u0430"},
	} {
		if got, err := Replace(Admission, with(admission, ""), []Account{bad}); err == nil {
			t.Errorf("%+v is written:\n%s", bad, got)
		}
	}
}
