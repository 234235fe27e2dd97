// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// greeting is the text that the command of these specs prints in a container.
const greeting = "hello from the pod"

// execPaths has the paths of the requests for a running pod on the target.
type execPaths struct{ exec, sleep, attach, portForward, run, logs string }

func newExecPaths(ctx context.Context) execPaths {
	GinkgoHelper()
	pod := running(ctx, suite.Env().Pod(ctx, target(), withShell(tickScript), withCompany))
	container := "/" + pod.Namespace + "/" + pod.Name + "/" + shell
	return execPaths{
		exec:        "/exec" + container + "?output=1&error=1&command=echo&command=" + "hello+from+the+pod",
		sleep:       "/exec" + container + "?output=1&error=1&command=sleep&command=300",
		attach:      "/attach" + container + "?output=1",
		portForward: "/portForward/" + pod.Namespace + "/" + pod.Name + "?port=" + serverPort,
		run:         "/run" + container + "?cmd=echo+hello+from+the+pod",
		logs:        "/containerLogs" + container + "?tailLines=1",
	}
}

// outputOf returns the output of a command, read from a WebSocket.
func outputOf(ctx context.Context, port *Port, who Caller, path string) string {
	GinkgoHelper()
	open := must(port.Dial(ctx, who))
	DeferCleanup(func() { _ = open.Close() })
	reply := must(open.Send(get(path).Upgrading("v4.channel.k8s.io")))
	Expect(reply.Code).To(Equal(http.StatusSwitchingProtocols), reply.String())
	channels := must(open.Output())
	return channels[1]
}

// through returns the path through the API server, which calls the kubelet with its own
// credentials.
func through(path string) string { return "/api/v1/nodes/" + target() + "/proxy" + path }
