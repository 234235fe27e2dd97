// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/bulkhead-k8s/bulkhead/components/internal/program"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/authn"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/authz"
	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth/proxy"
)

// options contains the values of the flags.
type options struct {
	nodeName, mode string
	ruleModes      map[string]string
	kubeconfig     string
	who            authn.Options
	may            authz.Options

	kubelet, kubeletCert, kubeletKey string
	// waitForInstall is true if the program is idle while the files of this node do not exist.
	waitForInstall bool

	addresses                     []string
	port, healthPort              int
	certFile, keyFile, minVersion string
	cipherSuites                  []string
	maxHeaderBytes                int
	connections                   proxy.ConnectionLimits
	headerTimeout, requestTimeout time.Duration
	drainTimeout, shutdownTimeout time.Duration
	limits                        proxy.Limits
	audit                         string
	logging                       *logsapi.LoggingConfiguration
}

const (
	hostDir = "/etc/kubernetes/bulkhead/kubelet-auth-proxy/"
	// kubeletServing is the file with the kubelet's serving certificate and key. `bulkhead node
	// install` copies them.
	kubeletServing = hostDir + "kubelet-serving.pem"
)

// defaultOptions are the options of the DaemonSet. The DaemonSet adds the node's name and
// addresses.
func defaultOptions() *options {
	o := &options{
		mode: "strict", ruleModes: map[string]string{},
		who: authn.DefaultOptions(), may: authz.DefaultOptions(),
		kubelet: "127.0.0.1:10250", kubeletCert: hostDir + "client.crt", kubeletKey: hostDir + "client.key",
		port: 10250, healthPort: 10466, certFile: kubeletServing, keyFile: kubeletServing, minVersion: "VersionTLS12",
		maxHeaderBytes: 32 << 10, connections: proxy.DefaultConnectionLimits(),
		headerTimeout: 10 * time.Second, requestTimeout: 20 * time.Minute, drainTimeout: 5 * time.Second,
		shutdownTimeout: 10 * time.Second,
		limits:          proxy.DefaultLimits(), audit: stdout, logging: logsapi.NewLoggingConfiguration(),
	}
	o.who.ClientCAFile = hostDir + "client-ca.crt"
	return o
}

func (o *options) flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	o.addDeciding(sections.FlagSet("deciding"))
	o.who.AddFlags(sections.FlagSet("authentication"))
	o.may.AddFlags(sections.FlagSet("authorization"))
	o.addKubelet(sections.FlagSet("kubelet"))
	o.addServing(sections.FlagSet("serving"))
	o.addLimits(sections.FlagSet("limits"))
	logging := sections.FlagSet("logging")
	logging.StringVar(&o.audit, "audit-log-path", o.audit,
		"Where the audit log goes, a line of JSON for each request and two for each stream: a file, which is added to and "+
			"never rotated, - for standard output, or nothing for none. The log of the program itself goes to standard error. "+
			"With rule KA-AUDIT-1, each request that is allowed has a line before it is forwarded and one after, and it is "+
			"answered 503 if the first cannot be written within a second. Without it, a request waits for up to a second "+
			"until there is room for its line, and is then forwarded. What is lost is counted.")
	program.AddLogging(o.logging, logging)
	return sections
}

func (o *options) addDeciding(fs *pflag.FlagSet) {
	fs.StringVar(&o.nodeName, "node-name", o.nodeName,
		"Name of the Node whose kubelet this is. Rights are asked about for this name.")
	fs.StringVar(&o.mode, "mode", o.mode,
		"Which rights a path needs: strict has subresources of their own for exec, attach, portForward, run, containerLogs "+
			"and debug, verb create for what runs or joins a process, whatever the method, and lets nodes/proxy stand in for "+
			"little; compat asks what the kubelet asks, and with it get on nodes/proxy is remote execution.")
	fs.Var(cliflag.NewMapStringString(&o.ruleModes), "rule-mode",
		"ID=off|audit|enforce pairs for single optional rules, as in KA-EXEC-1=audit. The others are enforced in strict "+
			"and off in compat, but for KA-AUD-1, which is in audit.")
	fs.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig,
		"How to reach the API server, and as whom; empty for the pod's own service account. The identity needs create on "+
			"tokenreviews and subjectaccessreviews, and nothing else.")
}

func (o *options) addKubelet(fs *pflag.FlagSet) {
	fs.StringVar(&o.kubelet, "kubelet-address", o.kubelet,
		"Where the kubelet listens. Only loopback is accepted. It has to show the certificate of --tls-cert-file.")
	fs.StringVar(&o.kubeletCert, "kubelet-client-certificate", o.kubeletCert, "Certificate that the kubelet is shown.")
	fs.StringVar(&o.kubeletKey, "kubelet-client-key", o.kubeletKey, "Key of that certificate.")
	fs.BoolVar(&o.waitForInstall, "wait-for-node-install", o.waitForInstall,
		"While the certificates, their keys or the client CA do not exist, be idle: listen only on the health port, and "+
			"serve as soon as `bulkhead node install` has written them. An idle program is ready while another process, the "+
			"kubelet, listens on --secure-port. Without this flag, a missing file ends the program.")
}

