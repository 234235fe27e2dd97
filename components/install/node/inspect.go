// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/components/install/staticpod"
)

// configArgs is the variable with the kubelet's --config in kubeadm's unit (kubernetes/release
// cmd/krel/templates/latest/kubeadm/10-kubeadm.conf).
const configArgs = "KUBELET_CONFIG_ARGS"

// outvoting lists the kubelet flags that override the settings of both drop-ins. outvotingDeny
// lists those that override only kubeletDropIn. A flag takes precedence over the configuration file
// (cmd/kubelet/app/server.go kubeletConfigFlagPrecedence).
var (
	outvoting = []string{
		"address", "port", "client-ca-file",
		"rotate-server-certificates", "tls-cert-file", "tls-private-key-file", "healthz-bind-address", "healthz-port",
		"config-dir",
	}
	outvotingDeny = []string{"read-only-port", "anonymous-auth", "authentication-token-webhook", "authorization-mode"}
)

// setup describes how this host starts the kubelet without Bulkhead.
type setup struct {
	pid int
	// args is the value of KUBELET_CONFIG_ARGS.
	args string
	// clientCA is the file with the authorities of the client certificates that the kubelet
	// accepts. serving is the file with its serving certificate, which exists once the cluster has
	// issued one.
	clientCA, serving string
	// authFlags are the kubelet's flags that override kubeletDropIn, but not kubeletDropInAllow.
	authFlags []string
	// readOnlyPort is a port without authentication, and empty if there is none. anonymous is true if
	// the kubelet answers requests without credentials. alwaysAllow is true if every user may do everything.
	readOnlyPort           string
	anonymous, alwaysAllow bool
	// ours is true if the running kubelet reads Bulkhead's configuration directory.
	ours bool
}

// inspect fails if the kubelet is not started as kubeadm starts it, or if its flags override both
// drop-ins.
func (k *Installer) inspect(ctx context.Context) (*setup, error) {
	unit, err := k.unit(ctx)
	if err != nil {
		return nil, err
	}
	if unit["LoadState"] != "loaded" || unit["ActiveState"] != "active" {
		return nil, fmt.Errorf("kubelet.service is %s and %s: it has to run", unit["LoadState"], unit["ActiveState"])
	}
	if exec := unit["ExecStart"]; strings.Count(exec, "argv[]=") != 1 ||
		!slices.Contains(strings.Fields(exec), "$"+configArgs) {
		return nil, fmt.Errorf(
			"kubelet.service is not started as kubeadm starts it, with $%s as a word of ExecStart, but as %s", configArgs, exec)
	}
	pid, err := strconv.Atoi(unit["MainPID"])
	if err != nil || pid == 0 {
		return nil, fmt.Errorf("kubelet.service has no process: MainPID is %q", unit["MainPID"])
	}
	process, err := k.System.Process(pid)
	if err != nil {
		return nil, fmt.Errorf("reading how the kubelet was started: %w", err)
	}
	return k.read(pid, process)
}

func (k *Installer) unit(ctx context.Context) (map[string]string, error) {
	shown, err := k.System.Systemctl(ctx, "show", "kubelet.service", "--property=LoadState,ActiveState,MainPID,ExecStart")
	if err != nil {
		return nil, fmt.Errorf("asking systemd about the kubelet: %w", err)
	}
	unit := map[string]string{}
	for line := range strings.Lines(shown) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		unit[key] = value
	}
	return unit, nil
}

