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
	// validity and renewBefore make a certificate old within three minutes.
	validity    = 10 * time.Minute
	renewBefore = 7 * time.Minute
	// enough is two of the looks that kube-apiserver takes at its client
	// certificate, one in five minutes, with room.
	enough = 14 * time.Minute

	expiry = "bulkhead_certificate_expiration_timestamp_seconds"
)

// leaf is a certificate that bulkhead renews on the host, the component that uses or
// sees it, and the name under which that component's metric has it.
type leaf struct{ file, component, metric string }

func (l leaf) String() string { return l.component + "'s " + l.metric }

// inUse is when the certificate that the component has in use ends.
func (l leaf) inUse(ctx context.Context) (float64, error) {
	if l.component == restriction {
		return suite.RestrictionMetric(ctx, expiry, `certificate="`+l.metric+`"`)
	}
	return suite.ComponentMetric(ctx, expiry, `certificate="`+l.metric+`"`)
}

const (
	authorizer  = "node-authorizer"
	restriction = "node-restriction"
)

func leaves() []leaf {
	// One certificate of the API server's is for both, and both see it.
	client := StateDirectory + "/apiserver/node-authorizer-client.crt"
	var all []leaf
	for _, component := range []string{authorizer, restriction} {
		all = append(all,
			leaf{StateDirectory + "/" + component + "/serving.crt", component, "serving"},
			leaf{StateDirectory + "/" + component + "/client.crt", component, "kube-client"},
			leaf{client, component, "apiserver-client"},
		)
	}
	return all
}

// Certificates are the same in every profile of ours, so one has to do.
var _ = It("certificates are renewed twice and no request notices", Serial, Label(OnHost, OnHardened, Slow),
	PollProgressAfter(enough), AllowsBy("NA-DEFAULT", "NA-UNI-SERVICES"), func(ctx SpecContext) {
		makeShortLived(ctx)
		watched := startProber(suite.Scene().Own)
		DeferCleanup(watched.stop)

		changes := newChanges(ctx)
		Eventually(ctx, func() error {
			if wrong := watched.seen(); len(wrong) > 0 {
				return StopTrying(wrong[0])
			}
			return changes.look(ctx)
		}).WithTimeout(enough).WithPolling(5 * time.Second).Should(Succeed())

		asked, wrong := watched.end()
		Measured("certificates", fmt.Sprintf("%s; %d requests, %d answered wrongly", changes, asked, len(wrong)))
		Expect(wrong).To(BeEmpty())
	})

// makeShortLived installs again with certificates that live ten minutes, unless
// they do already, and puts the old policy back afterwards.
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

// changes counts how often each certificate was another one, on disk, and how
// often a component had or saw another one in use.
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

// look is an error until every certificate has been renewed twice, and two of its
// successors have been in use: kube-apiserver's client certificate too.
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
