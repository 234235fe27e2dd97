// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command scale measures the reference cluster with many simulated kubelets, in profile in-tree and
// in profile hardened. Each kubelet is a client in this process with a certificate, a Node and
// connections of its own. It renews its lease, reports its status and handles its pods as a kubelet
// does, without containers. Pods are created and deleted all the time. At the end the cluster has
// profile hardened, unless a turn fails.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/refcluster"
)

type options struct {
	root, kubeconfig, nodeExec, up, write string
	nodes                                 []int
	rate                                  int
	warmUp, measure                       time.Duration
}

// mostNodes bounds the load on this machine.
const mostNodes = 5000

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := options{nodes: []int{50, 500, 2000}}
	flag.StringVar(&o.root, "root", "../..", "the checkout, in which `make up` switches the profile")
	flag.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "an administrator of the reference cluster")
	flag.StringVar(&o.nodeExec, "node-exec", "docker exec -i {node}",
		"how to run a command on the host of a node, as root")
	flag.StringVar(&o.up, "up", "make up PROFILE={profile}", "the command that switches the profile, in the checkout")
	flag.StringVar(&o.write, "write", "", "the page to write the results to (default: only print them)")
	flag.Func("nodes", "the numbers of simulated kubelets (default 50,500,2000)", func(text string) (err error) {
		o.nodes, err = refcluster.Numbers(text)
		return err
	})
	flag.IntVar(&o.rate, "rate", 20, "pods that are created a second")
	flag.DurationVar(&o.warmUp, "warm-up", time.Minute, "the time before the measurement, with the same load")
	flag.DurationVar(&o.measure, "measure", 2*time.Minute, "the time of the measurement")
	flag.Parse()
	klog.SetOutput(os.Stderr)
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has run
	}
}

func run(ctx context.Context, o options) error {
	for _, n := range o.nodes {
		if n > mostNodes {
			return fmt.Errorf("cannot simulate %d kubelets: at most %d", n, mostNodes)
		}
	}
	if o.rate < 1 || o.measure <= 0 {
		return errors.New("cannot measure: -rate and -measure must be positive")
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("cannot read the kubeconfig %q: %w; run `eval \"$(make env)\"` first", o.kubeconfig, err)
	}
	config.QPS = -1
	c := &cluster{options: o, config: config, admin: kubernetes.NewForConfigOrDie(config)}
	var all []measurement
	for _, profile := range []string{"in-tree", "hardened"} {
		fmt.Printf("switching to profile %s\n", profile)
		if err := refcluster.Switch(ctx, o.root, o.up, profile); err != nil {
			return err
		}
		for _, n := range o.nodes {
			m, err := c.turn(ctx, profile, n)
			if err != nil {
				return fmt.Errorf("with %d kubelets in profile %s: %w", n, profile, err)
			}
			fmt.Print(m)
			all = append(all, m)
		}
	}
	text := page(all)
	fmt.Print(text)
	if o.write == "" {
		return nil
	}
	return refcluster.ReplacePart(o.write, begin, end, text)
}

type cluster struct {
	options
	config *rest.Config
	admin  kubernetes.Interface
}

// turn measures one number of kubelets, and removes everything that it has created.
func (c *cluster) turn(ctx context.Context, profile string, n int) (m measurement, err error) {
	control, err := c.controlPlane(ctx)
	if err != nil {
		return m, err
	}
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("scale-%s-%d-%d", profile, n, i)
	}
	signer, err := readAuthority(ctx, control)
	if err != nil {
		return m, err
	}
	r := newResults()
	defer func() { err = errors.Join(err, removeAll(context.WithoutCancel(ctx), c.admin, names)) }()
	fmt.Printf("registering %d kubelets in profile %s\n", n, profile)
	kubelets, err := registerAll(ctx, signer, c.config, names, r)
	if err != nil {
		return m, err
	}
	pods, err := newChurn(ctx, c.admin, names, c.rate, r)
	if pods != nil {
		defer func() { err = errors.Join(err, pods.remove(context.WithoutCancel(ctx))) }()
	}
	if err != nil {
		return m, err
	}
	running, end := context.WithCancel(ctx)
	var work wait.Group
	defer work.Wait()
	defer end()
	for _, k := range kubelets {
		work.StartWithContext(running, k.run)
	}
	work.StartWithContext(running, pods.run)
	return c.observe(ctx, control, r, profile, n)
}

// observe measures while the load runs.
func (c *cluster) observe(ctx context.Context, control host, r *results, profile string, n int) (
	m measurement, err error) {
	if err := sleep(ctx, c.warmUp); err != nil {
		return m, err
	}
	before, err := control.used(ctx)
	if err != nil {
		return m, err
	}
	own, start := ownCPU(), time.Now()
	r.record(true)
	if err := sleep(ctx, c.measure); err != nil {
		return m, err
	}
	r.record(false)
	took := time.Since(start)
	after, err := control.used(ctx)
	if err != nil {
		return m, err
	}
	m = measurement{profile: profile, nodes: n, calls: r.summaries(), took: took,
		cores: map[string]float64{}, resident: map[string]int64{}, load: (ownCPU() - own).Seconds() / took.Seconds()}
	for name, now := range after {
		m.cores[name] = (now.cpu - before[name].cpu).Seconds() / took.Seconds()
		m.resident[name] = now.resident
	}
	m.denied, m.failed, m.messages = r.errors()
	return m, nil
}

func (c *cluster) controlPlane(ctx context.Context) (host, error) {
	nodes, err := c.admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{
		LabelSelector: "node-role.kubernetes.io/control-plane",
	})
	if err != nil {
		return host{}, fmt.Errorf("cannot list the Nodes: %w", err)
	}
	if len(nodes.Items) != 1 {
		return host{}, fmt.Errorf("the cluster has %d control planes, not one", len(nodes.Items))
	}
	return host{c.nodeExec, nodes.Items[0].Name}, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// ownCPU is the CPU time that this process has used.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
