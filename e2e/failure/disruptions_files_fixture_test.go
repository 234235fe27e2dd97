// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// Files of Bulkhead on a control-plane host.
const (
	authorizerServing  = StateDirectory + "/node-authorizer/serving"
	restrictionServing = StateDirectory + "/node-restriction/serving"
	serverClient       = StateDirectory + "/apiserver/node-authorizer-client"
	bulkheadCA         = StateDirectory + "/pki/ca"
	restrictionConfig  = StateDirectory + "/node-restriction/configuration.yaml"

	certificateRotator = "pgrep -x certificate-rot" // the kernel truncates names of processes
	// filesAside has the files of a disruption as they were.
	filesAside = "/etc/kubernetes/e2e-failure-files"
	// expiredCopy is a copy of the expired certificate.
	expiredCopy = "/run/e2e-failure-expired.crt"
	// noticed is longer than the programs take to read a changed file.
	noticed = 15 * time.Second
)

// proxyCertificates are the files of kubelet-auth-proxy on a node.
var proxyCertificates = []string{proxyFiles + "/client-ca.crt", proxyFiles + "/client.crt",
	proxyFiles + "/kubelet-serving.pem"}

// halve cuts each file to half of its bytes.
const halve = `for f; do truncate -s $(($(stat -c %s $f) / 2)) $f; done`

// fileDisruptions damage files on hosts.
func fileDisruptions() []disruption {
	return []disruption{
		{
			name: "certificates half-written",
			broken: "The serving certificates of node-authorizer and node-restriction, and the API server's client " +
				"certificate for them, are cut to half of their bytes.",
			short: noticed, long: 3 * time.Minute,
			begin: changing(onControlPlane, []string{authorizerServing + ".crt", restrictionServing + ".crt",
				serverClient + ".crt"}, halve),
			repair: restoreFiles, unaffected: everyCall,
		},
		{
			name: "certificates of a proxy half-written",
			broken: "The serving certificate of the worker's kubelet-auth-proxy, its client certificate and its client CA are " +
				"cut to half of their bytes.",
			short: noticed, long: 3 * time.Minute,
			begin:  changing(onWorker, proxyCertificates, halve),
			repair: func(ctx context.Context) { restoreFilesOn(ctx, onWorker) }, unaffected: everyCall,
		},
		{
			name:   "certificates swapped",
			broken: "The serving certificate of node-authorizer and that of node-restriction are exchanged, without their keys.",
			short:  noticed, long: 3 * time.Minute,
			begin: changing(onControlPlane, []string{authorizerServing + ".crt", restrictionServing + ".crt"},
				`cat $1 >$1.e2e; cat $2 >$1; cat $1.e2e >$2; rm $1.e2e`),
			repair: restoreFiles, unaffected: everyCall,
		},
		{
			name: "certificate expired",
			broken: "node-authorizer starts with a serving certificate that expired an hour ago. Then certificate-rotator " +
				"starts and renews it. The clock itself is not moved: all nodes of a kind cluster share the machine's clock.",
			short: 10 * time.Second, long: 5 * time.Minute,
			begin:      expiring(nodeAuthorizer, authorizerServing),
			repair:     func(ctx context.Context) { renewExpired(ctx, authorizerServing) },
			unaffected: []call{kubeletReads, adminReads},
			affected:   []call{scopedReads},
		},
		{
			name: "certificate of node-restriction expired",
			broken: "node-restriction starts with a serving certificate that expired an hour ago. Then certificate-rotator " +
				"starts and renews it.",
			short: 10 * time.Second, long: 5 * time.Minute,
			begin:      expiring(nodeRestriction, restrictionServing),
			repair:     func(ctx context.Context) { renewExpired(ctx, restrictionServing) },
			unaffected: []call{kubeletReads, scopedReads, adminReads, adminExec},
			affected:   []call{kubeletWrites},
		},
		{
			name:   "configuration corrupted",
			broken: "The configuration of node-restriction has half of its bytes and an unknown field.",
			short:  noticed, long: 3 * time.Minute,
			begin: changing(onControlPlane, []string{restrictionConfig},
				`truncate -s $(($(stat -c %s $1) / 2)) $1; printf '\nunknown: {' >>$1`),
			repair: restoreFiles, unaffected: everyCall,
		},
		{
			name:   "authorization configuration corrupted",
			broken: "The API server's authorization configuration is cut to half of its bytes. scope-sync is stopped meanwhile.",
			short:  noticed, long: 3 * time.Minute,
			begin: func(ctx context.Context) {
				suite.OnControlPlane(ctx, "kill -STOP $(pgrep -x scope-sync)")
				changing(onControlPlane, []string{authorization}, halve)(ctx)
			},
			repair: func(ctx context.Context) {
				restoreFiles(ctx)
				suite.OnControlPlane(ctx, "kill -CONT $(pgrep -x scope-sync) || true")
			},
			unaffected: everyCall,
		},
		{
			name: "disk full",
			broken: "All files of Bulkhead on the control-plane host are on a file system without free space. " +
				"node-authorizer, node-restriction and scope-sync are killed and start on it.",
			short: 10 * time.Second, long: 5 * time.Minute,
			begin: fillDisk, repair: freeDisk,
			unaffected: []call{kubeletReads, adminReads},
			affected:   []call{kubeletWrites, scopedReads},
		},
	}
}

