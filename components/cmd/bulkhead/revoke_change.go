// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/retry"

	"github.com/bulkhead-k8s/bulkhead/components/internal/nodeidentity"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/crl"
	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
)

// toRevoke has the credentials that the user wants to revoke.
type toRevoke struct {
	entries []revocationlist.Entry
	crls    []crlFile
	// notes are remarks about the entries for the user.
	notes []string
}

type crlFile struct {
	name string
	data []byte
}

func (t *toRevoke) addNode(node, comment string) error {
	t.notes = append(t.notes, fmt.Sprintf("the machine of node %s can use the cluster again when it has joined under "+
		"another name; see \"Revoke a stolen node certificate\" in docs/operations.md", node))
	return t.addID(revocationlist.IDOfNode(node), comment)
}

func (t *toRevoke) addID(id, comment string) error {
	if err := revocationlist.CheckID(id); err != nil {
		return err
	}
	t.entries = append(t.entries, revocationlist.Entry{ID: id, Comment: comment})
	return nil
}

func (t *toRevoke) addCertificate(data []byte, comment string) error {
	certificates, err := cert.ParseCertsPEM(data)
	if err != nil {
		return fmt.Errorf("want a client certificate in PEM: %w", err)
	}
	leaf := certificates[0]
	if leaf.IsCA {
		return fmt.Errorf("%q is the certificate of a CA: an ID revokes it nowhere, use --crl", leaf.Subject.CommonName)
	}
	who := &user.DefaultInfo{Name: leaf.Subject.CommonName, Groups: leaf.Subject.Organization}
	if node, isNode := nodeidentity.NodeName(who); !isNode || node == "" {
		t.notes = append(t.notes,
			fmt.Sprintf("%q is not a node: kube-apiserver accepts its certificate until %s, only the kubelets' API denies it",
				who.Name, leaf.NotAfter.UTC().Format(time.RFC3339)))
	}
	about := fmt.Sprintf("%q, expires %s", who.Name, leaf.NotAfter.UTC().Format(time.RFC3339))
	if comment != "" {
		about += ", " + comment
	}
	return t.addID(revocationlist.IDOf(leaf), about)
}

// revoker changes the revocation list of the cluster.
type revoker struct {
	client kubernetes.Interface
	out    io.Writer
	dryRun bool
	now    func() time.Time
}

func (r revoker) revoke(ctx context.Context, wanted toRevoke) error {
	if err := r.refuseOwn(ctx, wanted.entries); err != nil {
		return err
	}
	clientCA, err := r.clientCA(ctx, wanted.crls)
	if err != nil {
		return err
	}
	err = r.change(ctx, func(data map[string]string) ([]string, error) {
		var messages []string
		for _, entry := range wanted.entries {
			before := data[revocationlist.IDsKey]
			data[revocationlist.IDsKey] = revocationlist.Add(before, entry)
			if data[revocationlist.IDsKey] == before {
				messages = append(messages, "revoked already: "+entry.ID)
				continue
			}
			messages = append(messages, strings.TrimSuffix("revoked: "+entry.ID+" # "+entry.Comment, " # "))
		}
		for _, file := range wanted.crls {
			lines, err := addCRL(data, file, clientCA, r.now())
			if err != nil {
				return nil, err
			}
			messages = append(messages, lines...)
		}
		return messages, nil
	})
	if err != nil {
		return err
	}
	for _, note := range wanted.notes {
		_, _ = fmt.Fprintln(r.out, "note: "+note)
	}
	return nil
}

// refuseOwn rejects the credential that this command uses. With that credential, kubectl could not
// remove it from the list again.
func (r revoker) refuseOwn(ctx context.Context, entries []revocationlist.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	self, err := r.client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{},
		metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("cannot find out whose credentials these are: %w", err)
	}
	own := &user.DefaultInfo{Name: self.Status.UserInfo.Username,
		Extra: map[string][]string{user.CredentialIDKey: self.Status.UserInfo.Extra[user.CredentialIDKey]}}
	for _, entry := range entries {
		set, err := revocationlist.Decode(entry.ID)
		if err != nil {
			return err
		}
		if what, revoked := set.Find(own); revoked {
			return fmt.Errorf("cannot revoke %s: this command uses it, as %q; use the credentials of another user",
				what, own.Name)
		}
	}
	return nil
}

