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

// Call is one HTTP/1.1 request as it goes over the wire. Nothing is corrected: what a
// client library would refuse to send is what many specs are about.
type Call struct {
	Method string
	// Target is the second word of the request: a path with its query, mostly.
	Target string
	// Header has a line "Name: value" for each field. Host is there already.
	Header []string
	Body   string
}

// Calling begins a call.
func Calling(method, target string) Call { return Call{Method: method, Target: target} }

// With adds lines to the header.
func (c Call) With(lines ...string) Call {
	c.Header = append(append([]string(nil), c.Header...), lines...)
	return c
}

// Sending adds a body and its length.
func (c Call) Sending(body string) Call {
	c.Body = body
	return c.With(fmt.Sprintf("Content-Length: %d", len(body)))
}

// Then adds bytes behind the header, and says nothing of them.
func (c Call) Then(text string) Call {
	c.Body += text
	return c
}

// Upgrading asks for a websocket (RFC 6455) with these sub-protocols, or with that of
// Kubernetes' streams if there are none.
func (c Call) Upgrading(protocols ...string) Call {
	if len(protocols) == 0 {
		protocols = []string{"v5.channel.k8s.io"}
	}
	return c.With("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
		// Any sixteen bytes will do.
		"Sec-WebSocket-Key: YnVsa2hlYWQgZTJlIGtleQ==", "Sec-WebSocket-Protocol: "+strings.Join(protocols, ", "))
}

// String is the first line of the call, and whether it asks for an upgrade.
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
	const enough = 300
	if len(text) > enough {
		return fmt.Sprintf("%s… (%d bytes)", text[:enough], len(text))
	}
	return text
}

// Bytes are the call as it is sent to a host by somebody.
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

// Caller is somebody with what they show: a certificate, a token, both, or nothing.
type Caller struct {
	// User is who they are, if what they show is good.
	User string
	// Certificate is shown in the handshake, if there is one.
	Certificate *tls.Certificate
	// Token is shown as a header, if there is one.
	Token string
}

// Nobody shows nothing.
func Nobody() Caller { return Caller{} }

// Account is a service account with a token of its own.
func Account(namespace, name, token string) Caller {
	return Caller{User: "system:serviceaccount:" + namespace + ":" + name, Token: token}
}

// Caller is this identity with its own certificate or token. Who is impersonated has
// neither.
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
	// Port is where it was asked.
	Port *Port
	// Source is the caller's end of the connection, as the other side sees it unless
	// something between them translates addresses.
	Source string
	// Opened is when the connection was.
	Opened time.Time
	Code   int
	Header http.Header
	// Body is that of an answer that is no upgrade, up to 4 MiB.
	Body string
}
