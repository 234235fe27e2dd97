// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kubeadmServer is an API server with the ConfigMap kubeadm-config. It rejects an update with
// another resourceVersion than the current one.
type kubeadmServer struct {
	t *testing.T
	// text is the ClusterConfiguration. exists reports whether the cluster has the ConfigMap.
	text    string
	exists  bool
	version int
	// others is the number of updates before which another program writes.
	others  int
	updates int
}

func (s *kubeadmServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if !s.exists {
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	}
	if r.Method == http.MethodPut {
		if s.updates++; s.others > 0 {
			s.others--
			s.version++
			s.text += "!"
		}
		var config corev1.ConfigMap
		if err := json.NewDecoder(r.Body).Decode(&config); err != nil {
			s.t.Error(err)
		}
		if config.ResourceVersion != strconv.Itoa(s.version) {
			fail(w, http.StatusConflict, metav1.StatusReasonConflict)
			return
		}
		s.text = config.Data[kubeadmKey]
		s.version++
	}
	config := corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: kubeadmConfig, ResourceVersion: strconv.Itoa(s.version)},
		Data:       map[string]string{kubeadmKey: s.text, "other": "stays"}}
	if err := json.NewEncoder(w).Encode(config); err != nil {
		s.t.Error(err)
	}
}

func fail(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status: metav1.StatusFailure, Code: int32(code), Reason: reason})
}

func TestEditKubeadmConfig(t *testing.T) {
	upper := func(text string) (string, error) { return strings.ToUpper(text), nil }
	for _, tc := range []struct {
		name        string
		text        string
		exists      bool
		others      int
		want        string
		changed     bool
		updates     int
		errMentions string
	}{
		{"no other program writes", "a", true, 0, "A", true, 1, ""},
		{"another program writes between: its change stays", "a", true, 1, "A!", true, 2, ""},
		{"another program writes all the time: error", "a", true, 1000, "", false, 4, "cannot edit ConfigMap kubeadm-config"},
		{"nothing to change: no update", "A", true, 0, "A", false, 0, ""},
		{"no ConfigMap: nothing is done", "", false, 0, "", false, 0, ""},
		{"empty configuration: nothing is done", "", true, 0, "", false, 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := &kubeadmServer{t: t, text: tc.text, exists: tc.exists, others: tc.others}
			client := serve(t, server.ServeHTTP)
			changed, err := client.EditKubeadmConfig(t.Context(), upper)
			if (err == nil) != (tc.errMentions == "") || err != nil && !strings.Contains(err.Error(), tc.errMentions) {
				t.Errorf("error is %v, want one that mentions %q", err, tc.errMentions)
			}
			if changed != tc.changed || server.updates != tc.updates || err == nil && server.text != tc.want {
				t.Errorf("changed: %v, %d updates, the text is %q, want %q", changed, server.updates, server.text, tc.want)
			}
		})
	}
}