func (k *Installer) read(pid int, process Process) (*setup, error) {
	setup := &setup{pid: pid, ours: slices.Contains(process.Args, k.configDirFlag())}
	value, set := process.Environment[configArgs]
	if !set {
		return nil, fmt.Errorf("the kubelet runs without the variable %s, in which kubeadm has its --config", configArgs)
	}
	setup.args = strings.TrimSpace(strings.TrimSuffix(value, k.configDirFlag()))
	if strings.ContainsAny(setup.args, "\"\\%\n$") {
		return nil, fmt.Errorf("%s is %q: what it has in it besides flags cannot be repeated in a unit", configArgs,
			setup.args)
	}
	for _, arg := range process.Args {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		switch {
		case !strings.HasPrefix(arg, "--") || arg == k.configDirFlag():
		case slices.Contains(outvoting, name):
			return nil, stronger(arg)
		case slices.Contains(outvotingDeny, name):
			setup.authFlags = append(setup.authFlags, arg)
		}
	}
	file := staticpod.FlagValue(process.Args, "config")
	if file == "" || !strings.Contains(setup.args, "--config") {
		return nil, fmt.Errorf("the kubelet is started without --config in %s", configArgs)
	}
	setup.serving = filepath.Join(cmp.Or(staticpod.FlagValue(process.Args, "cert-dir"), k.Layout.KubeletPKI), servingFile)
	if err := setup.readConfig(file); err != nil {
		return nil, err
	}
	// Flags take precedence.
	setup.readOnlyPort = cmp.Or(staticpod.FlagValue(process.Args, "read-only-port"), setup.readOnlyPort)
	if setup.readOnlyPort == "0" {
		setup.readOnlyPort = ""
	}
	if flag := staticpod.FlagValue(process.Args, "anonymous-auth"); flag != "" {
		setup.anonymous = flag != "false"
	}
	if flag := staticpod.FlagValue(process.Args, "authorization-mode"); flag != "" {
		setup.alwaysAllow = flag == alwaysAllow
	}
	return setup, nil
}

// alwaysAllow is a mode of the kubelet's authorization.
const alwaysAllow = "AlwaysAllow"

func stronger(arg string) error {
	return fmt.Errorf(
		"the kubelet is started with %s, which counts more than its configuration: move it into the file of --config "+
			"(or, for config-dir, what is in the directory) and restart the kubelet", arg)
}

func (k *Installer) configDirFlag() string {
	return "--config-dir=" + k.Layout.KubeletConfigDir()
}

// readConfig reads the kubelet's configuration. It fails if kubeletDropIn cannot be added to it.
func (s *setup) readConfig(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading the kubelet's configuration: %w", err)
	}
	var config struct {
		Port, HealthzPort              *int32
		EnableServer                   *bool
		TLSCertFile, TLSPrivateKeyFile string
		HealthzBindAddress             string
		ReadOnlyPort                   int32
		Authentication                 struct {
			Anonymous struct{ Enabled bool }
			X509      struct{ ClientCAFile string }
		}
		Authorization struct{ Mode string }
	}
	if err := yaml.Unmarshal(data, &config); err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	var problems []error
	refuse := func(when bool, format string, args ...any) {
		if when {
			problems = append(problems, fmt.Errorf(file+": "+format, args...))
		}
	}
	refuse(config.EnableServer != nil &&
		!*config.EnableServer, "enableServer is false: there is no kubelet API to protect")
	refuse(config.Port != nil && *config.Port != 0 &&
		*config.Port != 10250, "the kubelet's port is %d, and kubelet-auth-proxy has 10250", ptrOr(config.Port))
	refuse(config.TLSCertFile != "" ||
		config.TLSPrivateKeyFile != "",
		"tlsCertFile or tlsPrivateKeyFile is set: kubelet-auth-proxy follows certificates that the kubelet gets from the "+
			"cluster (serverTLSBootstrap)")
	refuse(config.HealthzPort != nil && *config.HealthzPort != 0 &&
		*config.HealthzPort != 10248, "healthzPort is %d, want 10248", ptrOr(config.HealthzPort))
	refuse(config.HealthzBindAddress != "" && config.HealthzBindAddress != "127.0.0.1" &&
		config.HealthzBindAddress != "0.0.0.0", "healthzBindAddress is %s, want 127.0.0.1",
		config.HealthzBindAddress)
	clientCA := config.Authentication.X509.ClientCAFile
	refuse(clientCA == "", "authentication.x509.clientCAFile is not set: kubelet-auth-proxy has to know whom the "+
		"cluster trusts")
	if !filepath.IsAbs(clientCA) {
		// The kubelet resolves relative paths in the same way
		// (pkg/kubelet/kubeletconfig/configfiles resolveRelativePaths).
		clientCA = filepath.Join(filepath.Dir(file), clientCA)
	}
	s.clientCA, s.anonymous = clientCA, config.Authentication.Anonymous.Enabled
	s.alwaysAllow = config.Authorization.Mode == alwaysAllow
	s.readOnlyPort = strconv.Itoa(int(config.ReadOnlyPort))
	return errors.Join(problems...)
}

func ptrOr(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}
