// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bulkhead-k8s/bulkhead/components/auditreport"
	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

const (
	// adminKubeconfig has credentials on a control-plane host.
	adminKubeconfig = "/etc/kubernetes/admin.conf"
	// maxPodLog bounds what is read of one log.
	maxPodLog = 64 << 20
	// podLogTimeout bounds the time for one log: a kubelet may not answer.
	podLogTimeout  = 2 * time.Minute
	proxyContainer = "kubelet-auth-proxy"
	partOf         = "app.kubernetes.io/part-of=bulkhead"
)

// anywhereOrAdmin opens a client as kubectl does. On a control-plane host without a kubeconfig it
// uses the administrator's.
func (f *clusterFlags) anywhereOrAdmin() (kubernetes.Interface, error) {
	config, err := f.anywhereOrAdminConfig()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

func (f *clusterFlags) anywhereOrAdminConfig() (*rest.Config, error) {
	config, err := f.anywhereConfig()
	if err == nil || !clientcmd.IsEmptyConfig(err) || f.meansACluster() {
		return config, err
	}
	if _, missing := os.Stat(adminKubeconfig); missing != nil {
		return nil, err
	}
	return (&clusterFlags{kubeconfig: adminKubeconfig}).anywhereConfig()
}

// meansACluster reports whether the user has named a cluster, although not completely: by a flag, a $KUBECONFIG
// that does not exist, or a kubeconfig without a current context. Then no other cluster may be used.
func (f *clusterFlags) meansACluster() bool {
	if f.given() || os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "" {
		return true
	}
	raw, err := f.loader().RawConfig()
	return err != nil || len(raw.Clusters) > 0 || len(raw.Contexts) > 0
}

// podLog is the log of one container.
type podLog struct {
	pod, container string
	// source is what is accepted of the log.
	source auditreport.LogSource
	// previous is true for the container before its last restart.
	previous bool
	// started is when the container has started. It is zero if that is not known.
	started time.Time
}

func (l podLog) String() string { return webhook.Loggable(l.pod) }

// podLogs reads the logs of Bulkhead's pods.
type podLogs struct {
	client   kubernetes.Interface
	since    time.Duration
	progress io.Writer
	report   *auditreport.Report
	open     func(context.Context, podLog, time.Duration) (io.ReadCloser, error)
	// first returns the time of the first line that the kubelet still has.
	first func(context.Context, podLog) (time.Time, error)
	// incomplete is set if the log of a webhook cannot be read, or if there is none. Then findings are
	// missing. The log of a kubelet-auth-proxy may be missing: its node may be down.
	incomplete bool
}

// openPodLog reads one byte more than maxPodLog, so that a longer log is noticed.
func openPodLog(client kubernetes.Interface) func(context.Context, podLog, time.Duration) (io.ReadCloser, error) {
	return func(ctx context.Context, l podLog, since time.Duration) (io.ReadCloser, error) {
		seconds, most := max(1, int64(since.Seconds())), int64(maxPodLog+1)
		return client.CoreV1().Pods(metav1.NamespaceSystem).GetLogs(l.pod, &corev1.PodLogOptions{
			Container: l.container, Previous: l.previous, SinceSeconds: &seconds, LimitBytes: &most,
		}).Stream(ctx)
	}
}

// read returns a problem for each log that cannot be read. If it can read none, it returns an error.
func (p *podLogs) read(ctx context.Context) (stats auditreport.LineStats, problems []string, err error) {
	logs, notes, err := p.list(ctx)
	if err != nil {
		return stats, nil, err
	}
	progress := startProgress(p.progress)
	defer progress.stop()
	started, read, logBegins := time.Now(), 0, begins{}
	for i, log := range logs {
		progress.say(fmt.Sprintf("reading logs (%d of %d)", i+1, len(logs)))
		one, err := p.readOne(ctx, log)
		stats = addLines(stats, one)
		switch {
		case ctx.Err() != nil:
			return stats, problems, ctx.Err()
		case err == nil:
			read++
			logBegins.add(ctx, log, started, p.first)
		case !log.previous: // the kubelet may have deleted the log of a previous container
			p.incomplete = p.incomplete || log.container != proxyContainer
			problems = append(problems,
				fmt.Sprintf("cannot read the log of pod %s: %s", log, webhook.Printable(err.Error(), 512)))
		}
	}
	if read == 0 { // each log that was not read is in one of both lists
		return stats, nil, fmt.Errorf("cannot read the log of any pod: %s. Use credentials that may get pods/log in "+
			"kube-system, or give --logs=FILE", slices.Concat(problems, notes)[0])
	}
	problems = append(problems, notes...)
	if note := logBegins.note(started.Add(-p.since)); note != "" {
		problems = append(problems, note)
	}
	return stats, problems, nil
}

// errLongLog is returned after the first part of the log has been read.
var errLongLog = fmt.Errorf("it is longer than %d MiB, and the rest was not read: use a shorter --since, or "+
	"--logs=FILE", maxPodLog>>20)

func (p *podLogs) readOne(ctx context.Context, log podLog) (auditreport.LineStats, error) {
	ctx, cancel := context.WithTimeout(ctx, podLogTimeout)
	defer cancel()
	body, err := p.open(ctx, log, p.since)
	if err != nil {
		return auditreport.LineStats{}, err
	}
	defer body.Close() //nolint:errcheck // it was only read
	limited := &io.LimitedReader{R: body, N: maxPodLog + 1}
	stats, err := p.report.ReadLogOf(log.source, limited)
	if err == nil && limited.N <= 0 {
		err = errLongLog
	}
	return stats, err
}
