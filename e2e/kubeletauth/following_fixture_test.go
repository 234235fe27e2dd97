// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// streamEnds bounds how long a stream may go on that has to end. It is much longer than
// what decides about it: API server and proxy share a machine with all else.
const streamEnds = 30 * time.Second

// following is an answer that goes on.
type following struct {
	open  *Connection
	lines *bufio.Reader
}

// follow begins to read an answer that goes on, until the spec is over.
func follow(ctx context.Context, port *Port, who Caller, call Call) *following {
	GinkgoHelper()
	open := must(port.Dial(ctx, who))
	DeferCleanup(func() { _ = open.Close() })
	Expect(open.SetDeadline(time.Now().Add(2 * streamEnds))).To(Succeed())
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

// expectEnd reads until the answer ends, which is cut off: nobody may take it for whole.
func (f *following) expectEnd() {
	GinkgoHelper()
	Expect(f.open.SetDeadline(time.Now().Add(streamEnds))).To(Succeed())
	_, err := io.Copy(io.Discard, f.lines)
	Expect(err).To(MatchError(io.ErrUnexpectedEOF))
}

// expectCause looks for why the stream ended where an operator would.
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

// revocable is somebody with these rights until they are taken away.
func revocable(ctx context.Context, has rights) (who Caller, take func()) {
	GinkgoHelper()
	who = caller(ctx)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: suite.Scene().NewName("e2e-revocable")}, Rules: has}
	suite.Scene().Put(ctx, role)
	suite.Scene().Bind(ctx, who.User, role.Name)
	return who, func() {
		GinkgoHelper()
		suite.Scene().Remove(ctx, role)
	}
}

// removeAccount removes the service account that somebody is.
func removeAccount(ctx context.Context, who Caller) {
	GinkgoHelper()
	name := who.User[strings.LastIndexByte(who.User, ':')+1:]
	Expect(suite.Client.CoreV1().ServiceAccounts(suite.Scene().Namespace(ctx)).Delete(ctx, name,
		metav1.DeleteOptions{})).To(Succeed())
}
