// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"k8s.io/klog/v2"
)

// Policy defines how long certificates are valid and how long before expiry they are renewed.
type Policy struct {
	Validity    time.Duration `json:"validity"`
	RenewBefore time.Duration `json:"renewBefore"`
}

// Interval returns the time between two checks of the certificates. It allows ten tries before a
// certificate expires. It is at most one hour and at least ten seconds.
func (p Policy) Interval() time.Duration {
	return max(10*time.Second, min(time.Hour, p.RenewBefore/10))
}

// Rotator renews a set of certificates.
type Rotator struct {
	Leaves []Leaf
	Policy Policy
	Now    func() time.Time
	// Lock is a directory that is locked during a renewal. So the installer, the static pod and a
	// user cannot write one pair at the same time. An empty Lock means no lock. The directory
	// itself is locked, so that no lock file remains.
	Lock string
	// Accepted waits until the verifier accepts a new certificate. It is called only for
	// certificates with Trust. If it is nil, there is no wait. After an error the old certificate
	// stays in use, and the next renewal retries.
	Accepted func(tls.Certificate) error
}

// Status is the state of one certificate.
type Status struct {
	Name     string    `json:"name"`
	File     string    `json:"file"`
	NotAfter time.Time `json:"notAfter,omitzero"`
	// Due is the reason to renew the certificate now. It is empty if there is none.
	Due string `json:"due,omitempty"`
}

// Status returns the state of every certificate.
func (k Rotator) Status() []Status {
	var all []Status
	for _, leaf := range k.Leaves {
		all = append(all, k.status(leaf))
	}
	return all
}

func (k Rotator) status(leaf Leaf) Status {
	s := Status{Name: leaf.Name, File: leaf.CertFile}
	cert, _, err := load(leaf.Pair)
	if errors.Is(err, os.ErrNotExist) {
		s.Due = "it does not exist"
		return s
	}
	if err != nil {
		s.Due = "it cannot be used: " + err.Error()
		return s
	}
	s.NotAfter = cert.NotAfter
	s.Due = k.due(leaf, cert)
	return s
}

func (k Rotator) due(leaf Leaf, cert *x509.Certificate) string {
	left := cert.NotAfter.Sub(k.Now())
	switch {
	case left <= 0:
		return "it has expired"
	case left < k.Policy.RenewBefore:
		return fmt.Sprintf("it has %s left, less than %s", left.Round(time.Second), k.Policy.RenewBefore)
	case left > k.Policy.Validity+clockSkew:
		return fmt.Sprintf("it has %s left, more than the %s that are allowed", left.Round(time.Second), k.Policy.Validity)
	case !leaf.describes(cert):
		return "it is for another name or address"
	case leaf.Trust != "":
		if !pins(leaf.Trust, cert) {
			return "its verifier does not accept it"
		}
		return ""
	}
	// If the signer cannot be read now, the certificate may still be valid.
	if signer, err := readCert(leaf.Signer.CertFile); err == nil && cert.CheckSignatureFrom(signer) != nil {
		return "its signer has been replaced"
	}
	return ""
}

// describes reports whether cert has the names and the usage of the leaf.
func (l Leaf) describes(cert *x509.Certificate) bool {
	if cert.Subject.CommonName != l.CommonName ||
		!slices.Equal(cert.Subject.Organization, l.Organization) || !slices.Equal(cert.DNSNames, l.DNSNames) {
		return false
	}
	for _, ip := range l.IPs {
		if cert.VerifyHostname(ip.String()) != nil {
			return false
		}
	}
	return slices.Equal(cert.ExtKeyUsage, []x509.ExtKeyUsage{l.Usage})
}

// Renew renews the certificates that are due, or all of them if all is true. It returns the names
// of the renewed certificates. If one renewal fails, the others continue.
func (k Rotator) Renew(all bool) (renewed []string, err error) {
	unlock, err := k.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	var errs []error
	for _, leaf := range k.Leaves {
		if s := k.status(leaf); s.Due == "" && !all {
			if leaf.Trust != "" {
				errs = append(errs, k.settle(leaf))
			}
			continue
		}
		if err := k.issue(leaf); err != nil {
			errs = append(errs, err)
			continue
		}
		renewed = append(renewed, leaf.Name)
	}
	return renewed, errors.Join(errs...)
}

// lock waits until no other process renews. It works on a read-only mount. If a process is killed,
// the kernel releases its lock.
func (k Rotator) lock() (unlock func(), err error) {
	if k.Lock == "" {
		return func() {}, nil
	}
	dir, err := os.Open(k.Lock)
	if err != nil {
		return nil, fmt.Errorf("locking the certificates: %w", err)
	}
	for {
		if err = syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		_ = dir.Close()
		return nil, fmt.Errorf("locking %s: %w", k.Lock, err)
	}
	return func() { _ = dir.Close() }, nil
}

// Watch renews certificates that are due until ctx ends. It retries a renewal that fails, because
// the old certificate is still valid for some time.
func (k Rotator) Watch(ctx context.Context) error {
	ticker := time.NewTicker(k.Policy.Interval())
	defer ticker.Stop()
	klog.InfoS("Keeping certificates alive", "validity", k.Policy.Validity, "renewBefore", k.Policy.RenewBefore,
		"interval", k.Policy.Interval())
	for {
		renewed, err := k.Renew(false)
		for _, name := range renewed {
			klog.InfoS("Renewed certificate", "certificate", name, "validity", k.Policy.Validity)
		}
		if err != nil {
			klog.ErrorS(err, "Renewing certificates; the next try follows", "interval", k.Policy.Interval())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// ReadNotAfter returns the expiry time of the certificate in file.
func ReadNotAfter(file string) (time.Time, error) {
	cert, err := readCert(file)
	if err != nil {
		return time.Time{}, err
	}
	return cert.NotAfter, nil
}

func readCert(file string) (*x509.Certificate, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	cert, err := ParseCert(data)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return cert, nil
}

// ParseCert reads the first certificate in PEM data. The data may also contain a key.
func ParseCert(data []byte) (*x509.Certificate, error) {
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			return nil, errors.New("no certificate in it")
		}
		if block.Type == "CERTIFICATE" {
			return x509.ParseCertificate(block.Bytes)
		}
		data = rest
	}
}
