// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package clusterstatus

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	stdoutChannel = 1
	stderrChannel = 2
	statusChannel = 3
	succeeded     = `{"status":"Success"}`
	exited        = `{"status":"Failure","reason":"NonZeroExitCode","message":"command terminated with exit code 1",` +
		`"details":{"causes":[{"reason":"ExitCode","message":"1"}]}}`
)

// message is what the API server sends on one channel.
type message struct {
	channel byte
	text    string
}

// execServer is an API server that answers pods/exec with messages.
func execServer(t *testing.T, requests chan<- *url.URL, messages ...message) Exec {
	t.Helper()
	upgrader := websocket.Upgrader{Subprotocols: []string{"v5.channel.k8s.io"}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		requests <- req.URL
		connection, err := upgrader.Upgrade(w, req, nil)
		if err != nil {
			return
		}
		defer connection.Close()
		for _, m := range messages {
			if connection.WriteMessage(websocket.BinaryMessage, append([]byte{m.channel}, m.text...)) != nil {
				return
			}
		}
		if len(messages) == 0 {
			_, _, _ = connection.ReadMessage() // a host that does not answer
		}
		_ = connection.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""))
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return NewExec(config, client)
}

func TestExec(t *testing.T) {
	for _, tc := range []struct {
		name      string
		messages  []message
		out, fail string
	}{
		{"success", []message{{stdoutChannel, "[1,"}, {stdoutChannel, "2]"}, {statusChannel, succeeded}}, "[1,2]", ""},
		{"exit code 1", []message{{stderrChannel, "no such file\n"}, {statusChannel, exited}}, "",
			"command terminated with exit code 1: no such file"},
		{"as much output as is allowed", []message{{stdoutChannel, strings.Repeat("x", maxOutput)},
			{statusChannel, succeeded}}, strings.Repeat("x", maxOutput), ""},
		{"too much output", []message{{stdoutChannel, strings.Repeat("x", maxOutput)}, {stdoutChannel, "x"},
			{statusChannel, succeeded}}, "", "the host has sent more than 65536 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			requests := make(chan *url.URL, 1)
			exec := execServer(t, requests, tc.messages...)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			out, err := exec(ctx, "bulkhead-certs-cp1", "certs", []string{"/bulkhead", "certs"})
			switch {
			case tc.fail == "" && (err != nil || string(out) != tc.out):
				t.Errorf("output %q, error %v", out, err)
			case tc.fail != "" && (err == nil || !strings.Contains(err.Error(), tc.fail)):
				t.Errorf("error %v, want %s", err, tc.fail)
			}
			got := <-requests
			if want := "/api/v1/namespaces/kube-system/pods/bulkhead-certs-cp1/exec?command=%2Fbulkhead&command=certs&" +
				"container=certs&stderr=true&stdout=true"; got.String() != want {
				t.Errorf("request %s, want %s", got, want)
			}
		})
	}
}

func TestExecEndsWithItsContext(t *testing.T) {
	exec := execServer(t, make(chan *url.URL, 1))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := exec(ctx, "p", "c", []string{"x"}); err == nil || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("error %v, want that the deadline is over", err)
	}
}

// TestLimitedBufferHasNoOtherWay: io.Copy uses ReadFrom of a writer that has it, without the limit.
func TestLimitedBufferHasNoOtherWay(t *testing.T) {
	var b limitedBuffer
	if _, err := io.Copy(&b, io.LimitReader(zeros{}, maxOutput+1)); err != nil || !b.full || len(b.data) != maxOutput {
		t.Errorf("error %v with %d bytes, full is %v", err, len(b.data), b.full)
	}
	var exact limitedBuffer
	if _, err := io.Copy(&exact, io.LimitReader(zeros{}, maxOutput)); err != nil || exact.full ||
		len(exact.data) != maxOutput {
		t.Errorf("error %v with %d bytes, full is %v", err, len(exact.data), exact.full)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
