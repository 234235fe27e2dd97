// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/bulkhead-k8s/bulkhead/components/internal/testpki"
	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
)

const (
	stolenToken = "JTI=11111111-2222-3333-4444-555555555555"
	ownToken    = "JTI=11111111-2222-3333-4444-666666666666"
)

// revoking returns a cluster with a revocation list. It answers as if the caller were the node own
// with ownToken.
func revoking(t *testing.T, ca *testpki.CA, data map[string]string) (*fake.Clientset, func() map[string]string) {
	t.Helper()
	objects := []runtime.Object{&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "extension-apiserver-authentication"},
		Data:       map[string]string{"client-ca-file": string(ca.PEM())},
	}}
	if data != nil {
		objects = append(objects,
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bulkhead-revocations"}, Data: data})
	}
	client := fake.NewClientset(objects...)
	client.PrependReactor("create", "selfsubjectreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		who := authenticationv1.UserInfo{Username: "system:node:own",
			Extra: map[string]authenticationv1.ExtraValue{user.CredentialIDKey: {ownToken}}}
		return true, &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: who}}, nil
	})
	return client, func() map[string]string {
		t.Helper()
		list, err := client.CoreV1().ConfigMaps("kube-system").Get(context.Background(), "bulkhead-revocations",
			metav1.GetOptions{})
		if err != nil {
			return nil
		}
		return list.Data
	}
}

func TestRevoke(t *testing.T) {
	ca := testpki.NewCA(t, "ca")
	certificate := ca.Client(t, "system:node:n1", []string{"system:nodes"})
	id := revocationlist.IDOf(certificate)
	about := ` # "system:node:n1", expires ` + certificate.NotAfter.UTC().Format(time.RFC3339)
	pair := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
	pair = append(pair, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})...)
	stranger := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Client(t, "admin", nil).Raw})
	for _, row := range []struct {
		name  string
		list  map[string]string
		flags revokeFlags
		stdin []byte
		after map[string]string
		out   string
		wrong string
	}{
		{name: "a certificate from standard input makes the list",
			flags: revokeFlags{certificates: []string{"-"}, comment: "theft"}, stdin: pair,
			after: map[string]string{"credential-ids": id + about + ", theft\n"}, out: "revoked: " + id},
		{name: "an ID is added to the list", list: map[string]string{"credential-ids": stolenToken},
			flags: revokeFlags{ids: []string{id}, comment: "theft"},
			after: map[string]string{"credential-ids": stolenToken + "\n" + id + " # theft\n"},
			out:   "revoked: " + id + " # theft\n"},
		{name: "an ID that is there", list: map[string]string{"credential-ids": stolenToken},
			flags: revokeFlags{ids: []string{stolenToken}},
			after: map[string]string{"credential-ids": stolenToken}, out: "revoked already: " + stolenToken},
		{name: "a dry run changes nothing", flags: revokeFlags{ids: []string{stolenToken}, dryRun: true},
			out: "dry run: revoked: " + stolenToken},
		{name: "certificate that another user revoked is noted",
			flags: revokeFlags{certificates: []string{"-"}}, stdin: stranger,
			out: `note: "admin" is not a node: kube-apiserver accepts its certificate`},
		{name: "empty list", wrong: "there is nothing to revoke: give --node, --certificate, --credential-id or --crl"},
		{name: "a node", flags: revokeFlags{nodes: []string{"n1"}, comment: "theft"},
			after: map[string]string{"credential-ids": "NODE=n1 # theft\n"}, out: "revoked: NODE=n1 # theft\nnote: the machine"},
		{name: "a node that is the caller", flags: revokeFlags{nodes: []string{"own"}},
			wrong: `cannot revoke node own: this command uses it, as "system:node:own"`},
		{name: "no node name", flags: revokeFlags{nodes: []string{"N1"}}, wrong: `--node: "N1" is not a node name`},
		{name: "the own credential", flags: revokeFlags{ids: []string{ownToken}},
			wrong: "cannot revoke credential " + ownToken + `: this command uses it, as "system:node:own"`},
		{name: "no ID", flags: revokeFlags{ids: []string{"x"}}, wrong: `--credential-id: "x" is not a credential ID`},
		{name: "no certificate", flags: revokeFlags{certificates: []string{"-"}}, stdin: []byte("x"),
			wrong: "cannot use --certificate=-: want a client certificate in PEM"},
		{name: "the certificate of a CA", flags: revokeFlags{certificates: []string{"-"}}, stdin: ca.PEM(),
			wrong: "is the certificate of a CA"},
		{name: "no file", flags: revokeFlags{crls: []string{"/nowhere"}}, wrong: "cannot use --crl=/nowhere"},
	} {
		t.Run(row.name, func(t *testing.T) {
			client, data := revoking(t, ca, row.list)
			var out bytes.Buffer
			wanted, err := row.flags.read(bytes.NewReader(row.stdin))
			if err == nil {
				err = revoker{client, &out, row.flags.dryRun, time.Now}.revoke(t.Context(), wanted)
			}
			if (err != nil) != (row.wrong != "") || err != nil && !strings.Contains(err.Error(), row.wrong) {
				t.Errorf("error %v, want %q", err, row.wrong)
			}
			if !strings.Contains(out.String(), row.out) {
				t.Errorf("printed %q, want %q", out.String(), row.out)
			}
			if row.after == nil && (row.wrong != "" || row.flags.dryRun) {
				row.after = row.list
			}
			if diff := cmp.Diff(row.after, data()); row.after != nil && diff != "" || (row.wrong != "" || row.flags.dryRun) &&
				row.list == nil && data() != nil {
				t.Errorf("the list (-want +got)\n%s", diff)
			}
		})
	}
}

