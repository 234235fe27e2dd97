// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// webhookServer is a program on the worker that kube-apiserver can call.
type webhookServer struct {
	Address string
	CA      []byte
	Pod     *corev1.Pod
}

// serves starts e2e/standin on the worker, with a self-signed certificate.
func serves(ctx context.Context, r *Run, flags ...string) webhookServer {
	GinkgoHelper()
	beside := must(suite.KubeletPort(ctx, r.Attacker()))
	host, _, err := net.SplitHostPort(beside.Address)
	Expect(err).NotTo(HaveOccurred())
	certificate, key, err := cert.GenerateSelfSignedCertKey(host, []net.IP{net.ParseIP(host)}, nil)
	Expect(err).NotTo(HaveOccurred())
	file, port := "/var/lib/kubelet/pki/"+r.NewName("e2e-webhook")+".pem", fmt.Sprint(hostPort())
	DeferCleanup(func(ctx context.Context) error {
		_, err := suite.Host.Run(ctx, r.Attacker(), "rm -f "+file)
		return err
	})
	Expect(suite.Host.Put(ctx, r.Attacker(), file, slices.Concat(certificate, key))).To(Succeed())
	pod := r.RunProgram(ctx, r.Attacker(), "../standin", append(flags, "-listen=0.0.0.0:"+port, "-serving="+file)...)
	Eventually(ctx, func() error {
		_, err := suite.Host.Run(ctx, r.Attacker(), "curl -sSk --max-time 5 -o /dev/null https://127.0.0.1:"+port+"/")
		return err
	}).WithTimeout(PodStart).WithPolling(200 * time.Millisecond).Should(Succeed())
	return webhookServer{Address: net.JoinHostPort(host, port), CA: certificate, Pod: pod}
}
