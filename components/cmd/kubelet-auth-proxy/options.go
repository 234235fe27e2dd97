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
	auditOnly      bool
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
		"File of the audit log; - means standard output, and an empty value means no audit log. The program appends to "+
			"the file and does not rotate it. Each request has one line of JSON, each stream two. With rule KA-AUDIT-1, "+
			"each allowed request has one line before it is forwarded and one after; if the first cannot be written within "+
			"a second, the answer is 503. Without the rule, a request waits for up to a second until its line is queued, "+
			"and is then forwarded. Metrics count lost lines.")
	program.AddLogging(o.logging, logging)
	return sections
}

func (o *options) addDeciding(fs *pflag.FlagSet) {
	fs.StringVar(&o.nodeName, "node-name", o.nodeName,
		"Name of this host's Node. SubjectAccessReviews are for this name.")
	fs.StringVar(&o.mode, "mode", o.mode,
		"Rights that a request needs. strict: separate subresources of nodes for exec, attach, portForward, run, "+
			"containerLogs and debug; exec, attach, portForward and run need the verb create with every HTTP method; "+
			"nodes/proxy is enough for a few reads only. compat: the rights that the kubelet itself requires; get on "+
			"nodes/proxy then allows remote execution.")
	fs.Var(cliflag.NewMapStringString(&o.ruleModes), "rule-mode",
		"Modes of single optional rules: ID=off|audit|enforce. Example: KA-EXEC-1=audit. With --mode=strict, the other "+
			"optional rules are enforced, except KA-AUD-1, which is in audit. With --mode=compat, they are off.")
	fs.BoolVar(&o.auditOnly, "audit-only", o.auditOnly,
		"Report what the rules about paths, streams and limits would deny, in the audit log and in metrics: the kubelet "+
			"does not deny it. Requests with revoked credentials are still denied. Some limits stay, because they bound "+
			"the memory. Needs --mode=compat, and --rule-mode without enforce.")
	fs.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig,
		"Kubeconfig for the API server. Without it, the program uses the service account of its pod. The identity needs "+
			"only create on tokenreviews and subjectaccessreviews.")
}

func (o *options) addKubelet(fs *pflag.FlagSet) {
	fs.StringVar(&o.kubelet, "kubelet-address", o.kubelet,
		"Address of the kubelet, IP:port. It must be a loopback address. The kubelet must serve with the certificate of "+
			"--tls-cert-file.")
	fs.StringVar(&o.kubeletCert, "kubelet-client-certificate", o.kubeletCert, "Client certificate for the kubelet, PEM.")
	fs.StringVar(&o.kubeletKey, "kubelet-client-key", o.kubeletKey, "Private key of the client certificate for the "+
		"kubelet, PEM.")
	fs.BoolVar(&o.waitForInstall, "wait-for-node-install", o.waitForInstall,
		"Be idle while a certificate, a key or the client CA does not exist: listen only on the health port until "+
			"bulkhead node install has written the files. An idle program is ready while another process, the kubelet, "+
			"listens on --secure-port. Without this flag, a missing file is an error.")
}

func (o *options) addServing(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.addresses, "bind-addresses", o.addresses,
		"IP addresses of the node, IPv4 or IPv6. 0.0.0.0 and :: are not valid, because the kubelet uses the port on "+
			"loopback.")
	fs.IntVar(&o.port, "secure-port", o.port, "Port of the kubelet's API. While another process uses it, the program "+
		"retries.")
	fs.IntVar(&o.healthPort, "health-port", o.healthPort, "Port of /livez, /readyz and /metrics on 127.0.0.1, with "+
		"plain HTTP.")
	fs.StringVar(&o.certFile, "tls-cert-file", o.certFile, "File with the serving certificate of the kubelet, PEM.")
	fs.StringVar(&o.keyFile, "tls-private-key-file", o.keyFile,
		"File with the private key of the serving certificate, PEM. It may be the same file. If the two do not match, the "+
			"last valid pair stays in use.")
	fs.StringVar(&o.minVersion, "tls-min-version", o.minVersion,
		"Minimum TLS version, with the same values as the kubelet's flag --tls-min-version.")
	fs.StringSliceVar(&o.cipherSuites, "tls-cipher-suites", o.cipherSuites,
		"Cipher suites for TLS 1.2. Without this flag, the default of Go.")
	fs.DurationVar(&o.headerTimeout, "header-timeout", o.headerTimeout,
		"Maximum time for a TLS handshake, and for the headers of a request.")
	fs.DurationVar(&o.requestTimeout, "request-timeout", o.requestTimeout,
		"Maximum time for a request and its answer. The kubelet must begin the answer within 10 minutes. This does not "+
			"apply to streams.")
	fs.DurationVar(&o.drainTimeout, "drain-timeout", o.drainTimeout,
		"How long open streams may continue when the program is stopped.")
	fs.DurationVar(&o.shutdownTimeout, "shutdown-timeout", o.shutdownTimeout,
		"How long the program waits for requests in flight after --drain-timeout.")
}

