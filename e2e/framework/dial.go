// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
)

// relay copies its input to a server, and the answers to its output. When it is connected, it prints a line
// with its own address, as the kernel has it in /proc/net/tcp.
const relay = `exec 3<>"/dev/tcp/$host/$port" || exit; inode=$(readlink /proc/self/fd/3); inode=${inode//[!0-9]/}; ` +
	`while read -r _ own _ _ _ _ _ _ _ number _; do [ "$number" = "$inode" ] && break; done </proc/net/tcp; ` +
	`echo "connected $own"; { cat <&3 & cat >&3; kill $!; }`

// The addresses of the API server in a pod and on the host of a node.
const (
	serverInPod  = `host=$KUBERNETES_SERVICE_HOST port=$KUBERNETES_SERVICE_PORT; `
	serverOnHost = `server=$(sed -n 's#.*server: https://##p' /etc/kubernetes/kubelet.conf | head -n 1); ` +
		`host=${server%:*} port=${server##*:}; `
)

// Dial opens a connection to a server.
type Dial func(ctx context.Context) (net.Conn, error)

// FromPod opens connections in a container of a pod, which needs the programs of its node
// (fixtures.WithShell).
func (c *Cluster) FromPod(pod *corev1.Pod) Dial {
	return func(ctx context.Context) (net.Conn, error) {
		return relayed(ctx, func(ctx context.Context, in io.Reader, out io.Writer) error {
			return c.execIn(ctx, pod, in, out, "/bin/bash", "-c", serverInPod+relay)
		})
	}
}

// FromPodTo is [Cluster.FromPod] for another server than the API server.
func (c *Cluster) FromPodTo(pod *corev1.Pod, address string) Dial {
	return func(ctx context.Context) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		return relayed(ctx, func(ctx context.Context, in io.Reader, out io.Writer) error {
			return c.execIn(ctx, pod, in, out, "/bin/bash", "-c", "host="+host+" port="+port+"; "+relay)
		})
	}
}

// FromHost opens connections on the host of a node.
func (c *Cluster) FromHost(node string) Dial {
	return func(ctx context.Context) (net.Conn, error) {
		if why := c.Host.Missing(); why != "" {
			return nil, errors.New(why)
		}
		return relayed(ctx, func(ctx context.Context, in io.Reader, out io.Writer) error {
			cmd := c.Host.command(ctx, node, "bash", "-s")
			cmd.Stdin, cmd.Stdout = io.MultiReader(strings.NewReader(serverOnHost+relay+"; exit\n"), in), out
			return cmd.Run()
		})
	}
}

// relayed returns a connection to the standard streams of a command.
func relayed(ctx context.Context, run func(context.Context, io.Reader, io.Writer) error) (net.Conn, error) {
	near, far := net.Pipe()
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- run(background, far, untilClosed{far})
		_ = far.Close()
	}()
	connection := &relayedConnection{Conn: near, reader: bufio.NewReader(near), cancel: cancel}
	line, err := connection.reader.ReadString('\n')
	own, connected := strings.CutPrefix(strings.TrimSpace(line), "connected")
	if err != nil || !connected {
		_ = connection.Close()
		return nil, fmt.Errorf("cannot connect to the server: %q: %w", line, errors.Join(err, <-ended))
	}
	connection.own = kernelAddress(strings.TrimSpace(own))
	return connection, nil
}

// kernelAddress reads an IPv4 address of /proc/net/tcp, such as 0100007F:1F90 for 127.0.0.1:8080. It is
// empty for a text that is none, for example if the connection uses IPv6.
func kernelAddress(text string) *net.TCPAddr {
	host, port, _ := strings.Cut(text, ":")
	ip, err := hex.DecodeString(host)
	number, invalid := strconv.ParseUint(port, 16, 16)
	if err != nil || invalid != nil || len(ip) != net.IPv4len {
		return &net.TCPAddr{}
	}
	slices.Reverse(ip)
	return &net.TCPAddr{IP: ip, Port: int(number)}
}

type relayedConnection struct {
	net.Conn
	reader *bufio.Reader
	cancel context.CancelFunc
	own    *net.TCPAddr
}

// LocalAddr is the address from which the connection leaves the pod or host.
func (c *relayedConnection) LocalAddr() net.Addr { return c.own }

func (c *relayedConnection) Read(p []byte) (int, error) { return c.reader.Read(p) }

// Close ends the input of the command, which then ends by itself.
func (c *relayedConnection) Close() error {
	const patience = 5 * time.Second
	time.AfterFunc(patience, c.cancel)
	return c.Conn.Close()
}

// untilClosed drops what is written after the reader has closed the connection.
type untilClosed struct{ net.Conn }

func (c untilClosed) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if errors.Is(err, io.ErrClosedPipe) {
		return len(p), nil
	}
	return n, err
}

// From returns the identity with connections that this function opens, one for each request.
func (i *Identity) From(dial Dial) *Identity {
	other := i.NewConnections(func(error) {})
	other.config.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
	other.config.Proxy = nil
	return other
}

// Exec runs a command in the first container of a pod, as the administrator, and returns its output.
// On a busy machine kubelet-auth-proxy may not get a decision in time. Then the command has not
// run, and Exec repeats the request, at most twice. The report says so.
func (c *Cluster) Exec(ctx context.Context, pod *corev1.Pod, argv ...string) (string, error) {
	for attempt := 1; ; attempt++ {
		var out strings.Builder
		err := c.execIn(ctx, pod, nil, &out, argv...)
		if err == nil || attempt == 3 || ctx.Err() != nil || !strings.Contains(err.Error(), "[KA-DECISION-1]") {
			return out.String(), err
		}
		ginkgo.AddReportEntry("the request to run a command is repeated", err.Error())
	}
}

func (c *Cluster) execIn(ctx context.Context, pod *corev1.Pod, in io.Reader, out io.Writer, argv ...string) error {
	config := rest.CopyConfig(c.config)
	config.Timeout = 0 // the stream is open as long as the command runs
	request := c.Client.CoreV1().RESTClient().Get().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).
		SubResource("exec").VersionedParams(&corev1.PodExecOptions{
		Container: pod.Spec.Containers[0].Name, Command: argv, Stdin: in != nil, Stdout: true, Stderr: true,
	}, scheme.ParameterCodec)
	executor, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, request.URL().String())
	if err != nil {
		return fmt.Errorf("cannot exec in pod %s: %w", pod.Name, err)
	}
	var problems strings.Builder
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: out, Stderr: &problems})
	if err != nil {
		return fmt.Errorf("in pod %s: %q: %w: %s", pod.Name, strings.Join(argv, " "), err, tail(problems.String()))
	}
	return nil
}
