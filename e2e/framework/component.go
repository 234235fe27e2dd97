// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

const (
	// ComponentReady succeeds on a control-plane host where node-authorizer is ready.
	ComponentReady = "curl -sS --fail --max-time 5 http://127.0.0.1:10462/readyz"
	// ComponentAlive succeeds on a control-plane host where node-authorizer answers, ready or not.
	ComponentAlive = "curl -sS --fail --max-time 5 http://127.0.0.1:10462/livez"

	componentProcess = "pgrep -x node-authorizer"
	// restarted bounds the restart of a container, with the kubelet's back-off.
	restarted = 90 * time.Second
)

// OnControlPlane runs a script on the control-plane host. The script must succeed.
func (s *Suite) OnControlPlane(ctx context.Context, script string) string {
	ginkgo.GinkgoHelper()
	if why := s.Host.Missing(); why != "" && s.Settings.Profile == Any {
		ginkgo.Skip(why, 1)
	}
	out, err := s.Host.Run(ctx, s.ControlPlane, script)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return strings.TrimSpace(out)
}

// EventuallyOnControlPlane repeats a script until it succeeds.
func (s *Suite) EventuallyOnControlPlane(ctx context.Context, within time.Duration, script string) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(ctx, func() error {
		_, err := s.Host.Run(ctx, s.ControlPlane, script)
		return err
	}).WithTimeout(within).WithPolling(time.Second).Should(gomega.Succeed())
}

// AwaitWebhook waits until the API server can call a webhook again that was not available. The
// script ready succeeds on a control-plane host from then on.
//
// The API server's client closes all its connections when it reads a renewed certificate. That
// includes the connection on which it first uses the new certificate (k8s.io/client-go
// transport/cert_rotation.go). One call is lost then. AwaitWebhook makes that call, so that no spec
// loses one.
func (s *Suite) AwaitWebhook(ctx context.Context, within time.Duration, ready string) {
	ginkgo.GinkgoHelper()
	s.EventuallyOnControlPlane(ctx, within, ready)
	worker, change := s.AsNode(s.Worker), map[string]any{"status": map[string]any{"phase": "Running"}}
	for _, request := range []Request{
		Get(corev1.SchemeGroupVersion.WithResource("nodes")).Named(s.Worker),
		Patch(corev1.SchemeGroupVersion.WithResource("nodes")).Named(s.Worker).Sub("status").With(change),
	} {
		if code, text, err := worker.Send(ctx, request); err != nil || code >= 500 {
			Measured("the first "+request.String()+" after an outage", fmt.Sprint(code, " ", text, " ", err))
		}
	}
}

// RestartComponent ends the process of node-authorizer and waits for a new process.
func (s *Suite) RestartComponent(ctx context.Context) {
	ginkgo.GinkgoHelper()
	old := s.OnControlPlane(ctx, componentProcess)
	s.OnControlPlane(ctx, "kill "+old)
	s.AwaitWebhook(ctx, restarted, `new=$(`+componentProcess+`) && test "$new" != '`+old+`' && `+ComponentAlive)
}

// ComponentProcess returns the process ID of node-authorizer on its host.
func (s *Suite) ComponentProcess(ctx context.Context) string {
	ginkgo.GinkgoHelper()
	return s.OnControlPlane(ctx, componentProcess)
}
