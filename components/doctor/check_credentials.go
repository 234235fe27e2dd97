// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/clusterstatus"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/crl"
	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
)

const (
	day = 24 * time.Hour
	// A CA is replaced by hand, on every host. That takes weeks to plan.
	authoritySoon, authorityUrgent = 90 * day, 14 * day
)

// checkAuthorities reads the CAs that the API publishes, and Bulkhead's own from the hosts.
func checkAuthorities(ctx context.Context, in *inputs) ([]Finding, error) {
	var found []Finding
	for _, source := range []struct{ config, key, name string }{
		{"extension-apiserver-authentication", "client-ca-file", "the CA of client certificates"},
		{"kube-root-ca.crt", "ca.crt", "the CA of API servers"},
	} {
		bundle, err := readConfigMap(ctx, in, source.config)
		if err != nil {
			return found, err
		}
		found = append(found, judgeBundle(bundle[source.key], source.name, in.Now())...)
	}
	r, err := in.report()
	if err != nil {
		return found, err
	}
	for _, h := range r.Hosts {
		for _, c := range h.Certificates {
			if c.Name == clusterstatus.AuthorityName {
				f := judgeAuthority("Bulkhead's CA", c.NotAfter, in.Now())
				if f != nil {
					f.Names, f.Repair = []string{h.Node}, "replace it: see \"Replace Bulkhead's CA\" in docs/install.md"
					found = append(found, *f)
				}
			}
		}
	}
	return found, nil
}

// judgeBundle judges the CA that lasts longest: a bundle can have an old CA next to its successor.
func judgeBundle(bundle, name string, now time.Time) []Finding {
	var last time.Time
	rest := []byte(bundle)
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if ca, err := x509.ParseCertificate(block.Bytes); err == nil && ca.NotAfter.After(last) {
			last = ca.NotAfter
		}
	}
	if last.IsZero() {
		return []Finding{notChecked(name + " is not published by the API")}
	}
	if f := judgeAuthority(name, last, now); f != nil {
		return []Finding{*f}
	}
	return nil
}

func judgeAuthority(name string, end, now time.Time) *Finding {
	left := end.Sub(now)
	f := &Finding{Severity: Soon, Problem: fmt.Sprintf("%s ends at %s", name, end.UTC().Format(time.RFC3339)),
		Repair: "replace the cluster's CA as Kubernetes describes (Manual Rotation of CA Certificates), then follow \"When " +
			"the cluster's CA is replaced\" in docs/install.md"}
	switch {
	case end.IsZero() || left >= authoritySoon:
		return nil
	case left < authorityUrgent:
		f.Severity = Urgent
	}
	return f
}

// readConfigMap returns nil if the ConfigMap does not exist.
func readConfigMap(ctx context.Context, in *inputs, name string) (map[string]string, error) {
	config, err := in.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read ConfigMap %s in kube-system: %w", name, err)
	}
	return config.Data, nil
}

// checkRevocations reads the list as the components do.
func checkRevocations(ctx context.Context, in *inputs) ([]Finding, error) {
	data, err := readConfigMap(ctx, in, revocationlist.Name)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	var found []Finding
	if _, err := revocationlist.Decode(data[revocationlist.IDsKey]); err != nil {
		found = append(found, Finding{Severity: Urgent,
			Problem: "ConfigMap " + revocationlist.Name + " has lines that revoke nothing: " + err.Error(),
			Repair:  "kubectl -n kube-system edit configmap " + revocationlist.Name + ", then `bulkhead revoke list`"})
	}
	lists := slices.Sorted(maps.Keys(data))
	lists = slices.DeleteFunc(lists, func(key string) bool { return key == revocationlist.IDsKey })
	if len(lists) == 0 {
		return found, nil
	}
	published, err := readConfigMap(ctx, in, "extension-apiserver-authentication")
	if err != nil {
		return found, err
	}
	for _, key := range lists {
		found = append(found, judgeCRL(key, []byte(data[key]), []byte(published["client-ca-file"]), in.Now())...)
	}
	return found, nil
}

func judgeCRL(key string, data, clientCA []byte, now time.Time) []Finding {
	lists, err := crl.Inspect(data, clientCA, now)
	if err != nil {
		return []Finding{{Severity: Urgent, Names: []string{key},
			Problem: "a certificate revocation list cannot be used: " + err.Error(),
			Repair:  "`bulkhead revoke list`; add the list again with `bulkhead revoke --crl=FILE`"}}
	}
	var found []Finding
	for _, l := range lists {
		if !l.NextUpdate.IsZero() && !now.Before(l.NextUpdate) {
			found = append(found, Finding{Severity: Soon, Names: []string{key},
				Problem: fmt.Sprintf("the revocation list of %s was to be updated at %s", l.Issuer,
					l.NextUpdate.UTC().Format(time.RFC3339)),
				Means:  "kubelet-auth-proxy denies the client certificates of this CA, unless --expired-crl allows them",
				Repair: "`bulkhead revoke --crl=FILE` with a new list of this CA"})
		}
	}
	return found
}
