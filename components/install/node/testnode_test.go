// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/engine"
	"github.com/bulkhead-k8s/bulkhead/components/install/host"
	"github.com/bulkhead-k8s/bulkhead/components/install/installtest"
	"github.com/bulkhead-k8s/bulkhead/components/install/pki"
	"github.com/bulkhead-k8s/bulkhead/components/internal/atomicfile"
)

// kubeadmExec is ExecStart of kubeadm's unit, as systemd prints it.
const kubeadmExec = "{ path=/usr/bin/kubelet ; argv[]=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS " +
	"$KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS ; ignore_errors=no ; pid=0 }"

// testNode is a node's host in a temporary directory. Its fake systemd, kubelet and proxy behave as
// the files configure them.
type testNode struct {
	t      *testing.T
	layout host.Layout
	config string
	exec   string
	out    bytes.Buffer

	// These are the possible faults of this host.
	stuck, open, proxyDead, apiAway, variableSet bool
	// certificateLate makes the certificate appear when the kubelet answers with it.
	certificateLate bool
	// extra are additional flags of the kubelet.
	extra []string

	// unit is Bulkhead's drop-in for the kubelet's unit, as systemd has read it.
	unit    string
	running bool
	pid     int
	args    []string
	env     string
	// dropIn is the part of Bulkhead's configuration that the running kubelet has read. clients are
	// the client certificates that it accepts. The kubelet reads clients again after acceptsLate
	// requests.
	dropIn      string
	clients     *x509.CertPool
	acceptsLate int
	// duringAccept, if set, replaces that check.
	duringAccept func() error
	// proxyMu guards what the API returns for the proxy: proxyWanted, proxyStarts, proxyLate and asked.
	// Only tests that change it during an installation need it.
	proxyMu sync.Mutex
	// proxyWanted is true if the cluster has a proxy for this node. proxyRuns is true if the proxy
	// uses the port. Otherwise it is idle.
	proxyWanted, proxyRuns bool
	// clusterLoopback is the annotation of the proxy's pod.
	clusterLoopback LoopbackClients
	// proxyStarts is how often the cluster answers that the proxy's container starts.
	proxyStarts int
	// units are the units that systemd has started.
	units map[string]bool
	// certificate is the certificate that the cluster issues to the kubelet. If it is empty, the
	// cluster denies the request.
	certificate string
	restarts    int
	// asked is how often the API server was asked for the proxy.
	asked int
	// proxyLate is how often the cluster answers that there is no proxy yet.
	proxyLate int
	// duringEvict, if set, is called while the proxy ends.
	duringEvict func()
}

func TestMain(m *testing.M) { installtest.Main(m) }

func newTestNode(t *testing.T) *testNode {
	t.Helper()
	dir := t.TempDir()
	n := &testNode{t: t, exec: kubeadmExec, config: filepath.Join(dir, "config.yaml"), proxyWanted: true,
		units: map[string]bool{}, certificate: "kubelet-1"}
	n.layout = host.Layout{
		State: filepath.Join(dir, "bulkhead"), Units: filepath.Join(dir, "system"), Lock: filepath.Join(dir, "lock"),
		KubeletConf: filepath.Join(dir, "none"), KubeletPKI: t.TempDir(), ComponentGID: atomicfile.KeepOwner,
	}
	if os.Geteuid() == 0 {
		n.layout.ComponentGID = host.ComponentGID
	}
	must(t, os.MkdirAll(n.layout.Units, 0o755))
	ca := filepath.Join(dir, "ca.crt")
	must(t, os.WriteFile(ca, []byte("the cluster's CA"), 0o600))
	must(t, os.WriteFile(n.config,
		[]byte("kind: KubeletConfiguration\nauthentication:\n  x509:\n    clientCAFile: "+ca+"\n"), 0o600))
	n.start()
	return n
}

// onNode runs a test on a new node. The clock moves only when all goroutines wait.
func onNode(t *testing.T, name string, test func(*testing.T, *testNode)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		n := newTestNode(t)
		synctest.Test(t, func(t *testing.T) {
			n.t = t
			test(t, n)
		})
	})
}

func (n *testNode) installer() *Installer {
	return &Installer{
		Engine: engine.Engine{Out: &n.out, Now: time.Now, Poll: 500 * time.Millisecond, Lock: n.layout.Lock},
		Layout: n.layout, Version: "test", Program: "/usr/local/bin/bulkhead", System: n,
	}
}

var kubeletOptions = Options{Certificates: pki.Policy{Validity: time.Hour, RenewBefore: 10 * time.Minute},
	Timeout: time.Minute}

