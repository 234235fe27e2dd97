// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"errors"
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// notAuditing succeeds if the process with the ID $pid does not run in mode audit.
const notAuditing = `args=$(tr '\0' ' ' </proc/$pid/cmdline) && case $args in *audit-only*) false;; esac`

// expectInterrupted interrupts a switch to mode audit at the moment when it has changed the manifest. The
// files and objects must be the same as before. The processes are new, because they had the new settings
// for a moment.
func expectInterrupted(ctx SpecContext, manifest string) {
	before := installedState(ctx)
	out, err := suite.Host.Run(ctx, suite.ControlPlane, interruptedAt(manifest, "bulkhead install --mode=audit"))
	Expect(err).To(HaveOccurred(), out)
	GinkgoWriter.Println(out, err)
	var exit *exec.ExitError
	Expect(errors.As(err, &exit)).To(BeTrue(), "%v", err)
	Expect(exit.ExitCode()).To(Equal(1))
	Expect(err).To(MatchError(ContainSubstring("rolled back: nothing has been changed")))
	Expect(installedState(ctx)).To(Equal(before))

	suite.EventuallyOnControlPlane(ctx, ServerSwitch, "pid=$(pgrep -x node-authorizer) && "+notAuditing+" && "+
		ComponentReady)
	suite.AwaitWebhook(ctx, ServerSwitch, "pid=$("+RestrictionProcess+") && "+notAuditing+" && "+RestrictionReady)
	expectBulkhead(ctx)

	By("a second run with the recorded settings changes nothing")
	running := state(ctx)
	suite.OnControlPlane(ctx, "bulkhead install")
	Expect(state(ctx)).To(Equal(running))
	Expect(installedState(ctx)).To(Equal(before))
}

// interruptedAt returns a script that runs a command and sends it SIGINT when the file changes. If the
// command ends before that, the script ends too.
func interruptedAt(file, command string) string {
	return "old=$(sha256sum <" + file + ")\n" +
		`(while kill -0 $$ && test "$old" = "$(sha256sum <` + file + `)"; do sleep 0.05; done` +
		"\nkill -INT $$) >/dev/null 2>&1 &\nexec " + command
}

// installedState returns what an installation writes on this host and in the cluster, without processes and
// certificates.
func installedState(ctx context.Context) string {
	GinkgoHelper()
	const objects = asAdmin + "kubectl -n kube-system get --ignore-not-found "
	return suite.OnControlPlane(ctx, checksums+" && bulkhead status -o yaml && "+
		objects+"daemonset "+KubeletProxy+" -o jsonpath='{.spec}' && "+
		objects+"configmap bulkhead-hosts kubeadm-config -o jsonpath='{.items[*].data}'")
}