// hostShell runs a script on a host. The script must succeed.
type hostShell func(ctx context.Context, script string) string

func onControlPlane(ctx context.Context, script string) string {
	GinkgoHelper()
	return suite.OnControlPlane(ctx, script)
}

// changing returns a function that saves the files and then changes them in place by a script, whose
// arguments are the files.
func changing(on hostShell, files []string, script string) func(context.Context) {
	return func(ctx context.Context) {
		GinkgoHelper()
		saveFilesOn(ctx, on, files)
		on(ctx, "set -e; set -- "+strings.Join(files, " ")+"\n"+script)
	}
}

// saveFiles copies files of the control-plane host, so that restoreFiles can restore them.
func saveFiles(ctx context.Context, files []string) { saveFilesOn(ctx, onControlPlane, files) }

func saveFilesOn(ctx context.Context, on hostShell, files []string) {
	GinkgoHelper()
	on(ctx, fmt.Sprintf("set -e; test ! -e %[1]s; rm -rf %[1]s.new; mkdir -m 700 %[1]s.new; "+
		"cp -a --parents %[2]s %[1]s.new; mv %[1]s.new %[1]s", filesAside, strings.Join(files, " ")))
}

// restoreFiles restores the files that saveFiles saved. It is idempotent.
func restoreFiles(ctx context.Context) { restoreFilesOn(ctx, onControlPlane) }

func restoreFilesOn(ctx context.Context, on hostShell) {
	GinkgoHelper()
	on(ctx, fmt.Sprintf(`set -e; test -e %[1]s || exit 0; cd %[1]s
find . -type f | while read -r f; do cp -a $f /$f.e2e; mv /$f.e2e /$f; done
cd /; rm -rf %[1]s`, filesAside))
}

// expiring returns a function that replaces the serving certificate of a component by an expired one
// for the same key, and restarts the process.
func expiring(c component, serving string) func(context.Context) {
	return func(ctx context.Context) {
		GinkgoHelper()
		read := func(file string) []byte { return []byte(exactly(ctx, file)) }
		ca, err := tls.X509KeyPair(read(bulkheadCA+".crt"), read(bulkheadCA+".key"))
		Expect(err).NotTo(HaveOccurred())
		block, _ := pem.Decode(read(serving + ".crt"))
		Expect(block).NotTo(BeNil())
		template, err := x509.ParseCertificate(block.Bytes)
		Expect(err).NotTo(HaveOccurred())
		template.NotBefore, template.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, template, ca.Leaf, template.PublicKey, ca.PrivateKey)
		Expect(err).NotTo(HaveOccurred())
		expired := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
		changing(onControlPlane, []string{serving + ".crt", serving + ".key"}, "echo "+
			base64.StdEncoding.EncodeToString(expired)+" | base64 -d >"+expiredCopy+"; cat "+expiredCopy+" >$1")(ctx)
		c.kill(ctx)
	}
}

// renewExpired lets certificate-rotator renew the certificate: it looks when it starts, and then once
// an hour. It is idempotent. If the certificate is not renewed, the old one is restored.
func renewExpired(ctx context.Context, serving string) {
	GinkgoHelper()
	if suite.OnControlPlane(ctx, "test ! -e "+filesAside+" || echo damaged") == "" {
		return
	}
	DeferCleanup(restoreFiles)
	suite.OnControlPlane(ctx, "kill -9 $("+certificateRotator+") || true")
	suite.EventuallyOnControlPlane(ctx, ServerSwitch, "! cmp "+expiredCopy+" "+serving+".crt")
	suite.OnControlPlane(ctx, "rm -rf "+filesAside+" "+expiredCopy)
}

// fillDisk moves the files of Bulkhead to a full file system, and restarts the programs that use
// them: a running container keeps the directories that it has mounted.
func fillDisk(ctx context.Context) {
	GinkgoHelper()
	suite.OnControlPlane(ctx, `set -e; copy=$(mktemp -d /run/e2e-full-XXXXXX); cp -a `+StateDirectory+`/. $copy/
mount -t tmpfs -o mode=755,size=4m e2e-full `+StateDirectory+`
cp -a $copy/. `+StateDirectory+`/; rm -rf $copy
cat /dev/zero >`+StateDirectory+`/fill 2>/dev/null || true
if echo x >`+StateDirectory+`/more 2>/dev/null; then exit 1; fi`)
	killAll(ctx)
}

// freeDisk is idempotent.
func freeDisk(ctx context.Context) {
	GinkgoHelper()
	if suite.OnControlPlane(ctx, "grep -q ^e2e-full /proc/mounts || exit 0; umount -l "+StateDirectory+
		"; echo unmounted") != "" {
		killAll(ctx)
	}
	for _, c := range []component{nodeAuthorizer, nodeRestriction, scopeSync} {
		c.await(ctx)
	}
}

func killAll(ctx context.Context) {
	GinkgoHelper()
	for _, c := range []component{nodeAuthorizer, nodeRestriction, scopeSync} {
		c.kill(ctx)
	}
}