// clientCA returns the CAs from which kube-apiserver accepts client certificates.
func (r revoker) clientCA(ctx context.Context, crls []crlFile) ([]byte, error) {
	if len(crls) == 0 {
		return nil, nil
	}
	const name, key = "extension-apiserver-authentication", "client-ca-file"
	published, err := r.client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot read the cluster's client CA, with which the list is verified: %w", err)
	}
	return []byte(published.Data[key]), nil
}

// addCRL adds the list of one file to data, under its own key. It replaces an older list of the
// same CA. It returns an error if data has a newer one. messages are for the user.
func addCRL(data map[string]string, file crlFile, clientCA []byte, now time.Time) (messages []string, err error) {
	lists, err := crl.Inspect(file.data, clientCA, now)
	if err != nil {
		return nil, fmt.Errorf("cannot use --crl=%s: %w", file.name, err)
	}
	if len(lists) > 1 {
		return nil, fmt.Errorf("cannot use --crl=%s: it has %d lists; give one file for each", file.name, len(lists))
	}
	list := lists[0]
	for key, text := range data {
		if key == revocationlist.IDsKey {
			continue
		}
		there, err := crl.Inspect([]byte(text), clientCA, now)
		if err != nil {
			continue // a proxy cannot use it either
		}
		for _, known := range there {
			if known.SameCA(list) && known.NewerThan(list) {
				return nil, fmt.Errorf(
					"cannot use --crl=%s: key %s has a newer list of %q (number %v, made %s): a proxy that has seen it takes no "+
						"older one",
					file.name, key, list.Issuer, known.Number, known.ThisUpdate.Format(time.RFC3339))
			}
		}
	}
	key := list.Key + ".crl"
	text := file.data
	if !bytes.Contains(text, []byte("-----BEGIN")) {
		text = pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: text})
	}
	data[key] = string(text)
	next := list.NextUpdate.Format(time.RFC3339)
	return []string{
		fmt.Sprintf("list of %q: number %v, %d certificates revoked (key %s)", list.Issuer, list.Number, list.Entries, key),
		fmt.Sprintf("note: publish the next list of %q before %s; after that, the kubelets' API denies every certificate "+
			"of this CA, that of kube-apiserver too (--client-crl-expired)",
			list.Issuer, next),
	}, nil
}

func (r revoker) remove(ctx context.Context, ids []string) error {
	return r.change(ctx, func(data map[string]string) ([]string, error) {
		var messages []string
		for _, id := range ids {
			before := data[revocationlist.IDsKey]
			data[revocationlist.IDsKey] = revocationlist.Remove(before, id)
			if data[revocationlist.IDsKey] == before {
				return nil, fmt.Errorf("cannot remove %q: it is not on the list; see bulkhead revoke list", id)
			}
			messages = append(messages, "not revoked any more: "+id)
		}
		return messages, nil
	})
}

// change edits or creates the ConfigMap. If edit returns an error, change writes nothing.
func (r revoker) change(ctx context.Context, edit func(data map[string]string) (messages []string, err error)) error {
	configMaps := r.client.CoreV1().ConfigMaps(revocationlist.Namespace)
	var messages []string
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		there, err := configMaps.Get(ctx, revocationlist.Name, metav1.GetOptions{})
		missing := apierrors.IsNotFound(err)
		if missing {
			there, err = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: revocationlist.Namespace,
				Name: revocationlist.Name}}, nil
		}
		if err != nil {
			return err
		}
		there = there.DeepCopy()
		if there.Data == nil {
			there.Data = map[string]string{}
		}
		if messages, err = edit(there.Data); err != nil || r.dryRun {
			return err
		}
		if missing {
			_, err = configMaps.Create(ctx, there, metav1.CreateOptions{})
			return err
		}
		_, err = configMaps.Update(ctx, there, metav1.UpdateOptions{})
		return err
	})
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return fmt.Errorf("cannot change ConfigMap %s/%s: %w", revocationlist.Namespace, revocationlist.Name, err)
	}
	if err != nil {
		return err
	}
	for _, line := range messages {
		if r.dryRun {
			line = "dry run: " + line
		}
		_, _ = fmt.Fprintln(r.out, line)
	}
	return nil
}
