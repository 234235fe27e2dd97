// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// goodMachine lacks nothing.
func goodMachine() limits {
	return limits{
		machine: machine{goos: "linux", client: "docker"}, sameKernel: true,
		engine:    Engine{Info: Info{Platform: Platform{"linux", "amd64"}, Memory: 8 * gib}},
		instances: 128, watches: 16384, memory: 8 * gib, processes: 0,
	}
}

// TestEachPrerequisiteNamesItsRepair changes one property of a machine that lacks nothing.
func TestEachPrerequisiteNamesItsRepair(t *testing.T) {
	two := Needs{Nodes: 2}
	for _, tc := range []struct {
		name  string
		edit  func(*limits)
		needs Needs
		want  []string
	}{
		{"nothing is missing", func(*limits) {}, Needs{Nodes: 2, Compile: true}, nil},
		{"nothing is reported", func(l *limits) { *l = limits{} }, Needs{Nodes: 5, Compile: true}, nil},
		{"Docker Desktop has too little memory", func(l *limits) {
			l.goos, l.engine.Info.Memory, l.engine.Info.System = "darwin", gib, "Docker Desktop"
		}, two, []string{"has 1.0 GiB of memory, and 2 nodes need 2.0 GiB", "Docker Desktop: Settings > Resources"}},
		{"podman machine has too little memory", func(l *limits) {
			l.goos, l.client, l.engine.Info.Memory = "darwin", "podman", gib
		}, two, []string{"podman machine set --memory 4096"}},
		{"podman machine has too little memory for many nodes", func(l *limits) {
			l.goos, l.client, l.engine.Info.Memory = "darwin", "podman", gib
		}, Needs{Nodes: 7}, []string{"podman machine set --memory 5632"}},
		{"WSL2 has too little memory", func(l *limits) { l.wsl, l.engine.Info.Memory = true, gib }, two,
			[]string{`%UserProfile%\.wslconfig`, "wsl --shutdown"}},
		{"more nodes need more memory", func(l *limits) { l.engine.Info.Memory, l.instances = 3*gib, 512 },
			Needs{Nodes: 5}, []string{"has 3.0 GiB of memory, and 5 nodes need 3.5 GiB"}},
		{"a container with too little memory to compile", func(l *limits) { l.memory = 2 * gib }, Needs{Compile: true},
			[]string{"2.0 GiB of memory are too little to compile Kubernetes, which needs 4.0 GiB"}},
		{"memory to compile does not matter for a pulled image", func(l *limits) { l.memory = 2 * gib }, two, nil},
		{"too few processes to compile", func(l *limits) { l.processes = 100 }, Needs{Compile: true},
			[]string{"only 100 processes", "--pids-limit=-1"}},
		{"rootless with cgroup v1", func(l *limits) {
			l.engine.Info.Rootless, l.engine.Info.CgroupV1, l.family, l.grub = true, true, "debian", true
		}, two, []string{"needs cgroup v2", "systemd.unified_cgroup_hierarchy=1", "sudo update-grub"}},
		{"rootless with cgroup v1 on Fedora", func(l *limits) {
			l.engine.Info.Rootless, l.engine.Info.CgroupV1, l.family = true, true, "fedora"
		}, two, []string{"run: sudo grubby --update-kernel=ALL --args='systemd.unified_cgroup_hierarchy=1'"}},
		{"rootless without delegation", func(l *limits) {
			l.engine.Info.Rootless, l.engine.Info.NoLimits = true, "cpu pids"
		}, two, []string{"cgroup controllers cpu pids", "Delegate=yes", "user@.service.d/delegate.conf"}},
		{"the kernel has no memory controller, and no grub", func(l *limits) {
			l.engine.Info.NoLimits, l.family = "memory", "debian"
		}, two, []string{"cgroup controllers memory", "start the kernel with: cgroup_enable=memory swapaccount=1"}},
		{"the private engine is in a container with too little memory", func(l *limits) {
			l.engine.Private, l.memory = true, gib
		}, two, []string{"the engine has 1.0 GiB of memory, and 2 nodes need 2.0 GiB"}},
		{"another engine has the memory of its own machine", func(l *limits) { l.memory = gib }, two, nil},
		{"cgroup v1 as root is enough", func(l *limits) { l.engine.Info.CgroupV1 = true }, two, nil},
		{"too few inotify instances", func(l *limits) { l.instances = 64 }, two,
			[]string{"max_user_instances is 64", "run: sudo sysctl fs.inotify.max_user_instances=128"}},
		{"more nodes need more instances", func(*limits) {}, Needs{Nodes: 5},
			[]string{"run: sudo sysctl fs.inotify.max_user_instances=512"}},
		{"too few inotify watches", func(l *limits) { l.watches = 4096 }, two,
			[]string{"run: sudo sysctl fs.inotify.max_user_watches=8192"}},
		{"limits of another kernel do not matter", func(l *limits) { l.sameKernel, l.instances, l.watches = false, 1, 1 },
			two, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := goodMachine()
			tc.edit(&l)
			err := l.check(tc.needs)
			if (err == nil) != (tc.want == nil) {
				t.Fatalf("error: %v", err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q:\n%v", want, err)
				}
			}
		})
	}
}

func TestPrerequisitesAreReportedTogether(t *testing.T) {
	l := goodMachine()
	l.instances, l.watches, l.engine.Info.Memory, l.memory = 1, 1, gib, gib
	err := l.check(Needs{Nodes: 2, Compile: true})
	if err == nil || strings.Count(err.Error(), "\n- ") != 4 {
		t.Errorf("want one error with four lines:\n%v", err)
	}
}

func TestOnlyThePrivateEngineRaisesTheLimit(t *testing.T) {
	for _, tc := range []struct {
		name      string
		private   bool
		instances uint64
		nodes     int
		want      bool
	}{
		{"a private engine, too few for five nodes", true, 128, 5, true},
		{"a private engine, enough for two nodes", true, 128, 2, false},
		{"a private engine, enough for five nodes", true, 8192, 5, false},
		{"the machine's own engine", false, 128, 5, false},
		{"a machine without the file", true, 0, 5, false},
	} {
		l := limits{engine: Engine{Private: tc.private}, instances: tc.instances}
		if got := l.raisesInstances(Needs{Nodes: tc.nodes}); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestReadLimits(t *testing.T) {
	type read struct {
		SameKernel                            bool
		Instances, Watches, Memory, Processes uint64
	}
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  read
	}{
		{"cgroup v2", map[string]string{
			"proc/sys/kernel/osrelease": "6.1.0\n", "proc/sys/fs/inotify/max_user_instances": "128\n",
			"proc/sys/fs/inotify/max_user_watches": "65536\n", "sys/fs/cgroup/memory.max": "1048576\n",
			"sys/fs/cgroup/pids.max": "4096\n", "proc/meminfo": "MemTotal:       2048 kB\nMemFree: 1 kB\n",
		}, read{true, 128, 65536, 1 << 20, 4096}},
		{"cgroup v1 without limits", map[string]string{
			"proc/sys/kernel/osrelease":                  "5.10.0\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n", "sys/fs/cgroup/pids/pids.max": "max\n",
			"proc/meminfo": "MemTotal:       2048 kB\n",
		}, read{Memory: 2 << 20}},
		{"macOS has none of the files", nil, read{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := fstest.MapFS{}
			for name, content := range tc.files {
				root[name] = &fstest.MapFile{Data: []byte(content)}
			}
			l := readLimits(root, Engine{Info: Info{Kernel: "6.1.0"}})
			got := read{l.sameKernel, l.instances, l.watches, l.memory, l.processes}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
