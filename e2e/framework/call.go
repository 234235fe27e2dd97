// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Call is one HTTP/1.1 request as it is sent on the wire. Nothing is corrected, because many specs
// send requests that a client library would reject.
type Call struct {
	Method string
	// Target is the request target, usually a path with a query.
	Target string
	// Header has a line "Name: value" for each field. Host is added automatically.
	Header []string
	Body   string
}

// Calling returns a call without header fields and without a body.
func Calling(method, target string) Call { return Call{Method: method, Target: target} }

// With adds lines to the header.
func (c Call) With(lines ...string) Call {
	c.Header = append(append([]string(nil), c.Header...), lines...)
	return c
}

// Sending adds a body and its Content-Length.
func (c Call) Sending(body string) Call {
	c.Body = body
	return c.With(fmt.Sprintf("Content-Length: %d", len(body)))
}

// Then adds bytes after the header without a Content-Length.
func (c Call) Then(text string) Call {
	c.Body += text
	return c
}

// Upgrading requests an upgrade to a WebSocket (RFC 6455) with these subprotocols. Without
// arguments it uses the subprotocol of Kubernetes' streams.
func (c Call) Upgrading(protocols ...string) Call {
	if len(protocols) == 0 {
		protocols = []string{"v5.channel.k8s.io"}
	}
	return c.With("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
		// The key can be any sixteen bytes.
		"Sec-WebSocket-Key: YnVsa2hlYWQgZTJlIGtleQ==", "Sec-WebSocket-Protocol: "+strings.Join(protocols, ", "))
}

// String returns the request line, and whether the call requests an upgrade.
func (c Call) String() string {
	text := c.Method + " " + c.Target
	for _, line := range c.Header {
		if strings.HasPrefix(line, "Upgrade: ") {
			text += ", upgrading to " + strings.TrimPrefix(line, "Upgrade: ")
		}
	}
	return shortened(text)
}

func shortened(text string) string {
	const limit = 300
	if len(text) > limit {
		return fmt.Sprintf("%s… (%d bytes)", text[:limit], len(text))
	}
	return text
}

// Bytes returns the call as the caller sends it to a host.
func (c Call) Bytes(host string, who Caller) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", c.Method, c.Target, host)
	if who.Token != "" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", who.Token)
	}
	for _, line := range c.Header {
		b.WriteString(line + "\r\n")
	}
	b.WriteString("\r\n" + c.Body)
	return b.Bytes()
}

// Caller holds the credentials of a caller: a certificate, a token, both, or none.
type Caller struct {
	// User is the user name that valid credentials give.
	User string
	// Certificate is presented in the TLS handshake. nil means no certificate.
	Certificate *tls.Certificate
	// Token is sent in the Authorization header. Empty means no token.
	Token string
}

// Anonymous returns a caller without credentials.
func Anonymous() Caller { return Caller{} }

// Account returns a service account with its own token.
func Account(namespace, name, token string) Caller {
	return Caller{User: "system:serviceaccount:" + namespace + ":" + name, Token: token}
}

// Caller returns this identity with its own certificate or token. It returns an error for an
// impersonated identity, which has neither.
func (i *Identity) Caller() (Caller, error) {
	who := Caller{User: i.User, Token: i.config.BearerToken}
	if len(i.config.CertData) == 0 {
		if who.Token == "" {
			return who, fmt.Errorf("%s has no credentials of their own", i.User)
		}
		return who, nil
	}
	pair, err := tls.X509KeyPair(i.config.CertData, i.config.KeyData)
	if err != nil {
		return who, fmt.Errorf("reading the certificate of %s: %w", i.User, err)
	}
	who.Certificate = &pair
	return who, nil
}

// Reply is the answer to a [Call].
type Reply struct {
	Caller Caller
	Call   Call
	// Port is where the call was sent.
	Port *Port
	// Source is the caller's address of the connection. The server sees the same address, unless a
	// network device translates it.
	Source string
	// Opened is the time at which the connection was opened.
	Opened time.Time
	Code   int
	Header http.Header
	// Body is the body of an answer that is not an upgrade, up to 4 MiB.
	Body string
}
