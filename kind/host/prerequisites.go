// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Two nodes with Bulkhead use less than half of this memory. The rest is for the workloads and for the
// page cache. The compiler and the linker of Kubernetes need more.
const (
	memoryForTwo    = 2 << 30
	memoryForMore   = 512 << 20
	memoryToCompile = 4 << 30
	// enginesShare is what an engine may reserve of the memory that its machine was given.
	enginesShare = 256 << 20
)

// Linux allows a user 128 inotify instances by default, which is enough for two nodes. All nodes share
// root's limit. With more nodes, kube-proxy fails ("too many open files",
// https://kind.sigs.k8s.io/docs/user/known-issues/).
const (
	instancesForTwo  = 128
	instancesForMore = 512
	watchesNeeded    = 8192
	processesNeeded  = 4096
)

// Needs are what a job expects of the machine.
type Needs struct {
	// Nodes is the number of nodes of the cluster, and of the other clusters of the engine. Zero means
	// that no cluster is created.
	Nodes int
	// Compile is true if Kubernetes is compiled.
	Compile bool
}

// limits are what the machine offers. A number is zero if it is unknown or unlimited.
type limits struct {
	machine
	engine Engine
	// sameKernel is true if the engine does not run in a virtual machine of its own.
	sameKernel bool
	// grub is true if the machine starts with Debian's grub.
	grub bool
	// instances and watches are fs.inotify.max_user_instances and max_user_watches.
	instances, watches uint64
	// memory, in bytes, and processes are the limits of this process, from its cgroup or the machine.
	memory, processes uint64
}

// CheckPrerequisites returns one error that lists everything that the machine lacks, with the command
// that repairs each. Call it before anything is built. With a private engine, which already changes
// the machine, it raises the limit of inotify instances itself.
func CheckPrerequisites(engine Engine, needs Needs) error {
	machine := readLimits(os.DirFS("/"), engine)
	if machine.raisesInstances(needs) {
		value := []byte(strconv.Itoa(instancesForMore))
		if err := os.WriteFile("/"+instancesFile, value, 0o644); err != nil {
			return fmt.Errorf("cannot raise fs.inotify.max_user_instances: %w", err)
		}
		machine.instances = instancesForMore
	}
	return machine.check(needs)
}

func (l limits) raisesInstances(needs Needs) bool {
	return l.engine.Private && l.instances > 0 && l.instances < needs.instances()
}

func (n Needs) instances() uint64 {
	if n.Nodes > 2 {
		return instancesForMore
	}
	return instancesForTwo
}

func (n Needs) memory() uint64 { return memoryForTwo + uint64(max(n.Nodes-2, 0))*memoryForMore }

func (l limits) check(needs Needs) error {
	var problems []error
	lacks := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if needs.Nodes > 0 {
		problems = append(problems, l.checkEngine(needs), l.checkInotify(needs))
	}
	if needs.Compile {
		if l.memory > 0 && l.memory < memoryToCompile {
			lacks("%s of memory are too little to compile Kubernetes, which needs %s; %s", size(l.memory),
				size(memoryToCompile), l.moreMemory(0))
		}
		if l.processes > 0 && l.processes < processesNeeded {
			lacks("this process may start only %d processes, not %d (pids.max of its cgroup); run in a container with "+
				"--pids-limit=-1, or outside of one", l.processes, processesNeeded)
		}
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("cannot create the cluster on this machine:\n- %s", strings.ReplaceAll(err.Error(), "\n", "\n- "))
	}
	return nil
}

// checkEngine checks the memory and the cgroups of the engine's machine.
func (l limits) checkEngine(needs Needs) error {
	var problems []error
	info := l.engine.Info
	memory := info.Memory
	if l.engine.Private {
		// It runs in the cgroup of this process, and reports the memory of the machine.
		memory = smallest(memory, l.memory)
	}
	if memory > 0 && memory+enginesShare < needs.memory() {
		problems = append(problems, fmt.Errorf("the engine has %s of memory, and %d nodes need %s; %s", size(memory),
			needs.Nodes, size(needs.memory()), l.moreMemory(needs.memory())))
	}
	switch {
	case info.Rootless && info.CgroupV1:
		problems = append(problems, errors.New("a rootless engine needs cgroup v2; "+
			l.addKernelOption("systemd.unified_cgroup_hierarchy=1")))
	case info.Rootless && info.NoLimits != "":
		problems = append(problems, fmt.Errorf("the rootless engine may not use the cgroup controllers %s; run: sudo "+
			"mkdir -p %[2]s && printf '[Service]\\nDelegate=yes\\n' | sudo tee %[2]s/delegate.conf && sudo systemctl "+
			"daemon-reload, and log in again", info.NoLimits, "/etc/systemd/system/user@.service.d"))
	case info.NoLimits != "":
		problems = append(problems, fmt.Errorf("the engine cannot use the cgroup controllers %s; %s", info.NoLimits,
			l.addKernelOption("cgroup_enable=memory swapaccount=1")))
	}
	return errors.Join(problems...)
}

