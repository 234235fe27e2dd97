// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
)

const (
	// ComponentReady succeeds on a control-plane host where the node authorizer is
	// ready.
	ComponentReady = "curl -sS --fail --max-time 5 http://127.0.0.1:10462/readyz"
	// ComponentAlive succeeds on a control-plane host where the node authorizer
	// answers, ready or not.
	ComponentAlive = "curl -sS --fail --max-time 5 http://127.0.0.1:10462/livez"

	componentProcess = "pgrep -x node-authorizer"
	// restarted bounds the kubelet's back-off before it starts it again.
	restarted = 90 * time.Second
)

// OnControlPlane runs a script on the control-plane host; it must succeed.
func (s *Suite) OnControlPlane(ctx context.Context, script string) string {
	ginkgo.GinkgoHelper()
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

// RestartComponent ends the node authorizer's process and waits for another one.
func (s *Suite) RestartComponent(ctx context.Context) {
	ginkgo.GinkgoHelper()
	old := s.OnControlPlane(ctx, componentProcess)
	s.OnControlPlane(ctx, "kill "+old)
	s.EventuallyOnControlPlane(ctx, restarted,
		`new=$(`+componentProcess+`) && test "$new" != '`+old+`' && `+ComponentAlive)
}

// ComponentProcess is the process of the node authorizer on its host.
func (s *Suite) ComponentProcess(ctx context.Context) string {
	ginkgo.GinkgoHelper()
	return s.OnControlPlane(ctx, componentProcess)
}
