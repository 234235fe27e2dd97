// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package crl

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// untrustedError is an errUntrusted with its own message.
type untrustedError struct{ error }

func (e untrustedError) Is(target error) bool { return target == errUntrusted }
func (e untrustedError) Unwrap() error        { return e.error }

// restore reads the lists that the last run saved, and treats them as missing lists. An unreadable
// file is an error: without it, an older list could be used. A list whose CA is no longer trusted
// is left out.
func (c *Checker) restore() error {
	if c.config.State == "" {
		return nil
	}
	// PEM is larger than DER, and both were within the limit when they were read.
	found, failed, err := read(2*maxBytes, c.config.State)
	if err != nil {
		return err
	}
	contents := map[string]content{}
	for name, data := range found {
		content, err := decode(data)
		if err == nil && len(content.crls) == 0 {
			err = errors.New("it has no CRL")
		}
		if err != nil {
			failed[name] = err
			continue
		}
		contents[name] = content
	}
	signers := newSigners(c.config.ClientCA(), contents, nil)
	missing := map[issuer]file{}
	for name, content := range contents {
		// The list was valid when it was saved, whatever the clock shows now.
		good, err := signers.verify(content, time.Now().AddDate(100, 0, 0))
		if err != nil && !errors.Is(err, errUntrusted) {
			failed[name] = err
		}
		for _, l := range good.lists {
			missing[l.issuer] = file{lists: []*list{l}, cas: good.cas}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.missing, c.saved = missing, map[string][sha256.Size]byte{}
	for name, data := range found {
		c.saved[filepath.Base(name)] = sha256.Sum256(data)
	}
	return errors.Join(problemsOf(failed)...)
}

// save makes the state folder contain exactly the lists in force.
func (c *Checker) save() error {
	if c.config.State == "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.saveLocked()
	c.metrics.unsaved.Set(0)
	if err != nil {
		c.metrics.unsaved.Set(1)
		return fmt.Errorf("cannot save the newest certificate revocation lists in %s, so a restart may take older ones: %w",
			c.config.State, err)
	}
	return nil
}

func (c *Checker) saveLocked() error {
	next := c.newest()
	for name, data := range next {
		digest := sha256.Sum256(data)
		if c.saved[name] == digest {
			continue
		}
		// The temporary name begins with a dot, and such files are not read.
		if err := atomicfile.Write(filepath.Join(c.config.State, name), atomicfile.Private(data), ""); err != nil {
			return err
		}
		c.saved[name] = digest
	}
	for name := range maps.Clone(c.saved) {
		if _, wanted := next[name]; wanted {
			continue
		}
		if err := os.Remove(filepath.Join(c.config.State, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		delete(c.saved, name)
	}
	return nil
}

// newest returns the list in force of each issuer, with the CA certificates from its file, by file
// name.
func (c *Checker) newest() map[string][]byte {
	inForce := c.current.Load().byIssuer
	newest := map[string][]byte{}
	for _, file := range slices.Concat(slices.Collect(maps.Values(c.files)), slices.Collect(maps.Values(c.missing))) {
		for _, l := range file.lists {
			if known := inForce[l.issuer]; known == nil || known.digest != l.digest {
				continue
			}
			var data bytes.Buffer
			for _, ca := range file.cas {
				_ = pem.Encode(&data, &pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw}) // a write to a buffer never fails
			}
			_ = pem.Encode(&data, &pem.Block{Type: "X509 CRL", Bytes: l.raw})
			newest[hex.EncodeToString(l.issuer[:])+".crl"] = data.Bytes()
		}
	}
	return newest
}
