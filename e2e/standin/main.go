// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Command standin replaces a kubelet behind a second kubelet-auth-proxy, or an attacker's webhook, and
// reports the requests that arrive: in the answer, and on its standard output. Specs run it on a node:
// the proxy accepts only a server with the kubelet's serving certificate.
//
// It does not authenticate callers and returns what they sent. Use it only on test clusters, and
// only during the tests.
package main

import (
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

// maxBody bounds the part of a body that is reported.
const maxBody = 64 << 10

// received is a request that arrived.
type received struct {
	Method, Target, Host string
	Header               http.Header
	Body                 string
	// Certificate is the common name of the caller's certificate.
	Certificate string
}

func main() {
	listen := flag.String("listen", "127.0.0.1:10251", "Where to listen.")
	serving := flag.String("serving", "/var/lib/kubelet/pki/kubelet-server-current.pem",
		"The kubelet's serving certificate with its key.")
	label := flag.String("guard", "",
		"If set, answer as an admission webhook that denies every change of an object with this label.")
	flag.Parse()
	handler := http.HandlerFunc(answer)
	if *label != "" {
		handler = guard(*label)
	}
	server := &http.Server{
		Addr: *listen, Handler: handler, ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequestClientCert},
		// Serve only HTTP/1.1, which kubelet-auth-proxy uses with a kubelet.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	if err := server.ListenAndServeTLS(*serving, *serving); err != nil {
		fmt.Fprintln(os.Stderr, "standin:", err)
		os.Exit(1)
	}
}

// answer returns the status and the Location that the query names, and a report of the request.
func answer(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(io.LimitReader(req.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Printf("%s %s %s\n", req.Method, req.RequestURI, body)
	what := received{Method: req.Method, Target: req.RequestURI, Host: req.Host, Header: req.Header, Body: string(body)}
	if len(req.TLS.PeerCertificates) > 0 {
		what.Certificate = req.TLS.PeerCertificates[0].Subject.CommonName
	}
	if location := req.URL.Query().Get("location"); location != "" {
		w.Header().Set("Location", location)
	}
	w.Header().Set("Content-Type", "application/json")
	status, err := strconv.Atoi(req.URL.Query().Get("status"))
	if err != nil {
		status = http.StatusOK
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(what)
}

// review is the part of an AdmissionReview that guard reads. The types of k8s.io/api would make the program,
// which specs copy to a node, several times as large.
type review struct {
	APIVersion, Kind string
	Request          struct {
		UID       string
		OldObject struct {
			Metadata struct{ Labels map[string]string }
		}
	}
}

// guard denies what changes an object whose old labels have this one.
func guard(label string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		var asked review
		if err := json.NewDecoder(io.LimitReader(req.Body, maxBody)).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_, guarded := asked.Request.OldObject.Metadata.Labels[label]
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"apiVersion": asked.APIVersion, "kind": asked.Kind,
			"response": map[string]any{"uid": asked.Request.UID, "allowed": !guarded,
				"status": map[string]any{"code": http.StatusForbidden, "message": "this object is guarded"}},
		})
	}
}
