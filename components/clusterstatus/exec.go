// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusterstatus

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream"
)

// maxOutput bounds what a host can send. The certificates of a host need about 2 KiB.
const maxOutput = 64 << 10

// NewExec returns an Exec that uses pods/exec of the API server, as kubectl does.
func NewExec(config *rest.Config, client kubernetes.Interface) Exec {
	return func(ctx context.Context, pod, container string, command []string) ([]byte, error) {
		url := client.CoreV1().RESTClient().Post().
			Namespace(metav1.NamespaceSystem).Resource("pods").Name(pod).SubResource("exec").
			VersionedParams(&corev1.PodExecOptions{Container: container, Command: command, Stdout: true, Stderr: true},
				scheme.ParameterCodec).URL()
		spdy, err := remotecommand.NewSPDYExecutor(config, "POST", url)
		if err != nil {
			return nil, err
		}
		websocket, err := remotecommand.NewWebSocketExecutor(config, "GET", url.String())
		if err != nil {
			return nil, err
		}
		executor, err := remotecommand.NewFallbackExecutor(websocket, spdy, func(err error) bool {
			return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
		})
		if err != nil {
			return nil, err
		}
		var stdout, stderr limitedBuffer
		// The library logs what a dead host does to its streams. The error says it.
		err = executor.StreamWithContext(klog.NewContext(ctx, klog.Logger{}),
			remotecommand.StreamOptions{Stdout: &stdout, Stderr: &stderr})
		if ctx.Err() != nil {
			return nil, ctx.Err() // the streams may still write to the buffers
		}
		// The connection has the same deadline, and may notice it first.
		if deadline, ok := ctx.Deadline(); ok && err != nil && !time.Now().Before(deadline) {
			return nil, context.DeadlineExceeded
		}
		if text := strings.TrimSpace(string(stderr.data)); err != nil && text != "" {
			err = fmt.Errorf("%w: %s", err, text)
		}
		if stdout.full {
			return nil, fmt.Errorf("the host has sent more than %d bytes", maxOutput)
		}
		return stdout.data, err
	}
}

// limitedBuffer keeps at most maxOutput bytes. It does not embed bytes.Buffer: io.Copy would use the
// ReadFrom of that type, which has no limit.
type limitedBuffer struct {
	data []byte
	full bool
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	fits := min(len(p), maxOutput-len(b.data))
	b.data = append(b.data, p[:fits]...)
	b.full = b.full || fits < len(p)
	return len(p), nil
}
