// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command load times the four most frequent calls of a kubelet, through the API server of the
// reference cluster. It alternates between profile in-tree and profile hardened on the same
// cluster. It prints results in the format of Go benchmarks. At the end the cluster has profile
// hardened, unless a turn fails.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/loadtest"
)

type options struct {
	root, kubeconfig, nodeExec string
	turns, calls               int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	flag.StringVar(&o.root, "root", "../..", "the checkout, in which `make up` switches the profile")
	flag.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "an administrator of the reference cluster")
	flag.StringVar(
		&o.nodeExec,
		"node-exec",
		"docker exec -i {node}",
		"how to run a command on the host of a node, as root",
	)
	flag.IntVar(&o.turns, "turns", 3, "how often each profile has its turn")
	flag.IntVar(&o.calls, "calls", 1000, "how often each call is made in a turn")
	flag.Parse()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has run
	}
}

func run(ctx context.Context, o options) error {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("cannot read the kubeconfig %q: %w; run `eval \"$(make env)\"` first", o.kubeconfig, err)
	}
	admin, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if o.turns < 1 || o.calls < 1 {
		return errors.New("cannot measure: -turns and -calls must be positive")
	}
	for range o.turns {
		for _, profile := range []string{"in-tree", "hardened"} {
			if err := switchTo(ctx, o.root, profile); err != nil {
				return err
			}
			if err := turn(ctx, o, config, admin, profile); err != nil {
				return err
			}
		}
	}
	return nil
}

func switchTo(ctx context.Context, root, profile string) error {
	cmd := exec.CommandContext(ctx, "make", "up", "PROFILE="+profile)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot switch to profile %s: %w\n%s", profile, err, out)
	}
	return nil
}

// turn makes every call as the kubelet of a worker, and prints one line for each.
func turn(ctx context.Context, o options, config *rest.Config, admin kubernetes.Interface, profile string) (err error) {
	w, err := newWorkload(ctx, admin)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.remove(context.WithoutCancel(ctx))) }()
	kubelet, err := kubeletClient(ctx, o.nodeExec, w.node, config)
	if err != nil {
		return err
	}
	for _, call := range w.calls(kubelet) {
		latencies, start := &loadtest.Latencies{}, time.Now()
		warmUp := o.calls / 10
		for i := range warmUp + o.calls {
			if i == warmUp {
				latencies, start = &loadtest.Latencies{}, time.Now()
			}
			if err := latencies.Time(func() error { return call.make(ctx) }); err != nil {
				return fmt.Errorf("cannot %s in profile %s: %w", call.name, profile, err)
			}
		}
		fmt.Print(resultLine(call.name, profile, o.calls, time.Since(start), latencies))
	}
	return nil
}

// resultLine returns a result in the format of Go benchmarks.
func resultLine(call, profile string, calls int, took time.Duration, latencies *loadtest.Latencies) string {
	return fmt.Sprintf("BenchmarkThroughAPIServer/call=%s/subject=%s\t%d\t%d ns/op\t%d p50-µs\t%d p99-µs\n",
		strings.ReplaceAll(call, " ", "-"), profile, calls, took.Nanoseconds()/int64(calls),
		latencies.Percentile(50).Microseconds(), latencies.Percentile(99).Microseconds())
}

// kubeletClient returns a client with the node's own client certificate.
func kubeletClient(ctx context.Context, nodeExec, node string, config *rest.Config) (kubernetes.Interface, error) {
	args := append(
		strings.Fields(strings.ReplaceAll(nodeExec, "{node}", node)),
		"cat",
		"/var/lib/kubelet/pki/kubelet-client-current.pem",
	)
	pem, err := exec.CommandContext(ctx, args[0], args[1:]...).Output()
	if err != nil {
		return nil, fmt.Errorf("cannot read the kubelet's certificate of %s: %w", node, err)
	}
	own := rest.AnonymousClientConfig(config)
	own.CertData, own.KeyData, own.QPS = pem, pem, -1
	own.ContentType = "application/vnd.kubernetes.protobuf"
	return kubernetes.NewForConfig(own)
}

// workerNode returns the first node that is not a control-plane node.
func workerNode(ctx context.Context, admin kubernetes.Interface) (string, error) {
	nodes, err := admin.CoreV1().
		Nodes().
		List(ctx, metav1.ListOptions{LabelSelector: "!node-role.kubernetes.io/control-plane"})
	if err != nil {
		return "", err
	}
	if len(nodes.Items) == 0 {
		return "", errors.New("the cluster has no worker")
	}
	return nodes.Items[0].Name, nil
}
