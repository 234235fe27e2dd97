// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package revocationlist

import (
	"crypto/x509"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	requestx509 "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
)

var (
	certificateID = "X509SHA256=" + strings.Repeat("0a", 32)
	otherID       = "X509SHA256=" + strings.Repeat("0b", 32)
)

const tokenID = "JTI=0d2fdd5e-0a4e-4c4b-9a4d-1f0a5b1e9c55"

func idsOf(s *Set) []string { return slices.Sorted(maps.Keys(s.entries)) }

func TestDecode(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       []string
		wrong      string
	}{
		{"empty list", "", nil, ""},
		{"a certificate and a token", certificateID + "\n" + tokenID + "\n", []string{tokenID, certificateID}, ""},
		{"no newline at the end", certificateID, []string{certificateID}, ""},
		{"comments, blank lines and spaces", "# stolen\n\n  " + certificateID + " # of worker-1\r\n\t\n",
			[]string{certificateID}, ""},
		{"an ID twice", certificateID + "\n" + certificateID, []string{certificateID}, ""},
		{"an ID in a comment is not revoked", "# " + certificateID, nil, ""},
		{"upper-case digits are rejected", strings.ToUpper(certificateID), nil, "line 1: "},
		{"one digit is missing", certificateID[:len(certificateID)-1], nil, "is not a credential ID"},
		{"one digit too many", certificateID + "0", nil, "is not a credential ID"},
		{"another kind", "SHA1=00", nil, "is not a credential ID"},
		{"a node", "NODE=worker-1 # stolen", []string{"system:node:worker-1"}, ""},
		{"a node name in upper case is rejected", "NODE=Worker-1", nil, `"Worker-1" is not a node name`},
		{"a node without a name is rejected", "NODE=", nil, `"" is not a node name`},
		{"a user name is not a node name", "NODE=system:node:worker-1", nil, "is not a node name"},
		{"two IDs in a line", certificateID + " " + otherID, nil, "is not a credential ID"},
		{"a bad line does not hide the good ones", certificateID + "\nx\n" + tokenID, []string{tokenID, certificateID},
			`line 2: "x"`},
		{"many bad lines", strings.Repeat("x\n", 9), nil, "and 4 lines more"},
		{"too large", strings.Repeat("#", maxBytes+1), nil, "want at most 1048576"},
	} {
		t.Run(row.name, func(t *testing.T) {
			set, err := Decode(row.text)
			if (err != nil) != (row.wrong != "") || err != nil && !strings.Contains(err.Error(), row.wrong) {
				t.Errorf("error %v, want %q", err, row.wrong)
			}
			if diff := cmp.Diff(row.want, idsOf(set)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// An error in the new list must not restore access that the last list revoked.
func TestUpdate(t *testing.T) {
	last, err := Decode(certificateID)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, text string
		want       []string
		wrong      bool
	}{
		{"a valid list replaces the last one", tokenID, []string{tokenID}, false},
		{"empty list after an update", "", nil, false},
		{"a list with a mistake adds to the last one", tokenID + "\nx", []string{tokenID, certificateID}, true},
		{"a list that is too large keeps the last one", strings.Repeat("\n", maxBytes+1), []string{certificateID}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			next, err := Update(last, row.text)
			if diff := cmp.Diff(row.want, idsOf(next)); diff != "" || (err != nil) != row.wrong {
				t.Errorf("error %v (-want +got)\n%s", err, diff)
			}
		})
	}
}

func TestFind(t *testing.T) {
	set, err := Decode(certificateID + "\n" + tokenID + "\nNODE=stolen.example")
	if err != nil {
		t.Fatal(err)
	}
	with := func(ids ...string) user.Info {
		return &user.DefaultInfo{Name: "system:node:n", Extra: map[string][]string{user.CredentialIDKey: ids}}
	}
	for _, row := range []struct {
		name string
		set  *Set
		user user.Info
		want string
	}{
		{"a revoked certificate", set, with(certificateID), "credential " + certificateID},
		{"a revoked token", set, with(tokenID), "credential " + tokenID},
		{"the second of two IDs", set, with(otherID, tokenID), "credential " + tokenID},
		{"a revoked node", set, &user.DefaultInfo{Name: "system:node:stolen.example"}, "node stolen.example"},
		{"a node whose name begins with that of a revoked one", set,
			&user.DefaultInfo{Name: "system:node:stolen.example.org"}, ""},
		{"a user with the name of a revoked node", set, &user.DefaultInfo{Name: "stolen.example"}, ""},
		{"another certificate of the same user", set, with(otherID), ""},
		{"a user without an ID", set, &user.DefaultInfo{Name: "system:node:n"}, ""},
		{"the ID in another key", set, &user.DefaultInfo{Extra: map[string][]string{"x": {certificateID}}}, ""},
		{"no user", set, nil, ""},
		{"no list", nil, with(certificateID), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if id, revoked := row.set.Find(row.user); id != row.want || revoked != (row.want != "") {
				t.Errorf("found %q, %v, want %q", id, revoked, row.want)
			}
		})
	}
}

// The ID is equal to that of k8s.io/apiserver for the certificate.
func TestIDOf(t *testing.T) {
	certificate := testpki.NewCA(t, "ca").Client(t, "c", nil)
	response, ok, err := requestx509.CommonNameUserConversion([]*x509.Certificate{certificate})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if diff := cmp.Diff(response.User.GetExtra()[user.CredentialIDKey], []string{IDOf(certificate)}); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestEdit(t *testing.T) {
	const comment = "of worker-1"
	for _, row := range []struct{ name, got, want string }{
		{"add to an empty list", Add("", Entry{certificateID, comment}), certificateID + " # of worker-1\n"},
		{"add behind a line without an end", Add("# x", Entry{certificateID, ""}), "# x\n" + certificateID + "\n"},
		{"a comment stays in its line", Add("", Entry{certificateID, "a\n" + otherID}),
			certificateID + " # a " + otherID + "\n"},
		{"add an existing entry", Add(certificateID, Entry{certificateID, comment}), certificateID},
		{"remove the only one", Remove(certificateID+" # x\n", certificateID), ""},
		{"remove one of several", Remove("# x\n"+certificateID+"\n"+otherID+"\n", certificateID), "# x\n" + otherID + "\n"},
		{"remove a missing entry", Remove(otherID, certificateID), otherID},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.got != row.want {
				t.Errorf("got %q, want %q", row.got, row.want)
			}
		})
	}
	if diff := cmp.Diff([]Entry{{certificateID, comment}, {"x", ""}},
		Entries("#\n"+certificateID+"#of worker-1 \nx")); diff != "" {
		t.Errorf("entries (-want +got)\n%s", diff)
	}
}

// FuzzDecode decodes any text. Each ID in the result is valid, and is on a line of the text.
func FuzzDecode(f *testing.F) {
	f.Add(certificateID + " # x\n" + tokenID)
	f.Add("x\r\n#\x00")
	f.Fuzz(func(t *testing.T, text string) {
		set, err := Decode(text)
		for id := range set.entries {
			if CheckID(id) != nil || !strings.Contains(text, id) {
				t.Errorf("took %q from %q", id, text)
			}
			if after, err2 := Decode(Remove(text, id)); err2 == nil && err != nil || after.Len() != set.Len()-1 {
				t.Errorf("%q is still there when it was removed", id)
			}
		}
		if len(Entries(text)) < set.Len() {
			t.Errorf("%d entries, but %d IDs", len(Entries(text)), set.Len())
		}
	})
}
