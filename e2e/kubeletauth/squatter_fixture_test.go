// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"fmt"
	"net"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// squats is a TLS server with a self-signed certificate in the node's name. It prints each TLS
// message and all data that it receives. The arguments of the format are the node, its IP, and IP
// and port.
const squats = `printf '[req]\ndistinguished_name = dn\n[dn]\n' >` + scratch + `/openssl.cnf
export OPENSSL_CONF=` + scratch + `/openssl.cnf
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /O=system:nodes/CN=system:node:%[1]s \
  -addext subjectAltName=DNS:%[1]s,IP:%[2]s -keyout ` + scratch + `/key.pem -out ` + scratch + `/cert.pem
tail -f /dev/null | openssl s_server -accept %[3]s -cert ` + scratch + `/cert.pem -key ` + scratch + `/key.pem ` +
	`-verify 1 -msg 2>&1`

// squatter starts a pod on the worker's host network that listens on the kubelet's port.
func squatter(ctx context.Context) (*corev1.Pod, *Port) {
	GinkgoHelper()
	port := portOf(ctx, suite.Worker)
	host, _, err := net.SplitHostPort(port.Address)
	Expect(err).NotTo(HaveOccurred())
	pod := suite.Env().Pod(ctx, suite.Worker, withShell(fmt.Sprintf(squats, suite.Worker, host, port.Address)),
		fixtures.Using(scratch[1:], corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}),
		func(pod *corev1.Pod) { pod.Spec.HostNetwork = true })
	running(ctx, pod)
	// The container runs before openssl has made its keys. openssl prints this when it listens.
	printed(ctx, pod, "ACCEPT")
	return pod, port
}

// gotBy returns the output of a squatter. The squatter has taken the kubelet's port, so the output
// is read on the host.
func gotBy(ctx context.Context, pod *corev1.Pod) func() (string, error) {
	return func() (string, error) {
		return suite.Host.Run(ctx, suite.Worker, "cat /var/log/pods/"+pod.Namespace+"_"+pod.Name+"_*/"+shell+"/*.log")
	}
}

// printed waits until a squatter has printed a text.
func printed(ctx context.Context, pod *corev1.Pod, text string) {
	GinkgoHelper()
	Eventually(ctx, gotBy(ctx, pod)).WithTimeout(outputTimeout).WithPolling(200 * time.Millisecond).Should(
		ContainSubstring(text))
}
