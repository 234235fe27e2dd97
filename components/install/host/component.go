// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkhead-k8s/bulkhead/components/install/cluster"
)

// podLogs is the directory in which a kubelet stores container logs.
const podLogs = "/var/log/pods"

// Component is a component of Bulkhead on this host. Its health port shows its state.
type Component struct {
	// Name is the name of the component and of its container.
	Name string
	// healthPort is the port of its health endpoints (manifests/<name>/static-pod.yaml).
	healthPort int
}

const (
	// RestrictionAddress is the address of node-restriction for kube-apiserver. kube-apiserver
	// selects its client certificate by this address.
	RestrictionAddress = "127.0.0.1:10463"
	// KubeletAuthProxy is the name of the program, of its container and of its manifests.
	KubeletAuthProxy = "kubelet-auth-proxy"
)

// These components have a health port.
var (
	NodeAuthorizer  = Component{Name: "node-authorizer", healthPort: 10462}
	NodeRestriction = Component{Name: "node-restriction", healthPort: 10464}
)

// Ready checks /readyz.
func (c Component) Ready(ctx context.Context) error {
	_, err := Fetch(ctx, c.health("/readyz"))
	return err
}

// Start returns the start time of the process. It distinguishes a new process from the old one.
func (c Component) Start(ctx context.Context) (string, error) {
	metrics, err := Fetch(ctx, c.health("/metrics"))
	if err != nil {
		return "", err
	}
	process, err := cluster.ParseProcess(metrics)
	return process.Start, err
}

// Tail returns the end of the log of the newest container, which shows why it is not ready.
func (c Component) Tail() string {
	return tail(filepath.Join(podLogs, "kube-system_bulkhead-"+c.Name+"-*", c.Name, "*.log"))
}

func (c Component) health(path string) string {
	return fmt.Sprintf("http://127.0.0.1:%d%s", c.healthPort, path)
}

// Fetch returns the body of a GET request to an endpoint of this host, at most 16 MiB. Any status
// except 200 is an error.
func Fetch(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %s: %s", url, response.Status, strings.TrimSpace(string(body)))
	}
	return string(body), nil
}

// tail returns the last lines of the newest file that matches.
func tail(pattern string) string {
	const lines = 10
	names, _ := filepath.Glob(pattern)
	newest, at := "", time.Time{}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && info.ModTime().After(at) {
			newest, at = name, info.ModTime()
		}
	}
	data, err := os.ReadFile(newest)
	if err != nil {
		return ""
	}
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