func (o *options) addLimits(fs *pflag.FlagSet) {
	l, c := &o.limits, &o.connections
	fs.IntVar(&o.maxHeaderBytes, "max-header-bytes", o.maxHeaderBytes,
		"Maximum size of the headers of a request in bytes, with its path and query. The query of exec has the command. A "+
			"larger request gets the status 431.")
	fs.IntVar(&c.All, "max-connections", c.All,
		"Maximum number of open connections, without new ones (--max-new-connections). A request on a further connection "+
			"gets the status 429.")
	fs.IntVar(&c.PerUser, "max-connections-per-user", c.PerUser,
		"Maximum number of open connections of one user, without new ones. All kube-apiservers are one user, which has a "+
			"connection for each stream. A request on a further connection gets the status 429.")
	fs.IntVar(&c.New, "max-new-connections", c.New,
		"Maximum number of new connections. A connection is new until a request on it is allowed. At the limit, a further "+
			"connection closes an older new one, usually the oldest one of the address that has the most.")
	fs.IntVar(&c.NewPerAddress, "max-new-connections-per-address", c.NewPerAddress,
		"Maximum number of new connections of one address (IPv6: of its /64). At the limit, a further connection closes "+
			"the oldest new one of the address.")
	fs.DurationVar(&c.NewTimeout, "new-connection-timeout", c.NewTimeout,
		"How long a connection may stay new. After that, the proxy closes it: a client whose requests are all denied must "+
			"connect again.")
	fs.IntVar(&l.Authenticating, "max-authenticating-per-address", l.Authenticating,
		"Maximum number of requests of one address (IPv6: of its /64) that are authenticated at the same time. A further "+
			"request waits for up to a second and then gets the status 429.")
	fs.IntVar(&l.AllRequests, "max-requests-in-flight", l.AllRequests,
		"Maximum number of requests in flight, without streams. A further request waits for up to a second and then gets "+
			"the status 429.")
	fs.IntVar(&l.Requests, "max-requests-in-flight-per-user", l.Requests,
		"Maximum number of requests in flight of one user, without streams. It also limits the requests of one user, with "+
			"streams, that are authorized at the same time. A further request waits for up to a second and then gets the "+
			"status 429.")
	fs.IntVar(&l.AllStreams, "max-streams", l.AllStreams,
		"Maximum number of open streams: exec, attach, port forwarding, run and container logs. A further stream gets the "+
			"status 429.")
	fs.IntVar(&l.Streams, "max-streams-per-user", l.Streams,
		"Maximum number of open streams of one user. All streams through kube-apiservers are of one user, so rule "+
			"KA-LIMIT-2 divides them between namespaces: one namespace gets at most as many as are still free. A further "+
			"stream gets the status 429.")
	fs.DurationVar(&l.StreamIdle, "streaming-connection-idle-timeout", l.StreamIdle,
		"How long a stream may be idle, without data in either direction. After that, the proxy closes it.")
	fs.DurationVar(&l.StreamRecheck, "stream-recheck-interval", l.StreamRecheck,
		"How often the proxy checks at the API server that the user of an open stream still has access. The first check "+
			"is after 10 s. The interval is never longer than --authorization-webhook-cache-authorized-ttl and "+
			"--authentication-token-webhook-cache-ttl, unless these are 0. Cached answers older than 5 s do not count. If "+
			"the API server gives no answer for two intervals, the proxy closes the stream.")
}
