// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"time"

	"k8s.io/component-base/metrics"
)

// Expiry returns the time at which a certificate expires, or false if there is no certificate.
type Expiry func() (time.Time, bool)

// ExpiryOfFile returns an Expiry that reads the PEM file at each call. It returns the earliest
// expiry among the certificates in the file.
func ExpiryOfFile(file string) Expiry {
	return func() (time.Time, bool) {
		data, err := os.ReadFile(file)
		if err != nil {
			return time.Time{}, false
		}
		return EarliestEnd(data)
	}
}

// EarliestEnd returns the earliest expiry among the certificates in PEM data, or false if there is
// no certificate.
func EarliestEnd(data []byte) (time.Time, bool) {
	var end time.Time
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}
		if end.IsZero() || certificate.NotAfter.Before(end) {
			end = certificate.NotAfter
		}
	}
	return end, !end.IsZero()
}

// expiries returns the expiry of each certificate of the listener.
func (c *certificates) expiries() map[string]Expiry {
	return map[string]Expiry{
		"serving": func() (time.Time, bool) {
			data, _ := c.pair.CurrentCertKeyContent()
			return EarliestEnd(data)
		},
		"client-ca": func() (time.Time, bool) { return EarliestEnd(c.clientCA.CurrentCABundleContent()) },
		"apiserver-client": func() (time.Time, bool) {
			leaf := c.lastClient.Load()
			if leaf == nil {
				return time.Time{}, false
			}
			return leaf.NotAfter, true
		},
	}
}

// expiryCollector reads the expiry times when metrics are collected.
type expiryCollector struct {
	metrics.BaseStableCollector
	description *metrics.Desc
	expiries    map[string]Expiry
}

// RegisterExpiries registers the metric bulkhead_certificate_expiration_timestamp_seconds for
// certificates by name.
func RegisterExpiries(registry metrics.KubeRegistry, expiries map[string]Expiry) error {
	collector := &expiryCollector{
		description: metrics.NewDesc("bulkhead_certificate_expiration_timestamp_seconds",
			"When a certificate ends, in seconds since 1970. apiserver-client is the one that was shown at the last handshake.",
			[]string{"certificate"}, nil, metrics.ALPHA, ""),
		expiries: expiries,
	}
	if err := registry.CustomRegister(collector); err != nil {
		return fmt.Errorf("registering certificate expiries: %w", err)
	}
	return nil
}

func (c *expiryCollector) DescribeWithStability(out chan<- *metrics.Desc) {
	out <- c.description
}

func (c *expiryCollector) CollectWithStability(out chan<- metrics.Metric) {
	for name, expiry := range c.expiries {
		if end, ok := expiry(); ok {
			out <- metrics.NewLazyConstMetric(c.description, metrics.GaugeValue, float64(end.Unix()), name)
		}
	}
}
