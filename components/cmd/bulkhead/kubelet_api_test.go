// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/bulkhead-k8s/bulkhead/components/install/controlplane"
)

func TestKubeletAPIFlagPrecedence(t *testing.T) {
	for _, tc := range []struct {
		name, record string
		args         []string
		want         *bool
		said         bool
	}{
		{"a first run leaves it to the profile and the cluster", "", nil, nil, false},
		{"first install, --kubelet-api", "", []string{"--kubelet-api"}, new(true), true},
		{"first install, --kubelet-api=false", "", []string{"--kubelet-api=false"}, new(false), true},
		{"a later run keeps it", `{"kubeletAPI": true}`, nil, new(true), false},
		{"a later run keeps a no", `{"kubeletAPI": false}`, nil, new(false), false},
		{"reinstall of a record without the setting", `{"profile": "hardened"}`, nil, nil, false},
		{"reinstall, --kubelet-api=false", `{"kubeletAPI": true}`, []string{"--kubelet-api=false"}, new(false), true},
		{"reinstall, --kubelet-api", `{"kubeletAPI": false}`, []string{"--kubelet-api"}, new(true), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var (
				common     hostFlags
				extensions extensionFlags
				options    controlplane.Options
			)
			fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
			common.add(fs)
			extensions.add(fs)
			kubeletAPI := fs.Bool(kubeletAPIFlag, true, "")
			common.layout.State = t.TempDir()
			if tc.record != "" {
				writeRecord(t, common.layout.State, tc.record)
			}
			if err := fs.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			if err := common.applyRecord(fs, &options, &extensions, "", *kubeletAPI); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, options.KubeletAPI); diff != "" || options.KubeletAPISaid != tc.said {
				t.Errorf("said: %v, -want +got:\n%s", options.KubeletAPISaid, diff)
			}
		})
	}
}
