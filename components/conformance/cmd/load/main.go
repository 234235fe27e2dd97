// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command load times calls through the API server of the reference cluster: the ten most frequent
// calls of a kubelet, calls of a scoped account, kubectl logs and kubectl exec. It has one caller, and
// several at once. It alternates between profile in-tree and profile hardened on the same cluster. At
// the end the cluster has profile hardened, unless a turn fails.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/loadtest"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/refcluster"
)

type options struct {
	root, kubeconfig, nodeExec, up, write string
	callers                               []int
	turns, calls                          int
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
	flag.StringVar(&o.up, "up", "make up PROFILE={profile}", "the command that switches the profile, in the checkout")
	flag.StringVar(&o.write, "write", "", "the page to write the results to (default: only print them)")
	o.callers = []int{1, 4, 16}
	flag.Func("callers", "how many callers make a call at once (default 1,4,16)", func(text string) (err error) {
		o.callers, err = refcluster.Numbers(text)
		return err
	})
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
	config.QPS = -1
	admin, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if o.turns < 1 || o.calls < 1 {
		return errors.New("cannot measure: -turns and -calls must be positive")
	}
	var all []sample
	for i := range o.turns {
		for _, profile := range []string{"in-tree", "hardened"} {
			fmt.Printf("turn %d of %d: switching to profile %s\n", i+1, o.turns, profile)
			if err := refcluster.Switch(ctx, o.root, o.up, profile); err != nil {
				return err
			}
			samples, err := turn(ctx, o, config, admin, profile)
			if err != nil {
				return err
			}
			all = append(all, samples...)
		}
	}
	text := page(all, o.turns, o.calls)
	fmt.Print(text)
	if o.write == "" {
		return nil
	}
	return refcluster.ReplacePart(o.write, begin, end, text)
}

// turn makes every call as the kubelet of a worker, and prints one line for each.
func turn(ctx context.Context, o options, config *rest.Config, admin kubernetes.Interface, profile string) (
	all []sample, err error) {
	w, err := newWorkload(ctx, admin)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.remove(context.WithoutCancel(ctx))) }()
	kubelet, err := kubeletClient(ctx, o.nodeExec, w.node, config)
	if err != nil {
		return nil, err
	}
	scoped, err := w.scopedClient(ctx, config, profile == "hardened")
	if err != nil {
		return nil, err
	}
	for _, call := range slices.Concat(w.calls(kubelet), w.others(scoped, config)) {
		n := o.calls
		if call.few {
			n = o.calls/10 + 1
		}
		for _, callers := range o.callers {
			if _, _, err := measure(ctx, call, callers, n/10+1); err != nil {
				return nil, fmt.Errorf("cannot %s in profile %s: %w", call.name, profile, err)
			}
			latencies, took, err := measure(ctx, call, callers, n)
			if err != nil {
				return nil, fmt.Errorf("cannot %s in profile %s: %w", call.name, profile, err)
			}
			s := sample{call.name, callers, profile, latencies.Percentile(50), latencies.Percentile(99),
				took / time.Duration(n)}
			fmt.Print(s)
			all = append(all, s)
		}
	}
	return all, nil
}

// callTimeout is much longer than any call takes, so that a hanging one ends the program with an error.
const callTimeout = 30 * time.Second

// measure makes a call n times, with several callers at once. A conflict with another caller is
// retried, as a kubelet does, and counts as part of the call.
func measure(ctx context.Context, call call, callers, n int) (*loadtest.Latencies, time.Duration, error) {
	latencies, start := &loadtest.Latencies{}, time.Now()
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range callers {
		group.Go(func() error {
			for next.Add(1) <= int64(n) {
				if err := latencies.Time(func() error {
					ctx, cancel := context.WithTimeout(ctx, callTimeout)
					defer cancel()
					return retry.OnError(retry.DefaultBackoff, apierrors.IsConflict, func() error { return call.make(ctx) })
				}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return latencies, time.Since(start), err
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
