// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer"
	"github.com/bulkhead-k8s/bulkhead/components/revocationlist"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

const stolen = "JTI=11111111-2222-3333-4444-555555555555"

func listOf(text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: revocationlist.Namespace, Name: revocationlist.Name},
		Data:       map[string]string{revocationlist.IDsKey: text},
	}
}

func (r *revocations) has(id string) bool {
	_, revoked := r.set().Find(&user.DefaultInfo{Extra: map[string][]string{user.CredentialIDKey: {id}}})
	return revoked
}

func TestRevocationsFollowTheConfigMap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		r := newRevocations(client, time.Minute)
		if got := r.unready(); got != "has not yet read ConfigMap kube-system/bulkhead-revocations" {
			t.Errorf("before it runs: unready %q", got)
		}
		go r.run(t.Context())
		configMaps := client.CoreV1().ConfigMaps(revocationlist.Namespace)
		step := func(name string, want, failed bool, change func() error) {
			t.Helper()
			if err := change(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if r.has(stolen) != want || r.failed.Load() != failed || r.unready() != "" {
				t.Errorf("%s: revoked %v, want %v; failed %v, want %v; unready %q", name, r.has(stolen), want, r.failed.Load(),
					failed, r.unready())
			}
		}
		put := func(text string) func() error {
			return func() error {
				_, err := configMaps.Update(t.Context(), listOf(text), metav1.UpdateOptions{})
				return err
			}
		}
		step("no ConfigMap: nothing is revoked", false, false, func() error { return nil })
		step("created", true, false, func() error {
			_, err := configMaps.Create(t.Context(), listOf(stolen), metav1.CreateOptions{})
			return err
		})
		step("a list that cannot be read gives nothing back", true, true, put("x"))
		step("a valid list without it", false, false, put("# none"))
		step("added", true, false, put(stolen))
		step("deleted: nothing is revoked", false, false, func() error {
			return configMaps.Delete(t.Context(), revocationlist.Name, metav1.DeleteOptions{})
		})
	})
}

func TestRevocationsOutliveAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(listOf(stolen))
		away := false
		client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
			return away, nil, errors.New("away")
		})
		r := newRevocations(client, time.Minute)
		store := revocationStore{revocations: r}
		if err := store.Replace([]any{listOf(stolen)}, "1"); err != nil {
			t.Fatal(err)
		}
		away = true
		go r.run(t.Context())
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if !r.has(stolen) {
			t.Error("a credential is not revoked any more while the API server is away")
		}
		if got := r.unready(); !strings.Contains(got,
			"has received nothing about ConfigMap kube-system/bulkhead-revocations for more than 1m0s") {
			t.Errorf("unready %q", got)
		}
	})
}

// The list is read only if a rule needs it.
func TestRevocationsAreFollowedWhereARuleNeedsThem(t *testing.T) {
	for mode, want := range map[rules.Mode]bool{rules.Off: false, rules.Audit: true, rules.Enforce: true} {
		v := newView(fake.NewClientset(), &config{extensions: extensions{modes: nodeauthorizer.Modes(mode)}})
		if got := v.revoked != nil; got != want || (v.revokedSet() != nil) != want {
			t.Errorf("%v: followed %v, want %v", mode, got, want)
		}
	}
}
