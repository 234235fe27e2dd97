// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const gib = 1 << 30

// TestParseDocker has the fields of `docker info` that are read, as engines report them.
func TestParseDocker(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     Info
		err      error
	}{
		{"Debian with cgroup v1", `{"OSType":"linux","Architecture":"x86_64","MemTotal":25276502016,"CgroupVersion":"1",
			"CgroupDriver":"cgroupfs","OperatingSystem":"Debian GNU/Linux 12 (bookworm)","KernelVersion":"6.1.0-28-amd64",
			"MemoryLimit":true,"PidsLimit":true,"CPUShares":true,"SecurityOptions":["name=seccomp,profile=default"]}`,
			Info{Platform: Platform{"linux", "amd64"}, Memory: 25276502016, CgroupV1: true,
				System: "Debian GNU/Linux 12 (bookworm)", Kernel: "6.1.0-28-amd64"}, nil},
		{"Docker Desktop on Apple silicon", `{"OSType":"linux","Architecture":"aarch64","MemTotal":8589934592,
			"CgroupVersion":"2","CgroupDriver":"cgroupfs","OperatingSystem":"Docker Desktop",
			"KernelVersion":"6.10.14-linuxkit","MemoryLimit":true,"PidsLimit":true,"CPUShares":true,
			"SecurityOptions":["name=seccomp,profile=unconfined","name=cgroupns"]}`,
			Info{Platform: Platform{"linux", "arm64"}, Memory: 8 * gib, System: "Docker Desktop",
				Kernel: "6.10.14-linuxkit"}, nil},
		{"rootless without delegated controllers", `{"OSType":"linux","Architecture":"x86_64","CgroupVersion":"2",
			"CgroupDriver":"systemd","PidsLimit":true,"MemoryLimit":true,
			"SecurityOptions":["name=seccomp,profile=builtin","name=rootless","name=cgroupns"]}`,
			Info{Platform: Platform{"linux", "amd64"}, Rootless: true, NoLimits: "cpu"}, nil},
		{"rootless without systemd", `{"OSType":"linux","Architecture":"x86_64","CgroupVersion":"2","CgroupDriver":"none",
			"SecurityOptions":["name=rootless"],"PidsLimit":true,"MemoryLimit":true,"CPUShares":true}`,
			Info{Platform: Platform{"linux", "amd64"}, Rootless: true, NoLimits: "cpu memory pids"}, nil},
		{"an older client without an engine", `{"ServerErrors":["Cannot connect to the Docker daemon"]}`, Info{},
			errNoAnswer},
		{"a socket of root", `{"ServerErrors":["permission denied while trying to connect"]}`, Info{}, errNoPermission},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parseDocker([]byte(tc.in))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if !errors.Is(err, tc.err) {
				t.Errorf("error %v, want %v", err, tc.err)
			}
		})
	}
}

func TestParsePodman(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     Info
	}{
		{"podman machine on macOS", `{"host":{"arch":"arm64","os":"linux","kernel":"6.12.7-200.fc41.aarch64",
			"memTotal":2048,"cgroupVersion":"v2","cgroupControllers":["cpuset","cpu","io","memory","pids"],
			"distribution":{"distribution":"fedora"},"security":{"rootless":false}}}`,
			Info{Platform: Platform{"linux", "arm64"}, Memory: 2048, System: "fedora", Kernel: "6.12.7-200.fc41.aarch64"}},
		{"rootless on Fedora", `{"host":{"arch":"amd64","os":"linux","memTotal":1,"cgroupVersion":"v2",
			"cgroupControllers":["memory","pids"],"security":{"rootless":true}}}`,
			Info{Platform: Platform{"linux", "amd64"}, Memory: 1, Rootless: true, NoLimits: "cpu"}},
		{"podman 3 does not report controllers", `{"host":{"arch":"amd64","os":"linux","cgroupVersion":"v1",
			"security":{"rootless":true}}}`,
			Info{Platform: Platform{"linux", "amd64"}, CgroupV1: true, Rootless: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parsePodman([]byte(tc.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPlatform(t *testing.T) {
	for _, tc := range []struct {
		system, machine string
		want            Platform
	}{
		{"linux", "x86_64", Platform{"linux", "amd64"}},
		{"linux", "amd64", Platform{"linux", "amd64"}},
		{"linux", "aarch64", Platform{"linux", "arm64"}},
		{"linux", "arm64", Platform{"linux", "arm64"}},
		{"linux", "armv7l", Platform{}},
		{"windows", "x86_64", Platform{}},
	} {
		got, err := platform(tc.system, tc.machine)
		if got != tc.want || (err == nil) != (tc.want != Platform{}) || err != nil && !errors.Is(err, errPlatform) {
			t.Errorf("%s/%s: %v, error %v", tc.system, tc.machine, got, err)
		}
	}
	if _, err := parseDocker([]byte("not JSON")); err == nil {
		t.Error("parseDocker accepted what is not JSON")
	}
}
