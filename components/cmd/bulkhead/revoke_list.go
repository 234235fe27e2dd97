// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/crl"
	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
)

// revokedCRL is a row for a certificate revocation list.
type revokedCRL struct {
	Key        string    `json:"key"`
	Issuer     string    `json:"issuer,omitempty"`
	Number     string    `json:"number,omitempty"`
	NextUpdate time.Time `json:"nextUpdate,omitzero"`
	Revoked    int       `json:"revoked"`
	// Problem is why no proxy uses the list.
	Problem string `json:"problem,omitempty"`
}

// listRevoked prints the revocation list of the cluster.
func listRevoked(ctx context.Context, out io.Writer, client kubernetes.Interface, output string, now time.Time) error {
	list, err := client.CoreV1().ConfigMaps(revocationlist.Namespace).Get(ctx, revocationlist.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("cannot read the list of revoked credentials: %w", err)
	}
	var data map[string]string
	if err == nil {
		data = list.Data
	}
	entries := revocationlist.Entries(data[revocationlist.IDsKey])
	crls, err := revokedCRLs(ctx, client, data, now)
	if err != nil {
		return err
	}
	if output == "json" {
		return printJSON(out, map[string]any{"credentials": append([]revocationlist.Entry{}, entries...), "lists": crls})
	}
	if len(entries)+len(crls) == 0 {
		_, err := fmt.Fprintln(out, "nothing is revoked")
		return err
	}
	return printRevoked(out, entries, crls)
}

func revokedCRLs(ctx context.Context, client kubernetes.Interface, data map[string]string, now time.Time) ([]revokedCRL,
	error) {
	rows := []revokedCRL{}
	var clientCA []byte
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if key == revocationlist.IDsKey {
			continue
		}
		if clientCA == nil {
			var err error
			if clientCA, err = (revoker{client: client}).clientCA(ctx, []crlFile{{}}); err != nil {
				return nil, err
			}
		}
		lists, err := crl.Inspect([]byte(data[key]), clientCA, now)
		if err != nil {
			rows = append(rows, revokedCRL{Key: key, Problem: err.Error()})
		}
		for _, l := range lists {
			rows = append(rows, revokedCRL{Key: key, Issuer: l.Issuer, Number: fmt.Sprint(l.Number), NextUpdate: l.NextUpdate,
				Revoked: l.Entries})
		}
	}
	return rows, nil
}

func printRevoked(out io.Writer, entries []revocationlist.Entry, crls []revokedCRL) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(entries) > 0 {
		_, _ = fmt.Fprintln(table, "CREDENTIAL\tCOMMENT")
	}
	for _, entry := range entries {
		comment := entry.Comment
		if err := revocationlist.CheckID(entry.ID); err != nil {
			comment = "NOT REVOKED: " + err.Error()
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\n", webhook.Loggable(entry.ID), webhook.Loggable(comment))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(entries) > 0 && len(crls) > 0 {
		_, _ = fmt.Fprintln(out)
	}
	if len(crls) > 0 {
		_, _ = fmt.Fprintln(table, "LIST\tCA\tNUMBER\tREVOKED\tNEXT UPDATE")
	}
	for _, row := range crls {
		if row.Problem != "" {
			_, _ = fmt.Fprintf(table, "%s\tNOT USED: %s\n", row.Key, row.Problem)
			continue
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\n", row.Key, row.Issuer, row.Number, row.Revoked,
			row.NextUpdate.Format(time.RFC3339))
	}
	return table.Flush()
}
