// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	api "github.com/bulkhead-k8s/bulkhead/components/apis/nodeisolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/install/hosts"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport"
	"github.com/bulkhead-k8s/bulkhead/components/isolationreport/render"
)

// inTree is the profile of a cluster without Bulkhead in reports.
const inTree = "in-tree"

// writeReport writes the report of a run in its three forms. It returns errNotHeld if the report has
// a rule that the cluster does not enforce, or an attack that succeeded.
func writeReport(ctx context.Context, out io.Writer, o options, kubeconfig string) error {
	results, err := isolationreport.Read(o.Output)
	if err != nil {
		return fmt.Errorf("cannot read the results of the suites: %w", err)
	}
	report, err := isolationreport.Build(isolationreport.Groups(), results)
	if err != nil {
		return fmt.Errorf("cannot make the report: %w", err)
	}
	report.Metadata.Profile = installedProfile(ctx, kubeconfig)
	files, err := forms(report)
	if err != nil {
		return fmt.Errorf("cannot make the report: %w", err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(o.Output, name), text, 0o644); err != nil {
			return fmt.Errorf("cannot write the report: %w", err)
		}
	}
	_, _ = fmt.Fprintf(out, "\n%s\n\n", report.Summary.Verdict)
	for _, profile := range report.Profiles {
		_, _ = fmt.Fprintf(out, "%-16s %s\n", profile.Name, profile.Verdict)
	}
	_, _ = fmt.Fprintf(out, "\nRead %s in a browser. report.yaml and report.junit.xml are beside it.\n",
		filepath.Join(o.Output, "report.html"))
	if report.Summary.Rules.NotHeld > 0 || report.Summary.Attacks.Succeeded > 0 {
		return errNotHeld
	}
	return nil
}

func forms(report *api.NodeIsolationReport) (map[string][]byte, error) {
	var page, junit bytes.Buffer
	text, err := report.Marshal()
	err = errors.Join(err, render.HTML(&page, report), render.JUnit(&junit, report))
	return map[string][]byte{
		"report.yaml": text, "report.html": page.Bytes(), "report.junit.xml": junit.Bytes(),
	}, err
}

// installedProfile returns the profile that the installer recorded in the cluster. The suites do not
// use it: they expect the same of every cluster. If hosts differ, or if the cluster does not say, it
// is not known.
func installedProfile(ctx context.Context, kubeconfig string) string {
	const unknown = "any"
	client, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return unknown
	}
	client.Timeout = connected
	kube, err := kubernetes.NewForConfig(client)
	if err != nil {
		return unknown
	}
	entries, err := hosts.Entries(ctx, kube.CoreV1().ConfigMaps(metav1.NamespaceSystem))
	if err != nil {
		return unknown
	}
	return profileOf(entries)
}

func profileOf(entries map[string]string) string {
	if len(entries) == 0 {
		return inTree
	}
	all, errs := hosts.Parse(entries)
	var found []string
	for _, host := range all {
		if !slices.Contains(found, host.Profile) {
			found = append(found, host.Profile)
		}
	}
	if len(found) != 1 || len(errs) > 0 {
		return "any"
	}
	return found[0]
}
