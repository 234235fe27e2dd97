// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusterstatus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/install/preflight"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

// Exec runs a command in a container of a pod in kube-system, and returns its standard output. It
// may be called from several goroutines.
type Exec func(ctx context.Context, pod, container string, command []string) ([]byte, error)

// readCertificates asks all hosts at the same time. It returns after HostTimeout at the latest.
func readCertificates(ctx context.Context, o Options, s *snapshot, all []Host) {
	var wait sync.WaitGroup
	for i := range all {
		h := &all[i]
		pod := s.mirrorPod("bulkhead-"+controlplane.CertsContainer, h.Node)
		if h.State == NotInstalled && pod == nil {
			continue
		}
		wait.Go(func() {
			certificates, err := certificatesOf(ctx, o, pod)
			if err != nil {
				h.CertificatesUnknown = webhook.Printable(err.Error(), 512)
			}
			h.Certificates = certificates
		})
	}
	wait.Wait()
}

func certificatesOf(ctx context.Context, o Options, pod *corev1.Pod) ([]Certificate, error) {
	if pod == nil {
		return nil, errors.New("the API has no mirror pod of " + controlplane.CertsContainer)
	}
	ctx, cancel := context.WithTimeout(ctx, o.HostTimeout)
	defer cancel()
	type answer struct {
		out []byte
		err error
	}
	answers := make(chan answer, 1)
	// A connection may not end with its context, for example while it waits for the first answer.
	go func() {
		out, err := o.Exec(ctx, pod.Name, controlplane.CertsContainer, certsStatus(pod))
		answers <- answer{out, err}
	}()
	select {
	case a := <-answers:
		if a.err != nil {
			return nil, a.err
		}
		return parseCertificates(a.out)
	case <-ctx.Done():
		return nil, fmt.Errorf("no answer within %v", o.HostTimeout)
	}
}

// certsStatus returns the command that prints the certificates of a host. It only reads, and has
// the paths and times of the program that renews the certificates.
func certsStatus(pod *corev1.Pod) []string {
	command := []string{"/bulkhead", "certs", "status", "--output=json"}
	c := container(pod, controlplane.CertsContainer)
	if c == nil {
		return command
	}
	for _, arg := range slices.Concat(c.Command, c.Args) {
		for _, flag := range []string{"--state-dir=", "--kubernetes-pki=", "--cert-validity=", "--cert-renew-before="} {
			if strings.HasPrefix(arg, flag) {
				command = append(command, arg)
			}
		}
	}
	return command
}

// parseCertificates reads the output of a host. The host may be compromised.
func parseCertificates(out []byte) ([]Certificate, error) {
	var all []pki.Status
	if err := json.Unmarshal(out, &all); err != nil {
		return nil, fmt.Errorf("cannot read the output of `bulkhead certs status`: %w", err)
	}
	if len(all) == 0 {
		return nil, errors.New("`bulkhead certs status` has printed no certificate")
	}
	var certificates []Certificate
	for _, s := range all {
		certificates = append(certificates, Certificate{
			Name: webhook.Loggable(s.Name), NotAfter: s.NotAfter, Due: webhook.Loggable(s.Due)})
	}
	return certificates, nil
}

// FirstEnd returns when the first certificate of the host ends. It is zero if none is known.
func (h Host) FirstEnd() time.Time {
	var first time.Time
	for _, c := range h.Certificates {
		if !c.NotAfter.IsZero() && (first.IsZero() || c.NotAfter.Before(first)) {
			first = c.NotAfter
		}
	}
	return first
}

const readRenewer = "kubectl -n kube-system logs bulkhead-" + controlplane.CertsContainer + "-"

// certificateFindings reports certificates that cannot be used, and those that should have been
// renewed.
func certificateFindings(all []Host, now time.Time) []Finding {
	var found []Finding
	var first time.Time
	for _, h := range all {
		if h.CertificatesUnknown != "" {
			found = append(found, Finding{preflight.Warn, h.Node, "certificates unknown: " + h.CertificatesUnknown,
				"run `bulkhead certs status` on this host, or leave them out with --no-certificates"})
		}
		for _, c := range h.Certificates {
			if f := c.finding(h.Node, now); f != nil {
				found = append(found, *f)
			}
		}
		if end := h.FirstEnd(); !end.IsZero() && (first.IsZero() || end.Before(first)) {
			first = end
		}
	}
	if len(found) == 0 && !first.IsZero() {
		found = []Finding{{Level: preflight.OK, Text: "all certificates are renewed in time; the first ends at " +
			first.Format(time.RFC3339)}}
	}
	return found
}

func (c Certificate) finding(node string, now time.Time) *Finding {
	f := &Finding{Level: preflight.Fail, Where: node, Next: "run `bulkhead certs renew` on this host; " +
		readRenewer + node + " says why it was not renewed"}
	switch {
	case c.NotAfter.IsZero():
		f.Text = fmt.Sprintf("certificate %s cannot be used: %s", c.Name, c.Due)
	case !now.Before(c.NotAfter):
		f.Text = fmt.Sprintf("certificate %s expired at %s", c.Name, c.NotAfter.Format(time.RFC3339))
		if c.Name == AuthorityName {
			f.Next = "replace Bulkhead's CA on this host: docs/install.md has the steps"
		}
	case c.Due != "":
		f.Level = preflight.Warn
		f.Text = fmt.Sprintf("certificate %s is due for renewal: %s", c.Name, c.Due)
		f.Next = "run this again in an hour: the certs pod renews it by then. If not, " + f.Next
	default:
		return nil
	}
	return f
}

// AuthorityName is the name of Bulkhead's CA among the certificates of a host. No program renews it.
const AuthorityName = "ca"
