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
		{"a first run is told yes", "", []string{"--kubelet-api"}, new(true), true},
		{"a first run is told no", "", []string{"--kubelet-api=false"}, new(false), true},
		{"a later run keeps it", `{"kubeletAPI": true}`, nil, new(true), false},
		{"a later run keeps a no", `{"kubeletAPI": false}`, nil, new(false), false},
		{"a later run was told nothing", `{"profile": "hardened"}`, nil, nil, false},
		{"a later run is told no", `{"kubeletAPI": true}`, []string{"--kubelet-api=false"}, new(false), true},
		{"a later run is told yes", `{"kubeletAPI": false}`, []string{"--kubelet-api"}, new(true), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var (
				common  hostFlags
				beyond  beyondFlags
				options controlplane.Options
			)
			fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
			common.add(fs)
			beyond.add(fs)
			kubeletAPI := fs.Bool(kubeletAPIFlag, true, "")
			common.layout.State = t.TempDir()
			if tc.record != "" {
				writeRecord(t, common.layout.State, tc.record)
			}
			if err := fs.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			if err := common.remember(fs, &options, &beyond, "", *kubeletAPI); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, options.KubeletAPI); diff != "" || options.KubeletAPISaid != tc.said {
				t.Errorf("said: %v, -want +got:\n%s", options.KubeletAPISaid, diff)
			}
		})
	}
}
