// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusterstatus

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
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
		err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &stdout, Stderr: &stderr})
		if ctx.Err() != nil {
			return nil, ctx.Err() // the streams may still write to the buffers
		}
		if text := strings.TrimSpace(string(stderr.data)); err != nil && text != "" {
			err = fmt.Errorf("%w: %s", err, text)
		}
		return stdout.data, err
	}
}

// limitedBuffer ends a stream that is longer than maxOutput. It does not embed bytes.Buffer: io.Copy
// would use the ReadFrom of that type, which has no limit.
type limitedBuffer struct{ data []byte }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if len(b.data)+len(p) > maxOutput {
		return 0, errors.New("the host has sent too much output")
	}
	b.data = append(b.data, p...)
	return len(p), nil
}
