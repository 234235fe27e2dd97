// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopesync

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// said is output of kube-apiserver 1.37, with the lines before and after.
const said = `# HELP apiserver_authorization_config_controller_last_config_info [ALPHA] Information
# TYPE apiserver_authorization_config_controller_last_config_info gauge
apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds{` +
	`apiserver_id_hash="sha256:1",status="success"} 1.7e+09
apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds{` +
	`apiserver_id_hash="sha256:1",status="failure"} 1.6e+09
apiserver_authorization_config_controller_automatic_reloads_total{apiserver_id_hash="sha256:1",status="success"} 3
apiserver_authorization_config_controller_last_config_info{apiserver_id_hash="sha256:1",hash="sha256:authz"} 1
apiserver_encryption_config_controller_last_config_info{apiserver_id_hash="sha256:1",hash="sha256:other"} 1
apiserver_manifest_admission_config_controller_automatic_reload_last_timestamp_seconds{` +
	`apiserver_id_hash="sha256:1",plugin="ValidatingAdmissionPolicy",status="failure"} 1.9e+09
apiserver_manifest_admission_config_controller_automatic_reload_last_timestamp_seconds{` +
	`apiserver_id_hash="sha256:1",plugin="ValidatingAdmissionWebhook",status="success"} 1.7e+09
apiserver_manifest_admission_config_controller_last_config_info{` +
	`apiserver_id_hash="sha256:1",hash="sha256:policies",plugin="ValidatingAdmissionPolicy"} 1
apiserver_manifest_admission_config_controller_last_config_info{` +
	`apiserver_id_hash="sha256:1",hash="sha256:webhooks",plugin="ValidatingAdmissionWebhook"} 1
process_start_time_seconds 1.7e+09
`

func TestParse(t *testing.T) {
	failed := strings.Replace(said, `status="failure"} 1.6e+09`, `status="failure"} 1.8e+09`, 1)
	for _, tc := range []struct {
		name, metrics           string
		authorization, webhooks string
		refused                 bool
	}{
		{"loaded", said, "sha256:authz", "sha256:webhooks", false},
		{"the last one was no good", failed, "sha256:authz", "sha256:webhooks", true},
		{"nothing", "", "", "", false},
	} {
		got, err := parseLoaded(strings.NewReader(tc.metrics))
		if err != nil || got.Authorization.Hash != tc.authorization || got.Admission.Hash != tc.webhooks ||
			got.Authorization.Refused != tc.refused || got.Admission.Refused {
			t.Errorf("%s: %+v, %v", tc.name, got, err)
		}
	}
}

func TestMetricsThatEndEarly(t *testing.T) {
	broken := errors.New("broken")
	if _, err := parseLoaded(io.MultiReader(strings.NewReader(said), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
}
