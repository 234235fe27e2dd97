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

// squats is a TLS server on an address with a certificate in the node's name, which it has
// signed itself. It prints each TLS message that it gets, and what is sent to it. The
// first %s is the node, the second its IP, the third IP and port.
const squats = `printf '[req]\ndistinguished_name = dn\n[dn]\n' >` + scratch + `/openssl.cnf
export OPENSSL_CONF=` + scratch + `/openssl.cnf
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /O=system:nodes/CN=system:node:%[1]s \
  -addext subjectAltName=DNS:%[1]s,IP:%[2]s -keyout ` + scratch + `/key.pem -out ` + scratch + `/cert.pem
tail -f /dev/null | openssl s_server -accept %[3]s -cert ` + scratch + `/cert.pem -key ` + scratch + `/key.pem -verify 1 -msg 2>&1`

// squatter is a pod on the worker's host network that has the kubelet's port.
func squatter(ctx context.Context) (*corev1.Pod, *Port) {
	GinkgoHelper()
	port := portOf(ctx, suite.Worker)
	host, _, err := net.SplitHostPort(port.Address)
	Expect(err).NotTo(HaveOccurred())
	pod := suite.Scene().Pod(ctx, suite.Worker, withShell(fmt.Sprintf(squats, suite.Worker, host, port.Address)),
		fixtures.Using(scratch[1:], corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}),
		func(pod *corev1.Pod) { pod.Spec.HostNetwork = true })
	running(ctx, pod)
	// The container runs while openssl still makes its keys. It prints this when it listens.
	printed(ctx, pod, "ACCEPT")
	return pod, port
}

// gotBy is what a squatter has printed. The kubelet's API is its own now, so it is read on the
// host.
func gotBy(ctx context.Context, pod *corev1.Pod) func() (string, error) {
	return func() (string, error) {
		return suite.Host.Run(ctx, suite.Worker, "cat /var/log/pods/"+pod.Namespace+"_"+pod.Name+"_*/"+teller+"/*.log")
	}
}

// printed waits until a squatter has printed a text.
func printed(ctx context.Context, pod *corev1.Pod, text string) {
	GinkgoHelper()
	Eventually(ctx, gotBy(ctx, pod)).WithTimeout(shown).WithPolling(200 * time.Millisecond).Should(ContainSubstring(text))
}
