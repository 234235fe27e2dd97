// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/cert"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// servingCertificate is the kubelet's serving certificate on a node of the profile hardened.
const servingCertificate = "/var/lib/kubelet/pki/kubelet-server-current.pem"

// received is a request that arrived at a stand-in, as the stand-in reports it in its answer.
type received struct {
	Method, Target string
	Header         http.Header
}

// reported returns the request that a stand-in reports. A failure does not print the body, which has the token.
func reported(answer Answer) (what received) {
	GinkgoHelper()
	Expect(json.Unmarshal(answer.Body, &what)).To(Succeed(), "the answer of a stand-in")
	return what
}

// bodyOf reads the start of a body and closes it.
func bodyOf(response *http.Response) []byte {
	GinkgoHelper()
	defer response.Body.Close()
	const limit = 1 << 20
	return must(io.ReadAll(io.LimitReader(response.Body, limit)))
}

// standIn is the program e2e/standin on a node. It reports the requests that arrive, and answers as they demand.
type standIn struct {
	*Port
	Pod *corev1.Pod
}

// runStandIn starts the program. In the profile hardened it has the serving certificate of the node's kubelet, so
// kubelet-auth-proxy accepts it as the kubelet.
func runStandIn(ctx context.Context, r *Run, node string) standIn {
	GinkgoHelper()
	if profile := suite.Settings.Profile; profile != Hardened && profile != InTree {
		Skip("only on profiles hardened and in-tree")
	}
	host, _, err := net.SplitHostPort(must(suite.KubeletPort(ctx, node)).Address)
	Expect(err).NotTo(HaveOccurred())
	file, port := servingCertificate, strconv.Itoa(hostPort())
	if suite.Settings.Profile != Hardened {
		file = selfSigned(ctx, r, node, host)
	}
	pod := r.RunProgram(ctx, node, "../standin", "-listen=0.0.0.0:"+port, "-serving="+file)
	return standIn{Port: &Port{Address: net.JoinHostPort(host, port), Node: node}, Pod: pod}
}

// selfSigned puts a new certificate with its key on the disk of a node, and returns the file.
func selfSigned(ctx context.Context, r *Run, node, host string) string {
	GinkgoHelper()
	certificate, key, err := cert.GenerateSelfSignedCertKey(host, []net.IP{net.ParseIP(host)}, nil)
	Expect(err).NotTo(HaveOccurred())
	file := "/var/lib/kubelet/pki/" + r.NewName("e2e-standin") + ".pem"
	DeferCleanup(func(ctx context.Context) error {
		_, err := suite.Host.Run(ctx, node, "rm -f "+file)
		return err
	})
	Expect(suite.Host.Put(ctx, node, file, slices.Concat(certificate, key))).To(Succeed())
	return file
}

// awaitAnswer waits until the program answers on its node.
func (s standIn) awaitAnswer(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func() error {
		_, err := suite.Host.Run(ctx, s.Node, "curl -sSk --fail --max-time 5 -o /dev/null https://"+s.loopback()+"/")
		return err
	}).WithTimeout(PodStart).WithPolling(200*time.Millisecond).Should(Succeed(), "%s on %s answers", s.Pod.Name, s.Node)
}

// loopback is the address of the program on its node.
func (s standIn) loopback() string {
	_, port, err := net.SplitHostPort(s.Address)
	Expect(err).NotTo(HaveOccurred())
	return net.JoinHostPort("127.0.0.1", port)
}

// requests returns the program's log, which has a line for each request.
func (s standIn) requests(ctx context.Context) string {
	GinkgoHelper()
	var log string
	Eventually(ctx, func() (string, error) {
		text, err := suite.Client.CoreV1().Pods(s.Pod.Namespace).GetLogs(s.Pod.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
		log = string(text)
		return log, err
	}).WithTimeout(Soon).WithPolling(time.Second).Should(ContainSubstring("GET / "), "the request of awaitAnswer")
	return log
}

// replaceKubelet starts a stand-in for the kubelet of the attacker's node. With protection, r.Port is the port of a
// second kubelet-auth-proxy in front of it. Without protection, r.Port is the port of the stand-in.
func replaceKubelet(ctx context.Context, r *Run) {
	GinkgoHelper()
	server := runStandIn(ctx, r, r.Attacker())
	server.awaitAnswer(ctx)
	r.Port = server.Port
	if r.Protected && suite.Settings.Profile == Hardened {
		r.Port = SideProxy{Flags: []string{"--kubelet-address=" + server.loopback()}}.Run(ctx, r.Env, r.Attacker())
	}
}

// follow makes a call to the kubelet's port with a client of net/http and the transport of client-go, as a Go client
// of a kubelet does. The client follows redirects. The transport adds the token to each request, also to another
// host. The connections leave from the attacker's pod.
func follow(ctx context.Context, r *Run, who *Identity, call Call) Answer {
	GinkgoHelper()
	caller := must(who.Caller())
	reply := Reply{Caller: caller, Call: call, Port: r.Port, Opened: time.Now()}
	connections := &http.Transport{TLSClientConfig: r.Port.TLS(caller), DisableCompression: true,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			connection, err := suite.FromPodTo(r.caller, address)(ctx)
			if err == nil && address == r.Port.Address {
				reply.Source = connection.LocalAddr().String()
			}
			return connection, err
		}}
	defer connections.CloseIdleConnections()
	client := &http.Client{Transport: transport.NewBearerAuthRoundTripper(caller.Token, connections), Timeout: time.Minute,
		CheckRedirect: func(next *http.Request, before []*http.Request) error {
			r.Say("→ %d, to https://%s%s", next.Response.StatusCode, next.URL.Host, next.URL.Path)
			if len(before) > 1 {
				return errors.New("more than one redirect")
			}
			return nil
		}}
	request := must(http.NewRequestWithContext(ctx, call.Method, "https://"+r.Port.Address+call.Target, http.NoBody))
	for _, line := range call.Header {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Add(name, value)
	}
	r.Say("%s, at the kubelet's port of %s: %s", who, r.Port.Node, call)
	response := must(client.Do(request))
	body := bodyOf(response)
	reply.Code, reply.Header, reply.Body = response.StatusCode, response.Header, string(body)
	r.reply = reply
	answer := Answer{User: who.User, Code: reply.Code, Body: body}
	if answer.Code >= http.StatusBadRequest {
		answer.Message = strings.TrimSpace(reply.Body)
	}
	r.Say("→ %d %s", answer.Code, short(answer.Message))
	return answer
}