func (o *options) addServing(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.addresses, "bind-addresses", o.addresses,
		"The node's addresses, of either family. An unspecified address is not accepted: the kubelet has the port on "+
			"loopback.")
	fs.IntVar(&o.port, "secure-port", o.port, "The kubelet's port. While it is taken, it is tried again.")
	fs.IntVar(&o.healthPort, "health-port", o.healthPort, "Port on 127.0.0.1 of /livez, /readyz and /metrics, plain HTTP.")
	fs.StringVar(&o.certFile, "tls-cert-file", o.certFile, "Serving certificate: the kubelet's own.")
	fs.StringVar(&o.keyFile, "tls-private-key-file", o.keyFile,
		"Key of the serving certificate; it may be in the same file. A pair that does not match leaves the last good one "+
			"in use.")
	fs.StringVar(&o.minVersion, "tls-min-version", o.minVersion,
		"Lowest version of TLS that is served, as the kubelet's own flag has it.")
	fs.StringSliceVar(&o.cipherSuites, "tls-cipher-suites", o.cipherSuites,
		"Suites of TLS 1.2 that are served; Go's choice if there is none.")
	fs.DurationVar(&o.headerTimeout, "header-timeout", o.headerTimeout,
		"How long a client may take for a handshake, and for the headers of a request.")
	fs.DurationVar(&o.requestTimeout, "request-timeout", o.requestTimeout,
		"How long an ordinary request may take with its answer. The kubelet itself has at most 10 minutes to begin one. "+
			"Streams have bounds of their own.")
	fs.DurationVar(&o.drainTimeout, "drain-timeout", o.drainTimeout,
		"How long streams may go on when the program is stopped.")
	fs.DurationVar(&o.shutdownTimeout, "shutdown-timeout", o.shutdownTimeout,
		"How long to wait for requests in flight after that.")
}

func (o *options) addLimits(fs *pflag.FlagSet) {
	l, c := &o.limits, &o.connections
	fs.IntVar(&o.maxHeaderBytes, "max-header-bytes", o.maxHeaderBytes,
		"Largest headers of a request, with its path and query, which hold the command of an exec. A larger one is "+
			"answered 431.")
	fs.IntVar(&c.All, "max-connections", c.All,
		"Connections that are open at one time, new ones aside. A request over one more is answered 429.")
	fs.IntVar(&c.PerUser, "max-connections-per-user", c.PerUser,
		"The same for one user. All kube-apiservers are one user, who has a connection for each stream.")
	fs.IntVar(&c.New, "max-new-connections", c.New,
		"Connections over which no request was let through yet. They take no place of the others. When all these places "+
			"are taken, who has fewest of them takes the oldest of who has most, which is closed.")
	fs.IntVar(&c.NewPerAddress, "max-new-connections-per-address", c.NewPerAddress,
		"The same for one address (IPv6: for its /64). One more takes the place of the oldest of them.")
	fs.DurationVar(&c.NewTimeout, "new-connection-timeout", c.NewTimeout,
		"How long a connection may stay open over which no request is let through. A client that is refused every time has "+
			"to connect again after it.")
	fs.IntVar(&l.Authenticating, "max-authenticating-per-address", l.Authenticating,
		"Requests from one address (IPv6: from its /64) that are being authenticated at one time. More wait for up to a "+
			"second and are answered 429.")
	fs.IntVar(&l.AllRequests, "max-requests-in-flight", l.AllRequests,
		"Requests in flight at one time, streams aside. More wait for up to a second and are answered 429.")
	fs.IntVar(&l.Requests, "max-requests-in-flight-per-user", l.Requests,
		"The same for one user, and the requests of one user that are being authorized, streams among them.")
	fs.IntVar(&l.AllStreams, "max-streams", l.AllStreams,
		"Streams that go on at one time: exec, attach, port forwarding, run, logs of containers. More are answered 429.")
	fs.IntVar(&l.Streams, "max-streams-per-user", l.Streams,
		"The same for one user. All that goes through a kube-apiserver is of one user, so rule KA-LIMIT-2 divides it among "+
			"namespaces: one gets no more than are still free.")
	fs.DurationVar(&l.StreamIdle, "streaming-connection-idle-timeout", l.StreamIdle,
		"How long a stream may carry nothing.")
	fs.DurationVar(&l.StreamRecheck, "stream-recheck-interval", l.StreamRecheck,
		"How often the API server is asked again who has a stream and whether they may. No cached answer counts that is "+
			"older than 5 s. The interval is at most as long as --authorization-webhook-cache-authorized-ttl and "+
			"--authentication-token-webhook-cache-ttl, where these are not 0. A stream is first asked about after 10 s. If "+
			"the API server gives no answer for as long again, the stream ends.")
}