func (l limits) checkInotify(needs Needs) error {
	if !l.sameKernel {
		return nil
	}
	var problems []error
	for _, limit := range []struct {
		name      string
		is, needs uint64
	}{{"max_user_instances", l.instances, needs.instances()}, {"max_user_watches", l.watches, watchesNeeded}} {
		if limit.is > 0 && limit.is < limit.needs {
			problems = append(problems, fmt.Errorf("fs.inotify.%[1]s is %[2]d, and %[3]d nodes need %[4]d; run: sudo sysctl "+
				"fs.inotify.%[1]s=%[4]d", limit.name, limit.is, needs.Nodes, limit.needs))
		}
	}
	return errors.Join(problems...)
}

// addKernelOption returns how to start the machine with an option of the kernel. Debian's command
// exists where there is Debian's grub; a Raspberry Pi has none.
func (l limits) addKernelOption(option string) string {
	switch {
	case l.family == "fedora":
		return fmt.Sprintf("run: sudo grubby --update-kernel=ALL --args='%s' && sudo reboot", option)
	case l.family == "debian" && l.grub:
		return fmt.Sprintf(`run: sudo sed -i 's/^GRUB_CMDLINE_LINUX="/&%s /' /etc/default/grub && sudo update-grub && `+
			"sudo reboot", option)
	}
	return "start the kernel with: " + option
}

// moreMemory returns how to give more memory to this process or, if the engine needs an amount in
// bytes, to the engine.
func (l limits) moreMemory(engine uint64) string {
	desktop := strings.Contains(l.engine.Info.System, "Docker Desktop")
	switch {
	case engine > 0 && l.goos == "darwin" && l.client == podman:
		return fmt.Sprintf("run: podman machine stop; podman machine set --memory %d; podman machine start",
			max(4096, engine>>20+1024))
	case l.wsl:
		return `write "[wsl2]" and "memory=6GB" to %UserProfile%\.wslconfig, and run: wsl --shutdown`
	case engine > 0 && desktop:
		return "raise it in Docker Desktop: Settings > Resources > Memory limit"
	}
	return "use a machine, or a container, with more memory"
}

func size(bytes uint64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }

const instancesFile = "proc/sys/fs/inotify/max_user_instances"

// readLimits reads the limits of this process below root. Files that do not exist, as on macOS, set no
// limit.
func readLimits(root fs.FS, engine Engine) limits {
	release, _ := fs.ReadFile(root, "proc/sys/kernel/osrelease")
	return limits{
		machine: thisMachine(engine), engine: engine,
		sameKernel: len(release) > 0 && string(bytes.TrimSpace(release)) == engine.Info.Kernel,
		grub:       exists(root, "etc/default/grub"),
		instances:  number(root, instancesFile),
		watches:    number(root, "proc/sys/fs/inotify/max_user_watches"),
		// The first of each pair is in cgroup v2, the second in v1.
		memory: smallest(number(root, "sys/fs/cgroup/memory.max"), number(root,
			"sys/fs/cgroup/memory/memory.limit_in_bytes"), totalMemory(root)),
		processes: smallest(number(root, "sys/fs/cgroup/pids.max"), number(root, "sys/fs/cgroup/pids/pids.max")),
	}
}

func exists(root fs.FS, file string) bool {
	_, err := fs.Stat(root, file)
	return err == nil
}

// number returns the number in a file. It is 0 for a file that does not exist, and for "max".
func number(root fs.FS, file string) uint64 {
	raw, err := fs.ReadFile(root, file)
	if err != nil {
		return 0
	}
	value, err := strconv.ParseUint(string(bytes.TrimSpace(raw)), 10, 64)
	if err != nil {
		return 0
	}
	return value
}

// totalMemory returns the machine's memory from /proc/meminfo.
func totalMemory(root fs.FS) uint64 {
	raw, _ := fs.ReadFile(root, "proc/meminfo")
	for line := range strings.Lines(string(raw)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "MemTotal:" && fields[2] == "kB" {
			kib, _ := strconv.ParseUint(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// smallest returns the smallest number that is not 0.
func smallest(numbers ...uint64) uint64 {
	var least uint64
	for _, n := range numbers {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}
