// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Profile is the installed profile of the cluster under test.
type Profile string

const (
	// Hardened is Bulkhead in strict mode before the in-tree authorizers.
	Hardened Profile = "hardened"
	// Parity is Bulkhead in place of the in-tree Node authorizer.
	Parity Profile = "parity"
	// InTree is a cluster without Bulkhead. It is the reference for the expected results.
	InTree Profile = "in-tree"
	// Any is a cluster about which nothing is known. Each rule must be enforced there, by whatever
	// component: a denial counts without an ID and with any text. Specs that change the whole cluster
	// are skipped. A rule that is not enforced has a spec that fails.
	Any Profile = "any"
)

// KubeconfigVariable is the only required setting.
const KubeconfigVariable = "E2E_KUBECONFIG"

// defaultNodeExec reaches the nodes of a kind cluster.
const defaultNodeExec = "docker exec -i {node}"

// Settings are the user's settings for the cluster under test.
type Settings struct {
	// Kubeconfig is a file with an administrator's credentials.
	Kubeconfig string
	// Profile is the installed profile of the cluster.
	Profile Profile
	// NodeExec is the command that runs another command on the host of {node}. If it is empty,
	// specs that need a host are skipped.
	NodeExec string
	// NodeExecGiven is true if the user set NodeExec. Then it must work.
	NodeExecGiven bool
	// Artifacts is the directory for reports and for the evidence of failures.
	Artifacts string
	// ControlPlane and Worker are node names. If empty, they are selected by labels.
	ControlPlane, Worker string
}

// ReadSettings reads the environment. Its error contains every problem.
func ReadSettings() (Settings, error) {
	s := Settings{
		Kubeconfig:   os.Getenv(KubeconfigVariable),
		Profile:      Profile(os.Getenv("E2E_PROFILE")),
		Artifacts:    os.Getenv("E2E_ARTIFACTS"),
		ControlPlane: os.Getenv("E2E_CONTROL_PLANE"),
		Worker:       os.Getenv("E2E_WORKER"),
	}
	s.NodeExec, s.NodeExecGiven = os.LookupEnv("E2E_NODE_EXEC")
	if !s.NodeExecGiven {
		s.NodeExec = defaultNodeExec
	}
	if s.Profile == "" {
		s.Profile = Hardened
	}
	return s, errors.Join(s.complete(), s.validate())
}

func (s *Settings) validate() error {
	var problems []error
	switch s.Profile {
	case Hardened, Parity, InTree, Any:
	default:
		problems = append(problems, fmt.Errorf("E2E_PROFILE=%q: it is one of hardened, parity, in-tree and any", s.Profile))
	}
	if s.NodeExec != "" && !strings.Contains(s.NodeExec, "{node}") {
		problems = append(problems, fmt.Errorf("E2E_NODE_EXEC=%q: {node} must say where the node's name goes", s.NodeExec))
	}
	return errors.Join(problems...)
}

// complete makes paths absolute. Ginkgo runs a suite in the suite's directory, but users write
// paths relative to the repository.
func (s *Settings) complete() error {
	root, err := repository()
	if err != nil {
		return err
	}
	if s.Artifacts == "" {
		s.Artifacts = filepath.Join("_output", "e2e", string(s.Profile))
	}
	for _, path := range []*string{&s.Kubeconfig, &s.Artifacts} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(root, *path)
		}
	}
	return nil
}

// repository returns the directory of go.mod. For a test binary outside of the repository it
// returns the working directory.
func repository() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for dir := start; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
	}
	return start, nil
}
