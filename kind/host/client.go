// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// ProviderVariable is kind's variable that selects the engine.
const ProviderVariable = "KIND_EXPERIMENTAL_PROVIDER"

const (
	docker = "docker"
	podman = "podman"
)

// clients are the programs that kind can use, in the order in which kind prefers them. The last two
// are nerdctl under other names, which only ProviderVariable selects.
var clients = []string{docker, "nerdctl", podman, "finch", "nerdctl.lima"}

// candidates returns the clients that may be used. chosen is the value of ProviderVariable. has
// reports whether a program is installed. Without any client, docker is the only candidate: its
// error says how to install it.
func candidates(chosen string, has func(program string) bool) ([]string, error) {
	if chosen != "" {
		if !slices.Contains(clients, chosen) {
			return nil, fmt.Errorf("cannot use the engine %q of %s: kind does not know it; use one of %s", chosen,
				ProviderVariable, strings.Join(clients, ", "))
		}
		return []string{chosen}, nil
	}
	installed := slices.DeleteFunc(slices.Clone(clients[:3]), func(program string) bool { return !has(program) })
	if len(installed) == 0 {
		return []string{docker}, nil
	}
	return installed, nil
}

func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// ownEngines returns the candidates that answer, or only the first of all if none answers.
func ownEngines(ctx context.Context, log io.Writer) ([]Engine, error) {
	programs, err := candidates(os.Getenv(ProviderVariable), installed)
	if err != nil {
		return nil, err
	}
	var answer []Engine
	for _, program := range programs {
		if engine, err := (Engine{client: program}).ask(ctx, log); err == nil {
			answer = append(answer, engine)
		}
	}
	if len(answer) == 0 {
		return []Engine{{client: programs[0]}}, nil
	}
	return answer, nil
}

// Client returns the program that controls the engine: docker, podman, or nerdctl.
func (e Engine) Client() string {
	if e.client == "" {
		return docker
	}
	return e.client
}

// Reference returns the name by which the client pulls an image. podman does not add docker.io, and
// older versions of it reject a name that has both a tag and a digest.
func (e Engine) Reference(image string) string {
	if e.Client() != podman {
		return image
	}
	name, digest, pinned := strings.Cut(image, "@")
	if first, _, _ := strings.Cut(name, "/"); !strings.ContainsAny(first, ".:") && first != "localhost" {
		name = "docker.io/" + name
	}
	if !pinned {
		return name
	}
	if colon := strings.LastIndex(name, ":"); colon > strings.LastIndex(name, "/") {
		name = name[:colon]
	}
	return name + "@" + digest
}
