// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// sending returns the send function of a request to the API server. Every call has a connection of
// its own: a connection from before a disruption may not work afterwards.
func sending(who *Identity, request Request) func(context.Context) (int, string, error) {
	who = who.NewConnections(func(error) {})
	return func(ctx context.Context) (int, string, error) { return who.Send(ctx, request) }
}

// calling returns the send function of a call to a port.
func calling(port *Port, who Caller, call Call) func(context.Context) (int, string, error) {
	return func(ctx context.Context) (int, string, error) {
		reply, err := sendTo(ctx, port, who, call, nil)
		return reply.Code, reply.Body, err
	}
}

// sendTo makes a call on a new connection, which ends with the context. read reads what follows an
// upgrade.
func sendTo(ctx context.Context, port *Port, who Caller, call Call, read func(*Connection) error) (Reply, error) {
	open, err := port.Dial(ctx, who)
	if err != nil {
		return Reply{}, err
	}
	defer open.Close()
	defer context.AfterFunc(ctx, func() { _ = open.Close() })()
	reply, err := open.Send(call)
	if err == nil && reply.Code == http.StatusSwitchingProtocols && read != nil {
		err = read(open)
	}
	return reply, err
}

// executing returns the send function of a command in a container, through the API server. The
// command must exit with 0.
func executing(server *Port, who Caller, path string) func(context.Context) (int, string, error) {
	command := Calling(http.MethodGet, path).Upgrading("v4.channel.k8s.io")
	return func(ctx context.Context) (int, string, error) {
		var channels map[byte]string
		reply, err := sendTo(ctx, server, who, command, func(open *Connection) (err error) {
			channels, err = open.Output()
			return err
		})
		const status = 3
		if err == nil && reply.Code == http.StatusSwitchingProtocols && !strings.Contains(channels[status], "Success") {
			err = fmt.Errorf("the command did not succeed: %q", channels)
		}
		return reply.Code, reply.Body, err
	}
}