// start is systemd's start of the kubelet. It sets the variable from the units.
func (n *testNode) start() {
	n.env = "--config=" + n.config
	if _, value, ours := strings.Cut(n.unit, `"KUBELET_CONFIG_ARGS=`); ours && !n.variableSet {
		n.env = strings.TrimSuffix(strings.TrimSpace(value), `"`)
	}
	n.args = append(append([]string{"/usr/bin/kubelet", "--kubeconfig=x"}, strings.Fields(n.env)...), n.extra...)
	n.dropIn = ""
	if strings.Contains(n.env, "--config-dir="+n.layout.KubeletConfigDir()) {
		data, err := os.ReadFile(n.layout.KubeletDropIn())
		must(n.t, err)
		n.dropIn = string(data)
		n.readClients()
	}
	if strings.Contains(n.dropIn, "serverTLSBootstrap: true") && n.certificate != "" && !n.certificateLate {
		must(n.t, os.WriteFile(n.serving(), []byte(n.certificate), 0o600))
	}
	n.running, n.pid, n.restarts = true, n.pid+1, n.restarts+1
	if n.proxyWanted { // the volumes of the proxy's pod
		must(n.t, os.MkdirAll(filepath.Join(n.layout.KubeletProxy(), "crl-state"), 0o755))
	}
	n.serveIfFilesExist()
	// The first process gets the port.
	if n.proxyRuns && n.dropIn == "" {
		n.running = false
	}
}

// serveIfFilesExist is what an idle proxy does every second.
func (n *testNode) serveIfFilesExist() {
	for _, file := range n.installer().proxyFiles() {
		if _, err := os.Stat(file); err != nil {
			return
		}
	}
	n.proxyRuns = n.proxyRuns || n.proxyWanted && !n.proxyDead && n.running && n.dropIn != ""
}

// serving is the path of the kubelet's serving certificate.
func (n *testNode) serving() string { return filepath.Join(n.layout.KubeletPKI, servingFile) }

func (n *testNode) Systemctl(ctx context.Context, args ...string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	switch args[0] {
	case "show":
		state := "inactive"
		if n.running {
			state = "active"
		}
		return fmt.Sprintf("MainPID=%d\nExecStart=%s\nLoadState=loaded\nActiveState=%s\n", n.pid, n.exec, state), nil
	case "daemon-reload":
		data, err := os.ReadFile(n.layout.KubeletUnit())
		if err != nil && !os.IsNotExist(err) {
			return "", err
		}
		n.unit = string(data)
	case "restart", "start":
		if args[1] == "kubelet.service" {
			if n.proxyStarts > 0 && args[0] == "restart" {
				n.t.Error("the kubelet is restarted while it starts the proxy")
			}
			n.start()
		}
	case "stop":
		n.running = false
	case "enable":
		for _, unit := range args[2:] {
			if _, err := os.Stat(filepath.Join(n.layout.Units, unit)); err != nil {
				return "", err
			}
			n.units[unit] = true
		}
	case "is-enabled":
		if !n.units[args[1]] {
			return "", errors.New("disabled")
		}
	case "disable":
		for _, unit := range args[2:] {
			delete(n.units, unit)
		}
	}
	return "", nil
}

func (n *testNode) Process(pid int) (Process, error) {
	if !n.running || pid != n.pid {
		return Process{}, os.ErrNotExist
	}
	return Process{Args: n.args, Environment: map[string]string{"KUBELET_CONFIG_ARGS": n.env}}, nil
}

func (n *testNode) Healthy(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !n.running || n.stuck && n.dropIn != "" {
		return errors.New("connection refused")
	}
	return nil
}

func (n *testNode) Closed(_ context.Context, client pki.Pair, clients LoopbackClients) error {
	if n.clientCAFile() != clients.clientCAFile(n.layout) {
		return errors.New("it trusts another CA")
	}
	pair, err := tls.LoadX509KeyPair(client.CertFile, client.KeyFile)
	if err != nil {
		return err
	}
	if err := n.knows(pair); err != nil {
		return err
	}
	if n.open {
		return errors.New("answers 200, not 401")
	}
	if n.certificate == "" {
		return errors.New("its serving certificate is not from the cluster")
	}
	if n.certificateLate {
		return os.WriteFile(n.serving(), []byte(n.certificate), 0o600)
	}
	return nil
}

// snapshot returns every file of the node, except the lock, and what runs.
func (n *testNode) snapshot() map[string]string {
	n.t.Helper()
	n.serveIfFilesExist()
	all := installtest.Files(n.t, filepath.Dir(n.layout.State), n.layout.Lock)
	all["kubelet"] = fmt.Sprint(n.running, n.env, n.dropIn)
	all["proxy"] = fmt.Sprint(n.proxyRuns)
	all["units"] = fmt.Sprint(n.units)
	return all
}

var must, read, mentions = installtest.Must, installtest.Read, installtest.Mentions
