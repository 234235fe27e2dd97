// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crl

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
)

// rereadInterval is how often the files are read.
const rereadInterval = 10 * time.Second

// Config is the configuration of a [Checker].
type Config struct {
	Options
	// ClientCA returns the current certificates of the client CAs, in PEM.
	ClientCA func() []byte
	Registry metrics.KubeRegistry
}

// Checker reloads the revocation lists when they change. It is safe for concurrent use. Create one
// with [New].
type Checker struct {
	config  Config
	metrics *recorder
	current atomic.Pointer[Lists]

	// mu guards the fields below.
	mu sync.Mutex
	// files are the last valid files.
	files map[string]file
	// missing contains the lists that no file has any more, if no file has a newer list of the same
	// issuer.
	missing map[issuer]file
	seen    [sha256.Size]byte
	// saved contains the digests of the files in the state folder.
	saved map[string][sha256.Size]byte
}

// file is the verified content of a file.
type file struct {
	lists []*list
	cas   []*x509.Certificate
}

// New reads the lists. It returns an error if any of them cannot be used. A list that was the
// newest of its CA before a restart stays in force until there is a newer one.
func New(config Config) (*Checker, error) {
	if err := errors.Join(config.Validate()...); err != nil {
		return nil, err
	}
	c := &Checker{config: config, files: map[string]file{}}
	c.metrics = newRecorder(config.Registry, c.Lists)
	if err := c.restore(); err != nil {
		return nil, fmt.Errorf("cannot use the certificate revocation lists of the last run in %s: %w; "+
			"to go on without them, delete the file", c.config.State, err)
	}
	failed, err := c.reread()
	if err = errors.Join(append(problemsOf(failed), err)...); err != nil {
		return nil, fmt.Errorf("reading certificate revocation lists: %w", err)
	}
	_ = c.save() // Run reports the error
	return c, nil
}

// Lists returns the lists that are in force now. It returns the same pointer until something
// changes.
func (c *Checker) Lists() *Lists { return c.current.Load() }

// Run reloads the lists and the client CA until ctx is done.
func (c *Checker) Run(ctx context.Context) {
	ticker := time.NewTicker(rereadInterval)
	defer ticker.Stop()
	var last error
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			err := c.RunOnce()
			complain(ctx, err, last, "Keeping the last good certificate revocation lists")
			last = err
		}
	}
}

// complain logs an error, unless the previous error was the same.
func complain(ctx context.Context, err, last error, text string) {
	if err != nil && (last == nil || err.Error() != last.Error()) {
		klog.FromContext(ctx).Error(err, text)
	}
}

// RunOnce reads the files now, and uses the valid ones. The error is about the others.
func (c *Checker) RunOnce() error {
	failed, err := c.reread()
	if err != nil {
		return err
	}
	return errors.Join(append(problemsOf(failed), c.missed(), c.save())...)
}

// reread is RunOnce without saving, and without the error about missing lists.
func (c *Checker) reread() (failed map[string]error, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	bundle := c.config.ClientCA()
	found, failed, err := read(maxBytes, c.config.CRL...)
	if err != nil {
		c.metrics.failed.Set(1)
		return nil, err
	}
	if seen := digestOf(bundle, found); len(failed) > 0 || seen != c.seen {
		c.verify(bundle, found, failed)
		c.seen = seen
	}
	c.metrics.failed.Set(float64(len(failed)))
	c.metrics.missing.Set(float64(len(c.missing)))
	if len(failed) > 0 {
		// A list that begins in the future may become valid without a change of its file. So the
		// next run must verify all files again.
		c.seen = [sha256.Size]byte{}
	}
	return failed, nil
}

func problemsOf(failed map[string]error) []error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		problems = append(problems, fmt.Errorf("%s: %w", name, failed[name]))
	}
	return problems
}

func (c *Checker) missed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := map[string]bool{}
	for _, missing := range c.missing {
		names[missing.lists[0].name] = true
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(names)) {
		problems = append(problems, fmt.Errorf("the list of CA %q is gone, or an older one is in its place", name))
	}
	return errors.Join(problems...)
}

// verify verifies the files and puts the valid lists in force. It adds invalid files to failed, and
// keeps the last valid version of each.
func (c *Checker) verify(bundle []byte, found map[string][]byte, failed map[string]error) {
	contents := map[string]content{}
	for name, data := range found {
		content, err := decode(data)
		if err != nil {
			failed[name] = err
			continue
		}
		contents[name] = content
	}
	signers := newSigners(bundle, contents, c.lastGood(contents))
	now := time.Now()
	next := map[string]file{}
	for name, content := range contents {
		good, err := signers.verify(content, now)
		if err != nil {
			failed[name] = err
			continue
		}
		next[name] = good
	}
	for name := range failed {
		if last, ok := c.files[name]; ok {
			next[name] = last
		}
	}
	c.missing = c.missingIn(next, signers)
	c.files = next
	c.publish()
}

// lastGood returns the files that are not replaced, and those of missing lists.
func (c *Checker) lastGood(replaced map[string]content) []file {
	last := slices.Collect(maps.Values(c.missing))
	for name, file := range c.files {
		if _, ok := replaced[name]; !ok {
			last = append(last, file)
		}
	}
	return last
}

// missingIn returns the known lists that are not in next, if next has no newer list of the same
// issuer. The removal of a list must not make revoked certificates valid again. Lists of a CA that
// is no longer trusted are left out.
func (c *Checker) missingIn(next map[string]file, signers *signers) map[issuer]file {
	newest := map[issuer]*list{}
	for _, file := range next {
		for _, l := range file.lists {
			if known := newest[l.issuer]; known == nil || l.newerThan(known) {
				newest[l.issuer] = l
			}
		}
	}
	missing := map[issuer]file{}
	for _, before := range append(slices.Collect(maps.Values(c.files)), slices.Collect(maps.Values(c.missing))...) {
		for _, l := range before.lists {
			if known := newest[l.issuer]; signers.has(l.issuer) && (known == nil || known.before(l)) {
				newest[l.issuer], missing[l.issuer] = l, file{lists: []*list{l}, cas: before.cas}
			}
		}
	}
	return missing
}

func (c *Checker) publish() {
	var all []*list
	for _, file := range slices.Concat(slices.Collect(maps.Values(c.files)), slices.Collect(maps.Values(c.missing))) {
		all = append(all, file.lists...)
	}
	next := newLists(all, c.config.Expired == Refuse, c.metrics.counters)
	if last := c.current.Load(); last == nil || last.digest != next.digest {
		c.current.Store(next)
	}
}

func digestOf(bundle []byte, files map[string][]byte) (digest [sha256.Size]byte) {
	hash := sha256.New()
	add := func(data []byte) {
		sum := sha256.Sum256(data)
		hash.Write(sum[:])
	}
	add(bundle)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		add([]byte(name))
		add(files[name])
	}
	hash.Sum(digest[:0])
	return digest
}

// clientCAs returns the certificates in the bundle. If the bundle is invalid, it returns none: the
// loader of the client CA reports that error.
func clientCAs(bundle []byte) []*x509.Certificate {
	certificates, err := cert.ParseCertsPEM(bundle)
	if err != nil {
		return nil
	}
	return certificates
}
