// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crl

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/component-base/metrics"

	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
)

// counters count denials.
type counters struct{ revoked, expired metrics.CounterMetric }

type recorder struct {
	counters
	failed, missing, unsaved *metrics.Gauge
}

func newRecorder(registry metrics.KubeRegistry, lists func() *Lists) *recorder {
	refusals := metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "bulkhead_kubelet_crl_refusals_total",
		Help: "Client certificates denied, because they are revoked or because the list of their issuer has expired. One " +
			"that is presented again within 10 s may count once.",
	}, []string{"reason"})
	failed := metrics.NewGauge(&metrics.GaugeOpts{
		Name: "bulkhead_kubelet_crl_failed_files",
		Help: "Files with certificate revocation lists that could not be used when they were last read. " +
			"The last valid ones are in use.",
	})
	missing := metrics.NewGauge(&metrics.GaugeOpts{
		Name: "bulkhead_kubelet_crl_missing_lists",
		Help: "Certificate revocation lists that are in use although no file has them any more, nor a newer one of their CA.",
	})
	unsaved := metrics.NewGauge(&metrics.GaugeOpts{
		Name: "bulkhead_kubelet_crl_state_failed",
		Help: "1 if the newest certificate revocation lists could not be written to --client-crl-state. A restart may then " +
			"take an older one.",
	})
	registry.MustRegister(refusals, failed, missing, unsaved)
	registry.CustomMustRegister(newCollector(lists))
	return &recorder{
		counters: counters{revoked: refusals.WithLabelValues("revoked"), expired: refusals.WithLabelValues("expired")},
		failed:   failed, missing: missing, unsaved: unsaved,
	}
}

// collector reports the current lists when metrics are collected.
type collector struct {
	metrics.BaseStableCollector
	lists                  func() *Lists
	thisUpdate, nextUpdate *metrics.Desc
	entries                *metrics.Desc
}

func newCollector(lists func() *Lists) *collector {
	describe := func(name, help string) *metrics.Desc {
		return metrics.NewDesc(name, help, []string{"issuer", "key"}, nil, metrics.ALPHA, "")
	}
	return &collector{
		lists: lists,
		thisUpdate: describe("bulkhead_kubelet_crl_this_update_timestamp_seconds",
			"When the certificate revocation list was made, in seconds since 1970. Its age is the time since then."),
		nextUpdate: describe("bulkhead_kubelet_crl_next_update_timestamp_seconds",
			"When the certificate revocation list expires, in seconds since 1970."),
		entries: describe("bulkhead_kubelet_crl_entries", "Certificates that the list revokes."),
	}
}

func (c *collector) DescribeWithStability(out chan<- *metrics.Desc) {
	out <- c.thisUpdate
	out <- c.nextUpdate
	out <- c.entries
}

func (c *collector) CollectWithStability(out chan<- metrics.Metric) {
	lists := c.lists()
	if lists == nil {
		return
	}
	for issuer, l := range lists.byIssuer {
		report := func(what *metrics.Desc, value float64) {
			// The key distinguishes two CAs with the same name.
			out <- metrics.NewLazyConstMetric(what, metrics.GaugeValue, value, strings.ToValidUTF8(l.name, "?"),
				hex.EncodeToString(issuer[:4]))
		}
		report(c.thisUpdate, float64(l.thisUpdate.Unix()))
		report(c.nextUpdate, float64(l.nextUpdate.Unix()))
		report(c.entries, float64(len(l.revoked)))
	}
}

// The decisions for certificates of an issuer whose list has expired.
const (
	Refuse = "refuse"
	Allow  = "allow"
)

// Options contains the values of the revocation flags.
type Options struct {
	// CRL are files or folders.
	CRL     []string
	Expired string
	// State is a folder to which only this process writes, or "" for none.
	State string
	// IDs is the file with revoked credential IDs, or "" for none.
	IDs string
}

// DefaultOptions have no lists.
func DefaultOptions() Options { return Options{Expired: Refuse} }

// AddFlags adds the flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.CRL, "client-crl", o.CRL,
		"Files or folders with certificate revocation lists of the client CA, PEM or DER, and with certificates of "+
			"intermediate CAs, PEM. They are reloaded when they change. Replace a file by a rename. Files whose names begin "+
			"with a dot, and "+revocationlist.IDsKey+", are ignored.")
	fs.StringVar(&o.State, "client-crl-state", o.State,
		"Folder for the newest list of each CA, so that an older list is not accepted after a restart. No other process "+
			"may write to it. Without it, an older list can be accepted after a restart.")
	fs.StringVar(&o.IDs, "revoked-credentials", o.IDs,
		"File with revoked credentials, one a line: X509SHA256=<SHA-256 of a client certificate>, JTI=<ID of a token>, "+
			"or NODE=<node name> for all of a node. It is reloaded when it changes. Without the file, nothing is revoked by "+
			"ID. An invalid file restores no access.")
	fs.StringVar(&o.Expired, "client-crl-expired", o.Expired,
		"Decision for certificates of a CA whose list has expired: refuse denies all of them, so that an attacker gains "+
			"nothing by delaying a list; allow denies those in the old list only. With refuse, a list that is not renewed in "+
			"time denies the API server too.")
}

// Validate returns all errors, not only the first.
func (o *Options) Validate() []error {
	var problems []error
	if o.Expired != Refuse && o.Expired != Allow {
		problems = append(problems, fmt.Errorf("--client-crl-expired is %q, want %s or %s", o.Expired, Refuse, Allow))
	}
	if o.State != "" && len(o.CRL) == 0 {
		problems = append(problems, errors.New("--client-crl-state needs --client-crl"))
	}
	return problems
}
