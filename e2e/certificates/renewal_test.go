// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package certificates_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

const (
	// With validity and renewBefore, a certificate is renewed after three minutes.
	validity    = 10 * time.Minute
	renewBefore = 7 * time.Minute
	// renewalTimeout is the time of two checks of kube-apiserver's client certificate, one every five
	// minutes, plus a reserve.
	renewalTimeout = 14 * time.Minute

	expiry = "bulkhead_certificate_expiration_timestamp_seconds"
)

// leaf is a certificate that bulkhead renews on the host, the component that uses or sees it, and
// its name in that component's metric.
type leaf struct{ file, component, metric string }

func (l leaf) String() string { return l.component + "'s " + l.metric }

// inUse returns the expiration time of the certificate that the component uses now.
func (l leaf) inUse(ctx context.Context) (float64, error) {
	if l.component == restriction {
		return suite.RestrictionMetric(ctx, expiry, `certificate="`+l.metric+`"`)
	}
	return suite.ComponentMetric(ctx, expiry, `certificate="`+l.metric+`"`)
}

const (
	authorizer  = "node-authorizer"
	restriction = "node-restriction"

	// apiserverClient is the name of kube-apiserver's client certificate in the metric.
	apiserverClient = "apiserver-client"
)

func leaves() []leaf {
	// The API server uses one client certificate for both components, and both see it.
	client := StateDirectory + "/apiserver/node-authorizer-client.crt"
	var all []leaf
	for _, component := range []string{authorizer, restriction} {
		all = append(all,
			leaf{StateDirectory + "/" + component + "/serving.crt", component, "serving"},
			leaf{StateDirectory + "/" + component + "/client.crt", component, "kube-client"},
			leaf{client, component, apiserverClient},
		)
	}
	return all
}

// Certificates are the same on every profile with Bulkhead, so the spec runs on one profile.
var _ = It("certificates are renewed twice, and only a call in flight can fail", Serial,
	Label(OnHost, OnHardened, Slow), PollProgressAfter(renewalTimeout), AllowsBy("NA-DEFAULT", "NA-UNI-SERVICES"),
	func(ctx SpecContext) {
		makeShortLived(ctx)
		watched := startProber(suite.Env().Own)
		DeferCleanup(watched.stop)

		changes := newChanges(ctx)
		Eventually(ctx, func() error {
			if wrong := watched.seen(); len(wrong) > 0 {
				return StopTrying(wrong[0])
			}
			return changes.look(ctx)
		}).WithTimeout(renewalTimeout).WithPolling(5 * time.Second).Should(Succeed())

		asked, cut, late, wrong := watched.end()
		Expect(changes.read(ctx)).To(Succeed())
		Measured("certificates", fmt.Sprintf("%s; %d requests, %d of them cut off, %d late, %d answered wrongly", changes,
			asked, cut, late, len(wrong)))
		Expect(wrong).To(BeEmpty())
		// The prober makes one request at a time.
		Expect(cut).To(BeNumerically("<=", changes.clientsTaken()))
	})

// makeShortLived installs again with certificates that are valid for ten minutes, unless they are
// already. It restores the old setting afterwards.
func makeShortLived(ctx context.Context) {
	GinkgoHelper()
	installed, err := suite.ReadInstallation(ctx)
	Expect(err).NotTo(HaveOccurred())
	if installed.Certificates.Validity <= validity {
		return
	}
	DeferCleanup(func(ctx context.Context) { suite.OnControlPlane(ctx, installed.Command()) })
	suite.OnControlPlane(ctx, installed.LivingFor(validity, renewBefore).Command())
}

// changes counts the renewals of each certificate on disk, and how often a component switched to a
// new one or saw a new one.
type changes struct {
	started       time.Time
	serial        map[leaf]string
	inUse         map[leaf]float64
	onDisk, taken map[leaf]int
}

func newChanges(ctx context.Context) *changes {
	c := &changes{
		started: time.Now(),
		serial:  map[leaf]string{}, inUse: map[leaf]float64{},
		onDisk: map[leaf]int{}, taken: map[leaf]int{},
	}
	Expect(c.read(ctx)).To(Succeed())
	clear(c.onDisk)
	clear(c.taken)
	return c
}

// look returns an error until every certificate has been renewed twice, and two of the new ones
// have been in use. This includes kube-apiserver's client certificate.
func (c *changes) look(ctx context.Context) error {
	if err := c.read(ctx); err != nil {
		return err
	}
	for _, l := range leaves() {
		if c.onDisk[l] < 2 || c.taken[l] < 2 {
			return fmt.Errorf("%s: %s", l, c)
		}
	}
	return nil
}

func (c *changes) read(ctx context.Context) error {
	for _, l := range leaves() {
		serial, err := serialOf(ctx, l.file)
		if err != nil {
			return err
		}
		if serial != c.serial[l] {
			c.serial[l] = serial
			c.onDisk[l]++
		}
		at, err := l.inUse(ctx)
		if err != nil {
			return err
		}
		if at != c.inUse[l] {
			c.inUse[l] = at
			c.taken[l]++
		}
	}
	return nil
}

// clientsTaken returns how often kube-apiserver has switched to a new client certificate. It counts
// its two clients, for node-authorizer and for node-restriction.
func (c *changes) clientsTaken() int {
	taken := 0
	for _, l := range leaves() {
		if l.metric == apiserverClient {
			taken += c.taken[l]
		}
	}
	return taken
}

func (c *changes) String() string {
	return fmt.Sprintf("after %s renewed on disk %v, taken into use %v", time.Since(c.started).Round(time.Second),
		c.onDisk, c.taken)
}

func serialOf(ctx context.Context, file string) (string, error) {
	text, err := suite.Host.Run(ctx, suite.ControlPlane, "cat "+file)
	if err != nil {
		return "", err
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return "", fmt.Errorf("%s is no PEM: %w", file, os.ErrInvalid)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", fmt.Errorf("parsing %s: %w", file, err)
	}
	return certificate.SerialNumber.String(), nil
}