func TestRevokeByCRL(t *testing.T) {
	ca, stranger := testpki.NewCA(t, "ca"), testpki.NewCA(t, "stranger")
	client := ca.Client(t, "c", nil)
	begun := time.Now().Add(-time.Hour)
	number := func(n int64) []byte {
		return ca.CRL(t, []*x509.Certificate{client}, func(l *x509.RevocationList) {
			l.Number, l.ThisUpdate = big.NewInt(n), begun.Add(time.Duration(n)*time.Second)
		})
	}
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cluster, data := revoking(t, ca, map[string]string{"credential-ids": stolenToken})
	revoke := func(path string) (string, error) {
		var out bytes.Buffer
		flags := revokeFlags{crls: []string{path}}
		wanted, err := flags.read(nil)
		if err != nil {
			return "", err
		}
		err = revoker{cluster, &out, false, time.Now}.revoke(t.Context(), wanted)
		return out.String(), err
	}
	for _, step := range []struct{ name, path, out, wrong string }{
		{"the first, DER", file("two", number(2)), `list of "ca": number 2, 1 certificates revoked`, ""},
		{"an older one", file("one", number(1)), "", `has a newer list of "ca" (number 2`},
		{"a newer one, PEM", file("three", testpki.CRLPEM(number(3))), `number 3`, ""},
		{"of a stranger", file("stranger", stranger.CRL(t, nil)), "", "is not a client CA"},
		{"junk", file("junk", []byte("junk")), "", "parsing a CRL"},
	} {
		out, err := revoke(step.path)
		if (err != nil) != (step.wrong != "") || err != nil && !strings.Contains(err.Error(), step.wrong) ||
			!strings.Contains(out, step.out) {
			t.Errorf("%s: printed %q, error %v", step.name, out, err)
		}
	}
	if got := data(); len(got) != 2 || got["credential-ids"] != stolenToken {
		t.Errorf("the list has %v", got)
	}
	var out bytes.Buffer
	if err := listRevoked(t.Context(), &out, cluster, "table", time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"CREDENTIAL", stolenToken, ".crl  ca  3       1"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("list prints\n%s\nwant %q", out.String(), want)
		}
	}
}

func TestRevokeRemove(t *testing.T) {
	client, data := revoking(t, testpki.NewCA(t, "ca"),
		map[string]string{"credential-ids": stolenToken + " # x\n" + ownToken + "\n"})
	var out bytes.Buffer
	if err := (revoker{client, &out, true, time.Now}).remove(t.Context(), []string{stolenToken}); err != nil ||
		!strings.HasPrefix(data()["credential-ids"], stolenToken) {
		t.Errorf("dry run: %v, %v", err, data())
	}
	r := revoker{client, &out, false, time.Now}
	if err := r.remove(t.Context(), []string{ownToken, "x"}); err == nil ||
		!strings.Contains(err.Error(), `cannot remove "x"`) || !strings.Contains(data()["credential-ids"], ownToken) {
		t.Errorf("one of two is not there: %v, %v", err, data())
	}
	if err := r.remove(t.Context(), []string{stolenToken}); err != nil || data()["credential-ids"] != ownToken+"\n" {
		t.Errorf("%v, %v", err, data())
	}
	if want := "dry run: not revoked any more: " + stolenToken + "\nnot revoked any more: " + stolenToken +
		"\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

func TestRevokeList(t *testing.T) {
	ca := testpki.NewCA(t, "ca")
	for _, row := range []struct {
		name, output string
		data         map[string]string
		want         string
	}{
		{"no list", "table", nil, "nothing is revoked\n"},
		{"an empty list, JSON", "json", map[string]string{}, "{\n  \"credentials\": [],\n  \"lists\": []\n}\n"},
		{"invalid arguments", "table", map[string]string{"credential-ids": "x", "y.crl": "junk"},
			"NOT REVOKED: \"x\" is not a credential ID"},
		{"a list that cannot be used", "table", map[string]string{"y.crl": "junk"}, "y.crl  NOT USED: parsing a CRL"},
	} {
		t.Run(row.name, func(t *testing.T) {
			client, _ := revoking(t, ca, row.data)
			var out bytes.Buffer
			if err := listRevoked(t.Context(), &out, client, row.output, time.Now()); err != nil ||
				!strings.Contains(out.String(), row.want) {
				t.Errorf("%v: %q, want %q", err, out.String(), row.want)
			}
		})
	}
}
