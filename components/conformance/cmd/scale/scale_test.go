// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"maps"
	"math/big"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
)

func TestKubeletStartsAndEndsAPodOnce(t *testing.T) {
	c := &churn{namespace: "ns", nodes: []string{"node-0"}}
	pod := c.pod(7)
	pod.Namespace, pod.UID = "ns", "uid"
	r, objects := newResults(), fake.NewClientset(pod,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: shared(7)}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: shared(7)}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "default"}},
	)
	k := newKubelet("node-0", objects, r)
	r.record(true)
	k.sync(t.Context(), pod)
	k.sync(t.Context(), pod)
	deleted := pod.DeepCopy()
	deleted.DeletionTimestamp = new(metav1.Now())
	k.sync(t.Context(), deleted)
	k.sync(t.Context(), deleted)
	if _, failed, messages := r.errors(); failed != 0 {
		t.Errorf("%d calls failed: %q", failed, messages)
	}
	got := map[string]int{}
	for _, s := range r.summaries() {
		got[s.kind] = s.calls
	}
	want := map[string]int{
		"get secret": 1, "get config map": 1, "create token": 1, "patch pod's status": 2, "delete pod": 1,
	}
	if !maps.Equal(got, want) {
		t.Errorf("calls are %v, want %v", got, want)
	}
}

func TestResultsCountDenialsAndFailures(t *testing.T) {
	r := newResults()
	for _, err := range []error{
		nil, context.Canceled, errors.New("no connection"),
		apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "x", errors.New("no")),
	} {
		r.call("get secret", func() error { return err })
	}
	if denied, failed, messages := r.errors(); denied != 1 || failed != 1 || len(messages) != 2 {
		t.Errorf("%d denied, %d failed, messages %q", denied, failed, messages)
	}
	if got := r.summaries(); len(got) != 0 {
		t.Errorf("recorded %v before the measurement", got)
	}
}

func TestParseUsage(t *testing.T) {
	got, err := parseUsage("etcd 100 50 1024\nsh 1 1 1\nnode-authorizer 200 0 2\nnode-authorizer 100 0 2\n\n")
	want := map[string]usage{
		"etcd":            {cpu: 1500 * time.Millisecond, resident: 1 << 20},
		"node-authorizer": {cpu: 3 * time.Second, resident: 4 << 10},
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("usage is %v, error %v, want %v", got, err, want)
	}
	if _, err := parseUsage("etcd one 50 1024"); err == nil {
		t.Error("no error for a line without numbers")
	}
}

func TestPageHasAColumnForEachNumberOfKubelets(t *testing.T) {
	calls := []summary{{"renew lease", 100, 2 * time.Millisecond, 9 * time.Millisecond}}
	text := page([]measurement{
		{profile: "in-tree", nodes: 50, took: 10 * time.Second, calls: calls, cores: map[string]float64{"etcd": 0.5},
			resident: map[string]int64{"etcd": 5 << 20}},
		{profile: "in-tree", nodes: 500, took: 10 * time.Second, calls: calls},
		{profile: "hardened", nodes: 50, took: 10 * time.Second, denied: 3},
	})
	for _, want := range []string{
		"| p50 / p99 in ms of | 50 kubelets | 500 kubelets |\n", "| renew lease, in-tree | 2.0 / 9.0 | 2.0 / 9.0 |\n",
		"| etcd, in-tree | 0.50 / 5 MB |\n", "| calls a second, in-tree | 10 | 10 |\n", "| calls denied, hardened | 3 |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "renew lease, hardened") {
		t.Errorf("a row has no cells:\n%s", text)
	}
}

func TestClientHasACertificateOfItsNode(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true,
		BasicConstraintsValid: true, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{certificate, key}
	own, err := a.configOf("node-1", &rest.Config{Host: "https://127.0.0.1:1", BearerToken: "administrator"})
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(own.CertData)
	if block == nil {
		t.Fatalf("certificate is %q", own.CertData)
	}
	nodes, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if got := nodes.Subject.String(); got != "CN=system:node:node-1,O=system:nodes" {
		t.Errorf("subject is %v", got)
	}
	if err := nodes.CheckSignatureFrom(certificate); err != nil {
		t.Error(err)
	}
	if own.BearerToken != "" {
		t.Error("the node has the administrator's token")
	}
}
