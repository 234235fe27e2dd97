// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// closeTimeout bounds how long a stream may continue that must end. It is much longer than the
// intervals of the proxy, because the API server and the proxy share a busy machine.
const closeTimeout = 30 * time.Second

// following is a streamed answer.
type following struct {
	open  *Connection
	lines *bufio.Reader
}

// follow starts to read a streamed answer. The connection is closed when the spec ends.
func follow(ctx context.Context, port *Port, who Caller, call Call) *following {
	GinkgoHelper()
	open := must(port.Dial(ctx, who))
	DeferCleanup(func() { _ = open.Close() })
	Expect(open.SetDeadline(time.Now().Add(2 * closeTimeout))).To(Succeed())
	must(open.Write(call.Bytes(port.Address, who)))
	answer := must(http.ReadResponse(open.Reader, nil))
	Expect(answer.StatusCode).To(Equal(http.StatusOK))
	return &following{open: open, lines: bufio.NewReader(answer.Body)}
}

// expectLine reads one line.
func (f *following) expectLine() {
	GinkgoHelper()
	Expect(must(f.lines.ReadString('\n'))).NotTo(BeEmpty())
}

// expectEnd reads until the answer ends. The answer must be cut off, so that no client takes it for
// complete.
func (f *following) expectEnd() {
	GinkgoHelper()
	Expect(f.open.SetDeadline(time.Now().Add(closeTimeout))).To(Succeed())
	_, err := io.Copy(io.Discard, f.lines)
	Expect(errors.Is(err, os.ErrDeadlineExceeded)).To(BeFalse(), "the stream is still open after %s", closeTimeout)
	Expect(err).To(MatchError(io.ErrUnexpectedEOF))
}

// expectCause expects the reason for the end of the stream in the proxy's audit log.
func (f *following) expectCause(ctx context.Context, cause string) {
	GinkgoHelper()
	if why := suite.Host.Missing(); why != "" {
		GinkgoWriter.Println("the audit log was not looked at:", why)
		return
	}
	reply := f.open.Reply()
	Eventually(ctx, func() ([]KubeletLine, error) { return suite.KubeletAudited(ctx, reply) }).
		WithTimeout(Soon).WithPolling(200 * time.Millisecond).Should(
		ContainElement(And(HaveField("Stage", "end"), HaveField("Cause", cause))))
}

// revocable returns a caller with these rights, and a function that removes the rights.
func revocable(ctx context.Context, has rights) (who Caller, take func()) {
	GinkgoHelper()
	who = caller(ctx)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: suite.Env().NewName("e2e-revocable")}, Rules: has}
	suite.Env().Put(ctx, role)
	suite.Env().Bind(ctx, who.User, role.Name)
	return who, func() {
		GinkgoHelper()
		suite.Env().Remove(ctx, role)
	}
}

// removeAccount deletes the caller's service account.
func removeAccount(ctx context.Context, who Caller) {
	GinkgoHelper()
	name := who.User[strings.LastIndexByte(who.User, ':')+1:]
	Expect(suite.Client.CoreV1().ServiceAccounts(suite.Env().Namespace(ctx)).Delete(ctx, name,
		metav1.DeleteOptions{})).To(Succeed())
}
