// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
)

// Platform is an operating system and an architecture, by Go's names.
type Platform struct{ OS, Arch string }

// Here returns the platform of this process.
func Here() Platform { return Platform{OS: runtime.GOOS, Arch: runtime.GOARCH} }

// Env returns the variables with which Go compiles for the platform.
func (p Platform) Env() []string { return []string{"GOOS=" + p.OS, "GOARCH=" + p.Arch} }

// Info is what an engine reports about the machine that runs its containers. It may be a virtual
// machine. A number is zero, and a text is empty, if the engine does not report it.
type Info struct {
	Platform Platform
	// Memory is in bytes.
	Memory uint64
	// System is the name of the operating system, and Kernel is what `uname -r` prints.
	System, Kernel string
	CgroupV1       bool
	Rootless       bool
	// NoLimits names the cgroup controllers that the engine cannot use, separated by spaces.
	NoLimits string
}

// ask returns the engine with its Info. An error means that the engine does not answer.
func (e Engine) ask(ctx context.Context, log io.Writer) (Engine, error) {
	format, parse := "{{json .}}", parseDocker
	if e.Client() == podman {
		format, parse = "json", parsePodman
	}
	var printed strings.Builder
	out, err := e.Docker("info", "--format", format).Output(ctx, io.MultiWriter(log, &printed))
	if err != nil {
		return e, noAnswer(err, printed.String())
	}
	e.Info, err = parse([]byte(out))
	return e, err
}

// noAnswer returns the reason why the client got no answer. printed is what the client printed.
func noAnswer(err error, printed string) error {
	if strings.Contains(printed+err.Error(), "permission denied") {
		return fmt.Errorf("%w: %w", errNoPermission, err)
	}
	return fmt.Errorf("%w: %w", errNoAnswer, err)
}

// parseDocker reads what `docker info` and `nerdctl info` print.
func parseDocker(raw []byte) (Info, error) {
	var reported struct {
		OSType, Architecture, OperatingSystem, KernelVersion, CgroupVersion, CgroupDriver string
		MemTotal                                                                          uint64
		MemoryLimit, PidsLimit, CPUShares                                                 bool
		SecurityOptions, ServerErrors                                                     []string
	}
	if err := json.Unmarshal(raw, &reported); err != nil {
		return Info{}, fmt.Errorf("cannot read the engine's information: %w", err)
	}
	// Older clients exit with 0 although no engine answers.
	if len(reported.ServerErrors) > 0 {
		return Info{}, noAnswer(errors.New(strings.Join(reported.ServerErrors, "; ")), "")
	}
	info := Info{
		Memory: reported.MemTotal, System: reported.OperatingSystem, Kernel: reported.KernelVersion,
		CgroupV1: reported.CgroupVersion == "1",
		Rootless: slices.ContainsFunc(reported.SecurityOptions, func(option string) bool {
			return slices.Contains(strings.Split(option, ","), "name=rootless")
		}),
	}
	var missing []string
	for _, controller := range []struct {
		name string
		has  bool
	}{{"cpu", reported.CPUShares}, {"memory", reported.MemoryLimit}, {"pids", reported.PidsLimit}} {
		if !controller.has || reported.CgroupDriver == "none" {
			missing = append(missing, controller.name)
		}
	}
	info.NoLimits = strings.Join(missing, " ")
	var err error
	info.Platform, err = platform(reported.OSType, reported.Architecture)
	return info, err
}

// parsePodman reads what `podman info` prints.
func parsePodman(raw []byte) (Info, error) {
	var reported struct {
		Host struct {
			OS, Arch, Kernel, CgroupVersion string
			MemTotal                        uint64
			CgroupControllers               []string
			Distribution                    struct{ Distribution string }
			Security                        struct{ Rootless bool }
		}
	}
	if err := json.Unmarshal(raw, &reported); err != nil {
		return Info{}, fmt.Errorf("cannot read the engine's information: %w", err)
	}
	host := reported.Host
	info := Info{
		Memory: host.MemTotal, System: host.Distribution.Distribution, Kernel: host.Kernel,
		CgroupV1: host.CgroupVersion == "v1", Rootless: host.Security.Rootless,
	}
	// podman before 4.0 does not report the controllers.
	if len(host.CgroupControllers) > 0 {
		info.NoLimits = strings.Join(slices.DeleteFunc([]string{"cpu", "memory", "pids"}, func(name string) bool {
			return slices.Contains(host.CgroupControllers, name)
		}), " ")
	}
	var err error
	info.Platform, err = platform(host.OS, host.Arch)
	return info, err
}

// architectures maps the names of engines and of uname to Go's names. There are node images for
// these only.
var architectures = map[string]string{"amd64": "amd64", "x86_64": "amd64", "arm64": "arm64", "aarch64": "arm64"}

func platform(system, machine string) (Platform, error) {
	arch, known := architectures[machine]
	if system != "linux" || !known {
		return Platform{}, fmt.Errorf("%w %s/%s: nodes run on linux/amd64 and linux/arm64 only", errPlatform,
			system, machine)
	}
	return Platform{OS: system, Arch: arch}, nil
}
